"""Confidences and comparisons by hand: normal errors of the logarithm, their thresholds, break-even."""

from __future__ import annotations

import json
import math
import re
from itertools import permutations
from statistics import NormalDist

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from profet_core.latency import Basis, sd_of_ratio
from profet_core.training.plans import (
    MEASURED_ERRORS_PCT,
    Confidence,
    Limits,
    Plan,
    chance_at_most,
    confidence,
    plan_confidence,
)
from profet_core.training.recommend import (
    CLOSE_CALL,
    CLOSE_CALL_OF_ESTIMATES,
    ERROR_CORRELATION,
    chance_less,
    compare,
    is_claimed,
    why_too_close,
)
from profet_core.training.words import comparison_sentences
from profet_profiles.units import format_certainty
from tests.made.step_times import Z90, offer, planned, plans_of, row

PROFILED, ESTIMATED = Basis.MEASURED, Basis.TRANSFERRED
#: Basis of the other plan -> percent from which a claim is made.
LEAST = {PROFILED: round(100 * CLOSE_CALL), ESTIMATED: round(100 * CLOSE_CALL_OF_ESTIMATES)}
bases = st.sampled_from(list(LEAST))


def test_chances_of_a_normal_distribution_are_never_rounded_to_all_or_nothing():
    assert chance_at_most(math.exp(0.1), 0.1) == chance_less(math.exp(-0.1), 0.1) == pytest.approx(0.8413447)
    assert chance_at_most(1, 0.1) == 0.5
    assert chance_less(math.exp(0.2), 0.1) == pytest.approx(0.0227501, abs=1e-7)
    # Without an error a chance is all or nothing; an interval never makes a thing quite sure.
    assert [chance_at_most(ratio, 0) for ratio in (0.99, 1, 1.01)] == [0, 1, 1]
    assert [chance_less(ratio, 0) for ratio in (0.99, 1, 1.01)] == [1, 0.5, 0]
    assert chance_at_most(1e6, 0.01) == chance_less(1e-6, 0.01) == 0.999
    assert chance_at_most(1e-6, 0.01) == pytest.approx(0.001)
    shown = [format_certainty(value) for value in (0, 0.001, 0.0149, 0.876, 0.994, 0.999, 1)]
    assert shown == ["0%", "under 1%", "1%", "87%", "over 99%", "over 99%", "100%"]


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
    a, b = plans_of((row("a", 80, 0.1), offer("a", 1.0)), (row("b", 100, 0.1, basis), offer("b", 1.0)))
    assert is_claimed(chance, a, b) == (percent(format_certainty(chance)) >= LEAST[basis])


plans = st.tuples(st.floats(50, 200), st.floats(0.01, 0.5), bases, st.floats(0.5, 2))


@given(st.lists(plans, min_size=2, max_size=5))
def test_no_percent_is_on_both_sides_of_a_verdict(made):
    every = plans_of(
        *(
            (row(f"i{number}", ms, deviation, basis), offer(f"i{number}", usd))
            for number, (ms, deviation, basis, usd) in enumerate(made)
        )
    )
    for first, second in permutations(every, 2):
        least = LEAST[PROFILED if {first.basis, second.basis} == {PROFILED} else ESTIMATED]
        for line in comparison_sentences(compare(first, second))[:2]:
            shown = percent(line)
            assert line.startswith("Neither") == (shown < least), line
            assert shown >= least or why_too_close(shown / 100) in line, line


@pytest.mark.parametrize(
    ("basis", "factor", "step"),
    [
        (Basis.GIVEN, None, Confidence.GOOD),
        (Basis.MEASURED, 1.2, Confidence.GOOD),
        (Basis.MEASURED, 1.21, Confidence.FAIR),
        (Basis.MEASURED, 1.5, Confidence.FAIR),
        (Basis.MEASURED, 1.51, Confidence.ROUGH),
        (Basis.MEASURED, None, Confidence.ROUGH),
        (Basis.CALIBRATED, 1.1, Confidence.FAIR),
        (Basis.TRANSFERRED, 1.7, Confidence.ROUGH),
        (Basis.RESIZED, 1.1, Confidence.GOOD),
    ],
)
def test_the_interval_decides_and_a_gpu_nobody_profiled_is_never_good(basis, factor, step):
    assert confidence(basis, factor and math.log(factor - 1e-12) / Z90) is step


