"""Confidences by hand: normal errors of the logarithm, their wording and thresholds."""

from __future__ import annotations

import json
import math
import re
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from profet_core.advice.plans import (
    MEASURED_ERRORS_PCT,
    Confidence,
    chance_at_most,
    confidence,
    plan_confidence,
    surest_certainty,
)
from profet_core.advice.recommend import (
    CLOSE_CALL,
    CLOSE_CALL_OF_ESTIMATES,
    chance_less,
    compare,
    format_certainty,
    is_claimed,
    why_too_close,
)
from profet_core.advice.words import comparison_sentences
from profet_core.latency import Basis
from tests.made.step_times import Z90, offer, planned, row

PROFILED, ESTIMATED = Basis.MEASURED, Basis.TRANSFERRED
#: Basis of the other plan -> percent from which a claim is made.
LEAST = {PROFILED: round(100 * CLOSE_CALL), ESTIMATED: round(100 * CLOSE_CALL_OF_ESTIMATES)}
bases = st.sampled_from(list(LEAST))


def test_chances_of_a_normal_law():
    assert chance_at_most(math.exp(0.1), 0.1) == chance_less(math.exp(-0.1), 0.1) == pytest.approx(0.8413447)
    assert chance_at_most(1, 0.1) == 0.5
    assert chance_less(math.exp(0.2), 0.1) == pytest.approx(0.0227501, abs=1e-7)
    # Without an error a chance is all or nothing; an interval never makes a thing quite sure.
    assert [chance_at_most(ratio, 0) for ratio in (0.99, 1, 1.01)] == [0, 1, 1]
    assert [chance_less(ratio, 0) for ratio in (0.99, 1, 1.01)] == [1, 0.5, 0]
    assert chance_at_most(1e6, 0.01) == chance_less(1e-6, 0.01) == 0.999
    assert chance_at_most(1e-6, 0.01) == pytest.approx(0.001)
    assert surest_certainty(Basis.MEASURED, Basis.GIVEN) == 0.999
    assert surest_certainty(Basis.MEASURED, Basis.DERIVED) == surest_certainty(Basis.CARRIED) == 0.99


def test_certainties_are_never_rounded_to_all_or_nothing():
    found = [format_certainty(value) for value in (0, 0.001, 0.0149, 0.876, 0.994, 0.999, 1)]
    assert found == ["0%", "under 1%", "1%", "87%", "over 99%", "over 99%", "100%"]


# --- claims ---------------------------------------------------------------------------------------------------------


def percent(words: str) -> int:
    """The percent in a sentence: 0 for 'under 1 %', 100 for 'over 99 %' and for certainty."""
    if "under 1%" in words:
        return 0
    return 100 if "over 99%" in words else int(re.search(r"(\d+)%", words)[1])


@given(chance=st.floats(0, 1), basis=bases)
@example(chance=math.nextafter(CLOSE_CALL_OF_ESTIMATES, 0), basis=ESTIMATED)
@example(chance=math.nextafter(CLOSE_CALL, 0), basis=PROFILED)
@example(chance=0.949, basis=ESTIMATED)
def test_the_percent_that_is_shown_decides(chance, basis):
    a, b = planned(row("a", 80, 0.1), offer("a", 1.0)), planned(row("b", 100, 0.1, basis), offer("b", 1.0))
    assert is_claimed(chance, a, b) == (percent(format_certainty(chance)) >= LEAST[basis])


plans = st.tuples(st.floats(50, 200), st.floats(0.01, 0.5), bases, st.floats(0.5, 2))


@given(st.lists(plans, min_size=2, max_size=5))
def test_no_percent_is_on_both_sides_of_a_verdict(made):
    every = [
        planned(row(f"i{number}", ms, deviation, basis), offer(f"i{number}", usd))
        for number, (ms, deviation, basis, usd) in enumerate(made)
    ]
    for first, second in permutations(every, 2):
        least = LEAST[PROFILED if {first.basis, second.basis} == {PROFILED} else ESTIMATED]
        for line in comparison_sentences(compare(first, second))[:2]:
            shown = percent(line)
            assert line.startswith("Neither") == (shown < least), line
            assert shown >= least or why_too_close(shown / 100) in line, line


# --- how sure a number is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("basis", "factor", "step"),
    [
        (Basis.GIVEN, None, Confidence.GOOD),
        (Basis.MEASURED, 1.2, Confidence.GOOD),
        (Basis.MEASURED, 1.21, Confidence.FAIR),
        (Basis.MEASURED, 1.5, Confidence.FAIR),
        (Basis.MEASURED, 1.51, Confidence.ROUGH),
        (Basis.MEASURED, None, Confidence.ROUGH),
        (Basis.DERIVED, 1.1, Confidence.FAIR),
        (Basis.TRANSFERRED, 1.7, Confidence.ROUGH),
        (Basis.CARRIED, 1.1, Confidence.GOOD),
    ],
)
def test_the_interval_decides_and_a_gpu_nobody_profiled_is_never_good(basis, factor, step):
    assert confidence(basis, factor and math.log(factor - 1e-12) / Z90) is step


def test_a_plan_is_as_sure_as_its_latency():
    narrow, wide = (row("a", 100, math.log(factor) / Z90) for factor in (1.1, 1.4))
    given = row("a", 100, deviation=None, basis=Basis.GIVEN)
    found = [plan_confidence(planned(step, offer("a", 1))) for step in (narrow, wide, given)]
    assert found == [Confidence.GOOD, Confidence.FAIR, Confidence.GOOD]


def test_the_errors_of_each_step_are_those_of_the_shipped_validation(models):
    errors: dict[Confidence, list[float]] = {step: [] for step in Confidence}
    for point in json.loads((models.folder / "validation.json").read_text())["scatter"]:
        step = confidence(Basis.MEASURED, math.log(point["high_ms"] / point["low_ms"]) / 2 / Z90)
        errors[step].append(abs(point["predicted_ms"] / point["measured_ms"] - 1) * 100)
    for step, mean_pct in MEASURED_ERRORS_PCT.items():
        assert len(errors[step]) > 500
        assert sum(errors[step]) / len(errors[step]) == pytest.approx(mean_pct, abs=0.5)
