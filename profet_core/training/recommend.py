"""Confidence that one plan beats another, and which of many plans to recommend."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.collection import is_custom
from profet_core.latency import LEVEL, FloatArray, Values, combined_sd, quantile, sd_of_ratio
from profet_core.offers import known_or_none
from profet_core.training.plans import SUREST, SUREST_ESTIMATE, CostTable, Limits, Plan, bounded_chance
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

    def totals(self, table: CostTable) -> FloatArray:
        """Return the column of these values."""
        return table.total_s if self is Criterion.FASTER else table.total_usd


def certainty_of(a: Plan, b: Plan, criterion: Criterion | None = None) -> float | None:
    """Probability, as in `compare`, that A is better than B, or dominates it; None where an interval is missing."""
    return known_or_none(certainties(a.table, np.array([a.number]), np.array([b.number]), criterion), 0)


def certainties(table: CostTable, a: np.ndarray, b: np.ndarray, criterion: Criterion | None = None) -> FloatArray:
    """`certainty_of` pairs of rows; NaN where an interval is missing."""
    times, deviation = _time_ratios(table, a, b)
    costs = table.total_usd[a] / table.total_usd[b]
    surest = np.where(table.is_profiled[a] & table.is_profiled[b], SUREST, SUREST_ESTIMATE)
    if criterion is not None:
        chance: FloatArray = chance_less(times if criterion is Criterion.FASTER else costs, deviation, surest)
        return chance
    # Both ratios share one error, so the worse ratio decides.
    worse, better = np.maximum(times, costs), np.minimum(times, costs)
    surely = np.where((worse <= 1) & (better < 1), 1.0, 0.0)
    return np.where(deviation == 0, surely, chance_less(worse, deviation, surest))


def chance_less(ratio: Values, deviation: Values, surest: Values = SUREST) -> Values:
    """Probability that A is less than B where A is predicted to be `ratio` times B, or of many; 0.5 for equals.

    >>> chance_less(np.array([1.0, 0.9, 0.1]), 0.1).round(3).tolist()
    [0.5, 0.854, 0.999]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = bounded_chance(np.divide(-np.log(ratio), deviation), surest)
    return np.where(deviation == 0, np.where(ratio == 1, 0.5, np.where(ratio < 1, 1.0, 0.0)), chance)[()]