def test_a_plan_is_as_sure_as_its_latency_and_an_estimate_less_than_a_prediction():
    narrow, wide = (row("a", 100, math.log(factor) / Z90) for factor in (1.1, 1.4))
    given = row("a", 100, deviation=None, basis=Basis.GIVEN)
    confidences = [plan_confidence(planned(step, offer("a", 1))) for step in (narrow, wide, given)]
    assert confidences == [Confidence.GOOD, Confidence.FAIR, Confidence.GOOD]
    limits = Limits(deadline_h=1000)
    a, b, slow = plans_of(
        (row("a", 10, 0.1), offer("a", 1.0)),
        (row("b", 10, 0.1, Basis.TRANSFERRED), offer("b", 1.0)),
        (row("slow", 1000, 0.1), offer("slow", 1.0)),
        limits=limits,
    )
    assert (a.in_time, b.in_time) == (0.999, 0.99)
    assert (compare(a, slow).faster, compare(b, slow).faster) == (0.999, 0.99)


def test_the_errors_of_each_step_are_those_of_the_shipped_validation(models):
    errors: dict[Confidence, list[float]] = {step: [] for step in Confidence}
    for point in json.loads((models.folder / "validation.json").read_text())["scatter"]:
        step = confidence(Basis.MEASURED, math.log(point["high_ms"] / point["low_ms"]) / 2 / Z90)
        errors[step].append(abs(point["predicted_ms"] / point["measured_ms"] - 1) * 100)
    for step, mean_pct in MEASURED_ERRORS_PCT.items():
        assert len(errors[step]) > 500
        assert sum(errors[step]) / len(errors[step]) == pytest.approx(mean_pct, abs=0.5)


GIVEN = row("b", 100, None, Basis.GIVEN)


def test_two_measured_gpus_share_part_of_their_error():
    first = row("a", 80, 0.1), offer("a", 1.0)
    a, b = plans_of(first, (row("b", 100, 0.2), offer("b", 0.9)))
    comparison = compare(a, b)
    spread = math.sqrt(0.1**2 + 0.2**2 - 2 * ERROR_CORRELATION * 0.1 * 0.2)
    assert comparison.faster == pytest.approx(NormalDist().cdf(math.log(100 / 80) / spread))
    assert comparison.cheaper == pytest.approx(NormalDist().cdf(math.log(90 / 80) / spread))
    assert comparison.dominates == comparison.cheaper, "the worse of both decides"
    back = compare(b, a)
    assert (back.faster, back.cheaper) == pytest.approx((1 - comparison.faster, 1 - comparison.cheaper))
    # Those of an estimate are taken for independent; a given latency has none.
    for other, spread in ((row("b", 100, 0.2, Basis.TRANSFERRED), math.hypot(0.1, 0.2)), (GIVEN, 0.1)):
        comparison = compare(*plans_of(first, (other, offer("b", 1.0))))
        assert comparison.faster == pytest.approx(NormalDist().cdf(math.log(1.25) / spread))


def derived_pair(ratio: float, deviation: float = 0.15) -> list[Plan]:
    """g5 at `ratio` times the latency of g4dn, from which it was derived; g4dn, also spot, and p3."""
    g5, g4dn = row("g5", 100 * ratio, 0.2, Basis.CALIBRATED, ("g4dn", deviation)), row("g4dn", 100, 0.1)
    return plans_of(
        (g5, offer("g5", 1.006)),
        (g4dn, offer("g4dn", 0.526)),
        (g4dn, offer("g4dn", 0.45, market="spot")),
        (row("p3", 40, 0.1), offer("p3", 3.06)),
    )


