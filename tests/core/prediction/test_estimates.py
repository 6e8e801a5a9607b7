"""How the members of an ensemble are joined, and one profile's estimates among many, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core import InputError
from profet_core.latency import Basis, Interval, StepTime
from profet_core.operations.clusters import NO_UNKNOWN_OPERATIONS
from profet_core.prediction.estimates import Estimates, combine


@pytest.mark.parametrize(
    ("how", "expected"),
    [("median", [3, 20]), ("mean", [13 / 3, 70 / 3]), ("geometric mean", [3, 20])],
)
def test_members_are_joined(how, expected):
    np.testing.assert_allclose(combine(np.array([[1.0, 3.0, 9.0], [40.0, 20.0, 10.0]]), how), expected)


def test_the_median_of_two_is_their_mean():
    assert combine(np.array([[1.0, 3.0]]), "median") == [2.0]


def test_an_unknown_rule_is_refused():
    with pytest.raises(InputError, match="Unknown ensemble rule 'mode'"):
        combine(np.ones((1, 2)), "mode")


def test_a_geometric_mean_with_a_member_below_zero_is_next_to_nothing():
    assert 0 < combine(np.array([[-5.0, 100.0]]), "geometric mean")[0] < 0.01


def estimates(log_half_width: np.ndarray | None) -> Estimates:
    """Two targets and three profiles; of the second profile "b" lies below its floor of 4 ms."""
    joined_ms = np.array([[10.0, 20.0, 30.0], [5.0, 3.0, 7.0]])
    return Estimates(
        targets=("a", "b"),
        member_ms={"line": joined_ms - 1, "trees": joined_ms + 1},
        joined_ms=joined_ms,
        floor_ms=np.array([1.0, 4.0]),
        log_half_width=log_half_width,
        interval_level=None if log_half_width is None else 0.9,
        unknown=[NO_UNKNOWN_OPERATIONS] * 3,
        likeness=[None] * 3,
        warnings=[("one",), ("two",), ()],
    )


def test_one_profile_s_estimates_are_its_column():
    half = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    found = estimates(half).of(1)
    assert found.steps == (
        StepTime(instance="a", latency_ms=20.0, basis=Basis.MEASURED, interval=Interval.around(20.0, 0.2)),
        StepTime(instance="b", latency_ms=4.0, basis=Basis.MEASURED, interval=Interval.around(4.0, 0.5)),
    )
    assert found.member_ms == {"a": {"line": 19.0, "trees": 21.0}, "b": {"line": 2.0, "trees": 4.0}}
    assert (found.at_floor, found.warnings, found.interval_level) == (("b",), ("two",), 0.9)
    assert estimates(half).of(0).at_floor == ()


def test_latencies_for_the_transfer_are_held_at_the_floor_and_keep_their_widths():
    half = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    found = estimates(half).latencies
    assert found["b"].latency_ms.tolist() == [5.0, 4.0, 7.0]
    np.testing.assert_allclose([found[name].log_half_width for name in "ab"], half)
    assert estimates(None).latencies["a"].log_half_width.tolist() == [0.0, 0.0, 0.0]
    assert estimates(None).of(2).steps[0].interval is None