def _time_ratios(table: CostTable, a: np.ndarray, b: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Ratios of step latencies if the steps have equal numbers of images, else of whole trainings.

    Also the standard deviations of their logarithms; NaN where an interval is missing.
    """
    steps = table.steps
    same_gpu, same_gpus = table.gpu_names[a] == table.gpu_names[b], steps.gpus[a] == steps.gpus[b]
    latencies = steps.latency_ms[a] / steps.latency_ms[b]
    ratio = np.where(same_gpus, latencies, table.total_s[a] / table.total_s[b])
    of_a, of_b = table.one_gpu_deviation[a], table.one_gpu_deviation[b]
    correlation = np.where(table.is_measured[a] & table.is_measured[b], ERROR_CORRELATION, 0.0)
    deviation = np.where(same_gpu, abs(of_a - of_b), sd_of_ratio(of_a, of_b, correlation))
    has_interval = ~np.isnan(of_a) & ~np.isnan(of_b)
    instances, relative_to = np.array([offer.name for offer in steps.offers]), np.array(steps.relative_to)
    for plan_rows, relative_rows in ((b, a), (a, b)):
        # What follows from the other one shares its errors.
        follows = has_interval & (relative_to[plan_rows] == instances[relative_rows])
        deviation = np.where(follows, steps.relative_log_sd[plan_rows], deviation)
    scaling_log_sd = combined_sd(steps.scaling_log_sd[a], steps.scaling_log_sd[b])
    differ = has_interval & ~(same_gpu & same_gpus) & (scaling_log_sd > 0)
    deviation = np.where(differ, combined_sd(deviation, scaling_log_sd), deviation)
    # The same row in another market has the same error.
    return ratio, np.where(~has_interval & same_gpu & same_gpus & (ratio == 1), 0.0, deviation)


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


class Comparison(Struct, frozen=True, forbid_unknown_fields=True):
    """A compared with B; probabilities and endpoints are None where an interval is missing.

    Attributes
    ----------
    latency_ratio : A's step latency over B's if both train on one GPU; otherwise A's training time over B's. A is
        cheaper below `break_even_ratio`.
    break_even_usd_per_hour : A is cheaper than B below this price.
    faster, cheaper, dominates : probability that A is; 0.5 for equals.
    sentences : the same in words, where they are asked for.
    """

    a: Plan
    b: Plan
    latency_ratio: float
    latency_ratio_low: float | None
    latency_ratio_high: float | None
    break_even_ratio: float
    break_even_usd_per_hour: float
    break_even_low: float | None
    break_even_high: float | None
    faster: float | None
    cheaper: float | None
    dominates: float | None
    sentences: tuple[str, ...]


def compare(a: Plan, b: Plan, level: float = LEVEL) -> Comparison:
    """Confidence that A is faster or cheaper than B, with intervals at `level`.

    All offers with one GPU share that GPU's latency error. Scaling out to all GPUs of a node adds an error, which plans
    with the same GPU and number of GPUs share. If a latency follows from another instance, the interval of their ratio
    is known. Between two GPUs with PROFET training data, errors correlate by `ERROR_CORRELATION`. Between other GPUs
    the correlation is not measured and assumed to be zero, which lowers confidence if the errors are in fact
    correlated.
    """
    ratios, deviations = _time_ratios(a.table, np.array([a.number]), np.array([b.number]))
    ratio, deviation, usd_per_hour = ratios.item(), known_or_none(deviations, 0), b.offer.usd_per_hour
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
        sentences=(),
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
class Pick(Struct, frozen=True):
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

    @property
    def too_close_to_call(self) -> bool:
        """Whether the runner-up is statistically tied."""
        return self.close_rival is not None


def pick_of(table: CostTable, rows: np.ndarray, criterion: Criterion) -> Pick:
    """Return the best of some rows, with the plan on another GPU that it beats with the least confidence."""
    best = _best(table, rows, criterion)
    plan = Plan(table, best)
    same = (table.gpu_names[rows] == table.gpu_names[best]) & (table.steps.gpus[rows] == table.steps.gpus[best])
    others = rows[~same]
    certainty = certainties(table, np.full(len(others), best), others, criterion)
    if not len(others) or np.isnan(certainty).any():
        return Pick(plan, criterion)
    profiled = table.is_profiled[others] & table.is_profiled[best]
    least = np.where(profiled, round(100 * CLOSE_CALL), round(100 * CLOSE_CALL_OF_ESTIMATES))
    claimed = 100 * certainty + PERCENT_ROUNDING >= least
    order = np.lexsort((table.total_usd[others], criterion.totals(table)[others], certainty, claimed))
    rival, trade = others[order[0]], criterion.other.totals(table)
    tied = others[order[~claimed[order]]]
    tied = tied[trade[tied] < trade[best]]
    alternative = None
    if len(tied):
        first = Plan(table, int(tied[0]))
        alternatives = [other for other in table.on(tied.tolist()) if same_speed(other, first)]
        alternative = min(alternatives, key=lambda other: other.total_usd)
    return Pick(plan, criterion, Plan(table, int(rival)), certainty.item(order[0]), alternative)


class WithinLimits(Struct, frozen=True):
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
    def certainty(self) -> float:
        """Confidence with which the limits must be met."""
        return self.limits.certainty

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
    """Goals that a plan may be the best for."""

    CHEAPEST = "cheapest"
    FASTEST = "fastest"
    BALANCE = "best trade-off"


class Recommendation(Struct, frozen=True):
    """A plan, the goals it is best for, and a tied plan on another GPU that is better by the other criterion."""

    goals: tuple[Goal, ...]
    plan: Plan
    alternative: Plan | None


class Recommended(Struct, frozen=True):
    """The recommendation among plans under limits: the one answer of pages, command line and HTTP.

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
    within: WithinLimits | None
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


def recommend(table: CostTable, rows: Sequence[int]) -> Recommended:
    """Recommend some of a table's rows, of which there must be one.

    The best trade-off has the lowest product of time and cost: being twice as fast offsets twice the cost.
    """
    every, limits = table.cheapest_first(rows), table.limits
    choices = _choices(table, every)
    expected = choices[table.excess[choices] <= 1]
    sure = choices[np.nan_to_num(table.within_limits[choices]) >= limits.certainty] if limits.given else choices[:0]
    kept = sure if len(sure) else expected if len(expected) else choices
    product = table.total_s[kept] * table.total_usd[kept]
    balanced = Plan(table, int(kept[np.lexsort((table.total_s[kept], product))[0]]))
    cheapest, fastest = pick_of(table, kept, Criterion.CHEAPER), pick_of(table, kept, Criterion.FASTER)
    cards: dict[Plan, Recommendation] = {}
    for goal, plan, other in (
        (Goal.CHEAPEST, cheapest.plan, cheapest.alternative),
        (Goal.FASTEST, fastest.plan, fastest.alternative),
        (Goal.BALANCE, balanced, None),
    ):
        if plan in cards:
            cards[plan] = replace(cards[plan], goals=(*cards[plan].goals, goal))
        else:
            cards[plan] = Recommendation((goal,), plan, other)
    tempting = every[table.excess[every] <= 1]
    bolder = dict.fromkeys(_best(table, tempting, criterion) for criterion in Criterion) if len(tempting) else {}
    if len(kept) < len(choices):
        cheapest, fastest = pick_of(table, choices, Criterion.CHEAPER), pick_of(table, choices, Criterion.FASTER)
    return Recommended(
        plans=tuple(table.on(every.tolist())),
        choices=tuple(table.on(choices.tolist())),
        limits=limits,
        cheapest=cheapest,
        fastest=fastest,
        within=_within(table, choices, sure, expected) if limits.given else None,
        cards=tuple(cards.values()),
        skipped=tuple(table.on(row for row in bolder if row not in kept)),
    )


def _choices(table: CostTable, rows: np.ndarray) -> np.ndarray:
    rentable = rows[table.is_rentable[rows]]
    rentable = rentable if len(rentable) else rows
    chance = table.fit_chance[rentable]
    likely: np.ndarray = rentable[chance >= min(table.limits.certainty, chance.max())]
    return likely


def _best(table: CostTable, rows: np.ndarray, criterion: Criterion) -> int:
    first, second = criterion.totals(table)[rows], criterion.other.totals(table)[rows]
    return int(rows[np.lexsort((second, first))[0]])


def _within(table: CostTable, rows: np.ndarray, sure: np.ndarray, expected: np.ndarray) -> WithinLimits:
    limits = table.limits
    criterion = Criterion.FASTER if limits.deadline_h is None else Criterion.CHEAPER
    nearest = Plan(table, int(rows[table.excess[rows].argmin()]))
    rated = rows[~np.isnan(table.within_limits[rows])]
    # Of equally likely ones the first.
    surest = rated[np.lexsort((table.excess[rated], -table.within_limits[rated]))][:1]
    return WithinLimits(
        limits=limits,
        sure_pick=pick_of(table, sure, criterion) if len(sure) else None,
        expected=Plan(table, _best(table, expected, criterion)) if len(expected) else None,
        surest=Plan(table, int(surest[0])) if len(surest) else None,
        nearest=nearest,
        over_s=0.0 if limits.deadline_s is None else max(0.0, nearest.total_s - limits.deadline_s),
        over_usd=0.0 if limits.budget_usd is None else max(0.0, nearest.total_usd - limits.budget_usd),
    )
