"""The three steps of how sure a number is, and the errors that they stand for."""

from __future__ import annotations

import math

import pytest

from profet_core.accuracy.validation_report import load_validation
from profet_core.advice.sureness import MEASURED_ERRORS, Sureness, plan_sureness, sureness
from profet_core.latency import Basis, Interval
from tests.made.step_times import Z90, offer, planned, row


@pytest.mark.parametrize(
    ("basis", "factor", "step"),
    [
        (Basis.GIVEN, None, Sureness.GOOD),
        (Basis.MEASURED, 1.2, Sureness.GOOD),
        (Basis.MEASURED, 1.21, Sureness.FAIR),
        (Basis.MEASURED, 1.5, Sureness.FAIR),
        (Basis.MEASURED, 1.51, Sureness.ROUGH),
        (Basis.MEASURED, None, Sureness.ROUGH),
        (Basis.DERIVED, 1.1, Sureness.FAIR),
        (Basis.TRANSFERRED, 1.1, Sureness.FAIR),
        (Basis.TRANSFERRED, 1.7, Sureness.ROUGH),
        (Basis.CARRIED, 1.1, Sureness.GOOD),
    ],
)
def test_the_interval_decides_and_a_gpu_nobody_profiled_is_never_good(basis, factor, step):
    assert sureness(basis, factor and Interval.within_factor(100, factor - 1e-12)) is step


def test_a_plan_is_as_sure_as_its_latency():
    narrow, wide = (row("a", 100, math.log(factor) / Z90) for factor in (1.1, 1.4))
    assert plan_sureness(planned(narrow, offer("a", 1))) is Sureness.GOOD
    assert plan_sureness(planned(wide, offer("a", 1))) is Sureness.FAIR
    given = row("a", 100, deviation=None, basis=Basis.GIVEN)
    assert plan_sureness(planned(given, offer("a", 1))) is Sureness.GOOD


def test_the_errors_of_each_step_are_those_of_the_shipped_validation(models):
    errors: dict[Sureness, list[float]] = {step: [] for step in Sureness}
    for point in load_validation(models).points:
        step = sureness(Basis.MEASURED, Interval(point.low_ms, point.high_ms))
        errors[step].append(abs(point.predicted_ms / point.measured_ms - 1) * 100)
    for step, told in MEASURED_ERRORS.items():
        found = sorted(errors[step])
        assert len(found) > 500
        assert sum(found) / len(found) == pytest.approx(told.mean_pct, abs=0.5)
        assert found[int(0.9 * len(found))] == pytest.approx(told.one_in_ten_pct, abs=1)
