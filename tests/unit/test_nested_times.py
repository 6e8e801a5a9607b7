"""Self times and unions of intervals, worked out by hand and against a slow way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core import ProfileError
from profet_core.profiles import nested_times
from profet_core.profiles.nested_times import covered_us, in_nesting_order, nest


def nested(*spans: tuple[float, float]) -> tuple[list[float], list[int]]:
    begins, durations = np.array([s[0] for s in spans]), np.array([s[1] for s in spans])
    order = in_nesting_order(begins, durations)
    self_us, parents = nest(begins[order], durations[order])
    return self_us.tolist(), parents.tolist()


@pytest.mark.parametrize(
    ("spans", "self_us", "parents"),
    [
        ([(0, 10)], [10], [-1]),
        ([(0, 10), (10, 5)], [10, 5], [-1, -1]),
        ([(0, 10), (2, 3), (5, 1)], [6, 3, 1], [-1, 0, 0]),
        ([(0, 10), (2, 6), (3, 2)], [4, 4, 2], [-1, 0, 1]),
        ([(0, 4), (0, 10)], [6, 4], [-1, 0]),
        ([(0, 10), (0, 10)], [0, 10], [-1, 0]),
        # A child that outlasts its parent takes only what is inside it.
        ([(0, 10), (8, 4)], [8, 4], [-1, 0]),
        ([(0, 10), (3, 0)], [10, 0], [-1, 0]),
    ],
)
def test_self_times(spans, self_us, parents):
    assert nested(*spans) == (self_us, parents)


def test_bottomless_nesting_is_refused():
    assert nested(*((at, 3000 - 2 * at) for at in range(1000)))[1] == list(range(-1, 999))
    with pytest.raises(ProfileError, match="more than 1,000 deep"):
        nested(*((at, 3000 - 2 * at) for at in range(1001)))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=30), st.sampled_from([1, 3, 1000]))
def test_self_times_are_bounded_by_the_union_for_any_intervals(spans, piece):
    begins, durations = np.array([s[0] for s in spans], float), np.array([s[1] for s in spans], float)
    order = in_nesting_order(begins, durations)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nested_times, "_PIECE", piece)
        self_us, parents = nest(begins[order], durations[order])
    covered = len({at for begin, duration in spans for at in range(begin, begin + duration)})
    assert covered_us(begins, durations) == covered
    assert (self_us >= 0).all() and (self_us <= durations[order]).all()
    for child, parent in enumerate(parents):
        assert parent < child
        assert parent == -1 or begins[order][parent] <= begins[order][child]
