"""Confidence that one plan beats another, and which of many plans to recommend."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import final

from profet_core.catalog.collection import is_custom
from profet_core.latency import LEVEL, Basis, combined_sd, quantile, sd_of_ratio
from profet_core.training.plans import SUREST, Limits, NodeTime, Plan, bounded_chance, surest_certainty
from profet_profiles.units import PERCENT_ROUNDING, format_certainty

#: Correlation between the errors of two measured targets predicted from one anchor: a network that takes longer than
#: predicted on one target also takes longer on the other. Mean over 12 pairs of targets of the shipped models' held-out
#: predictions, as `tests/lab/test_validation.py` measures it (lowest pair 0.16, highest 0.68).
ERROR_CORRELATION = 0.42
#: Share of statements with 80% to 90% confidence that were right on held-out architectures; from the same test.
CAME_TRUE_80_TO_90 = 0.90
#: Up to so many times the time or cost, one of two statistically tied offers is as fast or as cheap as the other.
AS_GOOD = 1.05
#: Below this confidence two offers are statistically tied.
CLOSE_CALL = 0.80
#: The threshold for unprofiled GPUs: the interval must exclude a tie, and the 90% interval leaves 5% on that side.
#: `profet validate --gpus` shows how often such intervals hold.
CLOSE_CALL_OF_ESTIMATES = (1 + LEVEL) / 2


class Criterion(StrEnum):
    """Criterion by which plans are compared."""

    FASTER = "faster"
    CHEAPER = "cheaper"

    @property
    def other(self) -> Criterion:
        """The criterion it is traded off against."""
        return Criterion.CHEAPER if self is Criterion.FASTER else Criterion.FASTER

    def total(self, plan: Plan) -> float:
        """Value of the criterion: seconds or US dollars, lower is better."""
        return plan.total_s if self is Criterion.FASTER else plan.total_usd


def certainty_of(a: Plan, b: Plan, criterion: Criterion | None = None) -> float | None:
    """Probability, as in `compare`, that A is better than B, or dominates it; None where an interval is missing."""
    times, deviation = _time_ratio(a, b)
    if deviation is None:
        return None
    costs = a.total_usd / b.total_usd
    if criterion is None and deviation == 0:
        return float(max(times, costs) <= 1 and min(times, costs) < 1)
    # Both ratios share one error, so the worse ratio decides.
    if criterion is None:
        ratio = times if times > costs else costs
    else:
        ratio = times if criterion is Criterion.FASTER else costs
    return chance_less(ratio, deviation, surest_certainty(a.basis, b.basis))


def chance_less(ratio: float, deviation: float, surest: float = SUREST) -> float:
    """Probability that A is less than B where A is predicted to be `ratio` times B; 0.5 for equals.

    >>> chance_less(1.0, 0.1), round(chance_less(0.9, 0.1), 3), chance_less(0.1, 0.1)
    (0.5, 0.854, 0.999)
    """
    if deviation == 0:
        return 0.5 if ratio == 1 else float(ratio < 1)
    return bounded_chance(-math.log(ratio) / deviation, surest)


def _time_ratio(a: Plan, b: Plan) -> tuple[float, float | None]:
    """Ratio of step latencies if the steps have equal numbers of images, else of whole trainings.

    Also the standard deviation of its logarithm; None where an interval is missing.
    """
    # Hundreds of pairs are compared for one answer: plain attributes, each read once.
    step_a, step_b, offer_a, offer_b = a.row.estimate, b.row.estimate, a.offer, b.offer
    of_a, of_b = a.one_gpu_deviation, b.one_gpu_deviation
    one_gpu = not isinstance(a.row, NodeTime) and not isinstance(b.row, NodeTime)
    same_gpu, same_gpus = offer_a.gpu == offer_b.gpu, one_gpu or a.gpus == b.gpus
    ratio = step_a.latency_ms / step_b.latency_ms if same_gpus else a.total_s / b.total_s
    if of_a is None or of_b is None:
        # The same row in another market has the same error.
        return ratio, 0.0 if same_gpu and same_gpus and ratio == 1 else None
    if step_a.relative is not None and step_a.relative.instance == offer_b.name:
        deviation = float(step_a.relative.log_sd)
    elif step_b.relative is not None and step_b.relative.instance == offer_a.name:
        deviation = float(step_b.relative.log_sd)
    elif same_gpu:
        deviation = abs(of_a - of_b)
    else:
        deviation = sd_of_ratio(of_a, of_b, ERROR_CORRELATION if step_a.basis is step_b.basis is Basis.MEASURED else 0)
    if not one_gpu and not (same_gpu and same_gpus):
        deviation = combined_sd(deviation, combined_sd(a.scaling_deviation, b.scaling_deviation))
    return ratio, deviation


def same_speed(a: Plan, b: Plan) -> bool:
    """Whether both plans train on the same number of the same GPU, and so share one error."""
    return a.offer.gpu == b.offer.gpu and a.gpus == b.gpus


def is_claimed(chance: float, a: Plan, b: Plan) -> bool:
    """Whether that probability, in whole percent as shown, is enough to state that one plan beats the other."""
    least = CLOSE_CALL if a.basis.is_profiled and b.basis.is_profiled else CLOSE_CALL_OF_ESTIMATES
    return 100 * chance + PERCENT_ROUNDING >= round(100 * least)


def tie_words(pick: Plan, other: Plan, criterion: Criterion) -> str:
    """How a statistically tied plan compares: 'as fast', beyond 5% 'perhaps as fast (26% likely)'; intervals known."""
    word = "fast" if criterion is Criterion.FASTER else "cheap"
    chance = certainty_of(other, pick, criterion)
    if chance is None or criterion.total(other) <= AS_GOOD * criterion.total(pick):
        return f"as {word}"
    return f"perhaps as {word} ({format_certainty(chance)} likely)"


def why_too_close(certainty: float) -> str:
    """Suffix for a probability that is too low only because a GPU is unprofiled; else empty."""
    needed = f"; unprofiled GPUs need {format_certainty(CLOSE_CALL_OF_ESTIMATES)}"
    return needed if 100 * certainty + PERCENT_ROUNDING >= round(100 * CLOSE_CALL) else ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A compared with B; probabilities and endpoints are None where an interval is missing.

    Attributes
    ----------
    latency_ratio : A's step latency over B's if both train on one GPU; otherwise A's training time over B's. A is
        cheaper below `break_even_ratio`.
    break_even_usd_per_hour : A is cheaper than B below this price.
    faster, cheaper, dominates : probability that A is; 0.5 for equals.
    """

    a: Plan
    b: Plan
    latency_ratio: float
    break_even_ratio: float
    break_even_usd_per_hour: float
    faster: float | None
    cheaper: float | None
    dominates: float | None
    latency_ratio_low: float | None
    latency_ratio_high: float | None
    break_even_low: float | None
    break_even_high: float | None


