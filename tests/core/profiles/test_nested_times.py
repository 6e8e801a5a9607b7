"""Self times and unions of intervals, worked out by hand and against a slow way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core import ProfileError
from profet_core.profiles import nested_times
from profet_core.profiles.nested_times import (
    covered_us,
    covered_within_us,
    gaps_us,
    in_nesting_order,
    innermost,
    self_times,
)


def test_bottomless_nesting_is_refused():
    begins = np.arange(1001.0)
    assert self_times(begins[:1000], 3000 - 2 * begins[:1000]).tolist() == [2] * 999 + [1002]
    with pytest.raises(ProfileError, match="more than 1,000 deep"):
        self_times(begins, 3000 - 2 * begins)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=30), st.sampled_from([1, 3, 1000]))
def test_self_times_are_bounded_by_the_union_for_any_intervals(spans, piece):
    begins, durations = np.array([s[0] for s in spans], float), np.array([s[1] for s in spans], float)
    order = in_nesting_order(begins, durations)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nested_times, "_PIECE", piece)
        self_us = self_times(begins[order], durations[order])
        at = np.arange(-1.0, 90.0)
        inner = innermost(begins[order], durations[order], at)
    covered = len({at for begin, duration in spans for at in range(begin, begin + duration)})
    assert covered_us(begins, durations) == covered
    assert (self_us >= 0).all() and (self_us <= durations[order]).all()
    for time, found in zip(at, inner.tolist(), strict=True):
        open_then = [row for row in range(len(spans)) if begins[order][row] <= time < (begins + durations)[order][row]]
        assert found == (open_then[-1] if open_then else -1)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(-5, 90), st.integers(0, 90)), max_size=5),
)
def test_what_is_covered_within_windows(spans, windows):
    begins, durations = np.array([s[0] for s in spans], float), np.array([s[1] for s in spans], float)
    covered = {at for begin, duration in spans for at in range(begin, begin + duration)}
    bounds = np.array([(begin, begin + length) for begin, length in windows], float).reshape(-1, 2)
    expected = [len(covered & set(range(begin, begin + length))) for begin, length in windows]
    assert covered_within_us(begins, durations, bounds).tolist() == expected
    order = np.argsort(begins, kind="stable")
    idle = (begins + durations).max() - begins.min() - len(covered)
    assert gaps_us(begins[order], durations[order]).sum() == idle