def test_beside_what_it_was_derived_from_the_ratio_s_own_interval_counts():
    g5, g4dn, spot, other = derived_pair(0.45)
    comparison = compare(g5, g4dn)
    assert comparison.cheaper == pytest.approx(NormalDist().cdf(math.log(0.526 / 1.006 / 0.45) / 0.15))
    assert compare(g4dn, g5).cheaper == pytest.approx(1 - comparison.cheaper)
    assert (comparison.latency_ratio_low, comparison.latency_ratio_high) == pytest.approx(
        (0.45 * math.exp(-Z90 * 0.15), 0.45 * math.exp(Z90 * 0.15))
    )
    assert compare(g5, spot).cheaper == pytest.approx(NormalDist().cdf(math.log(0.45 / 1.006 / 0.45) / 0.15))
    assert compare(g5, other).faster == pytest.approx(NormalDist().cdf(math.log(40 / 45) / math.hypot(0.2, 0.1)))


@pytest.mark.parametrize(
    ("of_break_even", "says"),
    [
        (0.999 * math.exp(-Z90 * 0.15), "1.28 times cheaper than GPU of g4dn at g4dn (95% sure)."),
        (1.001 * math.exp(-Z90 * 0.15), "Neither is clearly cheaper: .* than GPU of g4dn at g4dn .94% sure"),
        (0.999 * math.exp(Z90 * 0.15), "Neither is clearly cheaper: .* than G5 at g5 .94% sure"),
        (1.001 * math.exp(Z90 * 0.15), "1.28 times as much as GPU of g4dn at g4dn (95% sure)."),
    ],
)
def test_an_estimate_is_cheaper_only_where_its_interval_excludes_break_even(of_break_even, says):
    g5, g4dn, *_ = derived_pair(of_break_even * 0.526 / 1.006)
    comparison = compare(g5, g4dn)
    line = comparison_sentences(comparison)[1]
    assert says in line or re.match(says, line)
    low, high = comparison.latency_ratio_low, comparison.latency_ratio_high
    assert says.startswith("Neither") == (low <= comparison.break_even_ratio <= high)


def test_one_gpu_has_one_error_and_without_an_interval_nobody_can_say_how_sure():
    same = {"gpu": "H100", "gpu_count": 1}
    node, single = offer("node", 8.0, **{**same, "gpu_count": 8}), offer("single", 2.0, **same)
    comparison = compare(*plans_of((row("single", 100), single), (row("node", 100), node)))
    assert (comparison.faster, comparison.cheaper, comparison.dominates) == (0.5, 1, 1)
    spot = offer("a", 0.4, market="spot")
    a, b, spot = plans_of(
        (row("a", 80, None), offer("a", 1.0)), (row("b", 100), offer("b", 1.0)), (row("a", 80, None), spot)
    )
    comparison = compare(a, b)
    assert (comparison.latency_ratio_low, comparison.faster, comparison.cheaper, comparison.dominates) == (None,) * 4
    assert comparison.latency_ratio == 0.8
    assert compare(spot, a).cheaper == 1, "one GPU's error is the same on every offer of it"


def test_break_even_is_where_both_cost_the_same():
    a, b, moved = plans_of(
        (row("g5", 55), offer("g5", 1.006)),
        (row("g4dn", 100), offer("g4dn", 0.526)),
        (row("g5", 55), offer("g5", 0.526 / 0.55)),
    )
    comparison = compare(a, b)
    assert comparison.break_even_ratio == pytest.approx(0.523, abs=5e-4)
    assert comparison.latency_ratio == pytest.approx(0.55)
    assert comparison.break_even_usd_per_hour == pytest.approx(0.526 / 0.55)
    assert compare(moved, b).cheaper == pytest.approx(0.5)
    assert comparison.break_even_low * comparison.latency_ratio_high == pytest.approx(0.526)
    half = Z90 * sd_of_ratio(0.1, 0.1, ERROR_CORRELATION)
    assert comparison.latency_ratio_high == pytest.approx(0.55 * math.exp(half))