def compare(a: Plan, b: Plan, level: float = LEVEL) -> Comparison:
    """Confidence that A is faster or cheaper than B, with intervals at `level`.

    All offers with one GPU share that GPU's latency error. Scaling out to all GPUs of a node adds an error, which plans
    with the same GPU and number of GPUs share. If a latency follows from another instance, the interval of their ratio
    is known. Between two GPUs with PROFET training data, errors correlate by `ERROR_CORRELATION`. Between other GPUs
    the correlation is not measured and assumed to be zero, which lowers confidence if the errors are in fact
    correlated.
    """
    (ratio, deviation), usd_per_hour = _time_ratio(a, b), b.offer.usd_per_hour
    factor = None if deviation is None else math.exp(quantile(level) * deviation)
    low, high = (None, None) if factor is None else (ratio / factor, ratio * factor)
    return Comparison(
        a=a,
        b=b,
        latency_ratio=ratio,
        break_even_ratio=usd_per_hour / a.offer.usd_per_hour,
        break_even_usd_per_hour=usd_per_hour / ratio,
        faster=certainty_of(a, b, Criterion.FASTER),
        cheaper=certainty_of(a, b, Criterion.CHEAPER),
        dominates=certainty_of(a, b),
        latency_ratio_low=low,
        latency_ratio_high=high,
        break_even_low=high and usd_per_hour / high,
        break_even_high=low and usd_per_hour / low,
    )


def frontier(choices: Iterable[Plan]) -> list[Plan]:
    """Choices that no other choice dominates, fastest first; of equal choices one is kept.

    >>> from types import SimpleNamespace
    >>> slow, fast, dear = (SimpleNamespace(total_s=s, total_usd=usd) for s, usd in ((9, 1), (1, 4), (5, 6)))
    >>> frontier([slow, fast, dear]) == [fast, slow]
    True
    """
    best: list[Plan] = []
    for choice in sorted(choices, key=lambda choice: (choice.total_s, choice.total_usd)):
        if not best or choice.total_usd < best[-1].total_usd:
            best.append(choice)
    return best


@final
@dataclass(frozen=True, slots=True)
class Pick:
    """The best plan by one criterion.

    Attributes
    ----------
    rival : runner-up: the plan on another GPU that it beats with the least confidence, statistically tied plans first;
        None without intervals or another GPU.
    certainty : that confidence, 0 to 1.
    alternative : the cheapest offer of a tied GPU that is better by the other criterion; None if there is none.
    """

    plan: Plan
    criterion: Criterion
    rival: Plan | None = None
    certainty: float | None = None
    alternative: Plan | None = None

    @property
    def close_rival(self) -> Plan | None:
        """The runner-up, if statistically tied."""
        if self.rival is None or self.certainty is None or is_claimed(self.certainty, self.plan, self.rival):
            return None
        return self.rival


def pick_of(plans: Sequence[Plan], criterion: Criterion) -> Pick:
    """The best plan, with the plan on another GPU that it beats with the least confidence."""
    plan, rivals = _best(plans, criterion), []
    for other in plans:
        if same_speed(other, plan):
            continue
        certainty = certainty_of(plan, other, criterion)
        if certainty is None:
            return Pick(plan, criterion)
        rivals.append((is_claimed(certainty, plan, other), certainty, criterion.total(other), other.total_usd, other))
    if not rivals:
        return Pick(plan, criterion)
    rivals.sort(key=lambda rival: rival[:4])
    trade = criterion.other.total
    tied = [other for claimed, *_, other in rivals if not claimed and trade(other) < trade(plan)]
    alternatives = [other for other in tied if same_speed(other, tied[0])]
    alternative = min(alternatives, key=lambda other: other.total_usd, default=None)
    return Pick(plan, criterion, rivals[0][-1], rivals[0][1], alternative)


@dataclass(frozen=True, slots=True)
class Within:
    """Best plans under the limits: the cheapest in time, or the fastest if there is only a budget.

    Attributes
    ----------
    sure_pick : the best plan that meets the limits with the required confidence, with the runner-up that also does;
        None if none does.
    expected : the best plan by the point estimate; None if none meets the limits.
    surest : the plan most likely to meet the limits; None without intervals.
    nearest : the plan that misses the limits least, or meets them best, by the point estimate.
    over_s, over_usd : expected excess of `nearest`; 0 if it meets the limits.
    """

    limits: Limits
    sure_pick: Pick | None
    expected: Plan | None
    surest: Plan | None
    nearest: Plan
    over_s: float
    over_usd: float

    @property
    def sure(self) -> Plan | None:
        """The plan of `sure_pick`."""
        return self.sure_pick and self.sure_pick.plan


def shortlist(plans: Iterable[Plan], keep: Collection[Plan], most: int) -> list[Plan]:
    """At most so many plans: `keep`, custom offers, and the cheapest plan of each GPU; cheapest first."""
    every = sorted(plans, key=lambda plan: (plan.total_usd, plan.total_s))
    must = [plan for plan in every if plan in keep or is_custom(plan.offer)]
    cheapest: dict[tuple[str, int], Plan] = {}
    for plan in every:
        cheapest.setdefault(_gpus(plan), plan)
    others = [plan for plan in cheapest.values() if plan not in must]
    shown = {*must[:most], *others[: max(0, most - len(must))]}
    return [plan for plan in every if plan in shown]


def others_of_gpus(plans: Iterable[Plan], plan: Plan) -> list[Plan]:
    """Plans on the same number of the same GPU model, cheapest first."""
    same = [other for other in plans if other != plan and _gpus(other) == _gpus(plan)]
    return sorted(same, key=lambda other: (other.total_usd, other.total_s))


def _gpus(plan: Plan) -> tuple[str, int]:
    """GPU model and number of GPUs, which offers of different providers share."""
    return plan.offer.gpu_model, plan.offer.gpu_count


class Goal(StrEnum):
    """What a plan is the best for."""

    CHEAPEST = "cheapest"
    FASTEST = "fastest"
    BALANCE = "best balance of time and cost"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A plan, the goals it is best for, and a tied plan on another GPU that is better by the other criterion."""

    goals: tuple[Goal, ...]
    plan: Plan
    alternative: Plan | None


@dataclass(frozen=True, slots=True)
class Recommended:
    """What to rent, of these plans under these limits: the one answer of pages, command line and HTTP.

    Attributes
    ----------
    choices : plans that can be rented and fit in memory with the confidence of the limits; without one, those that most
        likely fit; retired ones only where there are no others. All below is of these, but for `skipped`.
    cheapest, fastest : whatever the limits.
    within : the best under the limits; None without limits.
    cards : one per recommended plan, in the order of `Goal`: of the plans that meet the limits, if any does.
    skipped : plans that meet the limits by the estimate and are cheaper or faster than the cards', but are retired, or
        not likely enough to fit or to meet the limits.
    """

    plans: tuple[Plan, ...]
    choices: tuple[Plan, ...]
    limits: Limits
    cheapest: Pick
    fastest: Pick
    within: Within | None
    cards: tuple[Recommendation, ...]
    skipped: tuple[Plan, ...]

    @property
    def answer(self) -> Plan:
        """The plan to rent: it meets the limits with the requested confidence, else by the estimate, else nearly."""
        if self.within is None:
            return self.cheapest.plan
        return self.within.sure or self.within.expected or self.within.nearest

    @property
    def none_meets(self) -> bool:
        """Whether there are limits that no plan meets."""
        return self.within is not None and self.within.sure is None and self.within.expected is None


def recommend(plans: Iterable[Plan], limits: Limits | None = None) -> Recommended:
    """Recommend some of the plans, of which there must be one.

    The best balance has the lowest product of time and cost: being twice as fast offsets twice the cost.
    """
    every, limits = sorted(plans, key=lambda plan: (plan.total_usd, plan.total_s)), limits or Limits()
    choices = _choices(every, limits)
    expected = [plan for plan in choices if limits.excess(plan) <= 1]
    sure = [plan for plan in choices if limits.given and (plan.within_limits or 0.0) >= limits.certainty]
    kept = sure or expected or choices
    balanced = min(kept, key=lambda plan: (plan.total_s * plan.total_usd, plan.total_s))
    cheapest, fastest = pick_of(kept, Criterion.CHEAPER), pick_of(kept, Criterion.FASTER)
    found: dict[Plan, Recommendation] = {}
    for goal, plan, other in (
        (Goal.CHEAPEST, cheapest.plan, cheapest.alternative),
        (Goal.FASTEST, fastest.plan, fastest.alternative),
        (Goal.BALANCE, balanced, None),
    ):
        if plan in found:
            found[plan] = replace(found[plan], goals=(*found[plan].goals, goal))
        else:
            found[plan] = Recommendation((goal,), plan, other)
    tempting = [plan for plan in every if limits.excess(plan) <= 1]
    bolder = {_best(tempting, criterion): None for criterion in Criterion} if tempting else {}
    return Recommended(
        plans=tuple(every),
        choices=tuple(choices),
        limits=limits,
        cheapest=cheapest if len(kept) == len(choices) else pick_of(choices, Criterion.CHEAPER),
        fastest=fastest if len(kept) == len(choices) else pick_of(choices, Criterion.FASTER),
        within=_within(choices, sure, expected, limits) if limits.given else None,
        cards=tuple(found.values()),
        skipped=tuple(plan for plan in bolder if plan not in kept),
    )


def _choices(plans: Sequence[Plan], limits: Limits) -> list[Plan]:
    rentable = [plan for plan in plans if plan.is_rentable] or plans
    least = min(limits.certainty, max(plan.fit_chance for plan in rentable))
    return [plan for plan in rentable if plan.fit_chance >= least]


def _best(plans: Iterable[Plan], criterion: Criterion) -> Plan:
    return min(plans, key=lambda plan: (criterion.total(plan), criterion.other.total(plan)))


def _within(plans: Sequence[Plan], sure: Sequence[Plan], expected: Sequence[Plan], limits: Limits) -> Within:
    criterion = Criterion.FASTER if limits.deadline_h is None else Criterion.CHEAPER
    nearest = min(plans, key=limits.excess)
    known = [(chance, -limits.excess(plan), plan) for plan in plans if (chance := plan.within_limits) is not None]
    return Within(
        limits=limits,
        sure_pick=pick_of(sure, criterion) if sure else None,
        expected=_best(expected, criterion) if expected else None,
        surest=max(known, key=lambda one: one[:2])[2] if known else None,
        nearest=nearest,
        over_s=0.0 if limits.deadline_s is None else max(0.0, nearest.total_s - limits.deadline_s),
        over_usd=0.0 if limits.budget_usd is None else max(0.0, nearest.total_usd - limits.budget_usd),
    )
