"""Which offer to rent for a training: fastest, cheapest, what keeps to deadline and budget, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from profet_core.advice.certainty import INTERVAL_LEVEL
from profet_core.advice.frontier import frontier
from profet_core.advice.picks import Pick, pick_of
from profet_core.advice.plans import Limits, Plan, Workload, compare, plan_of
from profet_core.advice.within import CERTAINTY, Within, within_limits
from profet_core.catalog import Instance
from profet_core.errors import InputError
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer, Verdict
from profet_core.units import S_PER_HOUR


@dataclass(frozen=True, slots=True)
class Upgrade:
    """From one plan on the frontier to the next faster one: what more money buys.

    Attributes
    ----------
    saves_h : hours saved for `extra_usd` more. hours_per_usd : their ratio.
    certainty : chance that the second is faster at all, 0 to 1; None without intervals.
    """

    cheaper: Plan
    faster: Plan
    extra_usd: float
    saves_h: float
    hours_per_usd: float
    certainty: float | None


@dataclass(frozen=True, slots=True)
class Beaten:
    """A plan that another one beats in time and money by the plain estimate, and the chance that it truly does."""

    plan: Plan
    by: Plan
    certainty: float | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An instance that no pick can name, and why."""

    instance: str
    reason: str


@dataclass(frozen=True, slots=True)
class Advice:
    """Everything said about one training.

    Attributes
    ----------
    plans : cheapest first. frontier : the plans no other one beats in both, fastest first.
    within : what keeps to the limits; None if there are none.
    upgrades : along the frontier, from the cheapest to the fastest.
    """

    workload: Workload
    limits: Limits
    plans: tuple[Plan, ...]
    fastest: Pick
    cheapest: Pick
    within: Within | None
    frontier: tuple[Plan, ...]
    upgrades: tuple[Upgrade, ...]
    beaten: tuple[Beaten, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def answer(self) -> Plan:
        """What to rent: what keeps to the limits as surely as asked, else by the estimate, else at best."""
        if self.within is None:
            return self.cheapest.plan
        return self.within.sure or self.within.expected or self.within.nearest


def advise(
    rows: Iterable[StepTime],
    offers: Iterable[Instance],
    workload: Workload,
    limits: Limits | None = None,
    *,
    certainty: float = CERTAINTY,
    include_retired: bool = False,
    fits: Mapping[str, FitAnswer] | None = None,
    interval_level: float | None = INTERVAL_LEVEL,
) -> Advice:
    """The sensible picks for one training.

    Parameters
    ----------
    rows : step latencies at the workload's batch size.
    offers : what can be rented, see `offers_in_market`; several of one instance are several plans.
    certainty : chance with which a limit must be kept to, 0.5 to 1.
    fits : instance -> whether it fits in memory; not asked where absent.
    interval_level : of the rows' intervals; errors are taken for log-normal. How often such claims came true is
        measured by `python -m profet_lab.validation.advice_calibration`: of those 80 % to 90 % sure, 90 % did.

    Raises
    ------
    InputError : a count, limit or certainty out of range, or nothing is left to choose from.
    """
    if not 0.5 <= certainty < 1:
        raise InputError(f"The certainty must be a share from 0.5 to less than 1, such as 0.9, not {certainty:g}.")
    limits = limits or Limits()
    level = interval_level or INTERVAL_LEVEL
    plans, left_out = _plans(rows, offers, workload, limits, include_retired, fits or {}, level)
    if not plans:
        reasons = "; ".join(f"{one.instance}: {one.reason}" for one in left_out) or "no instance has a latency"
        raise InputError(f"There is nothing to choose from ({reasons}).")
    best = frontier(plans)
    return Advice(
        workload=workload,
        limits=limits,
        plans=tuple(plans),
        fastest=pick_of(best[0], plans, "faster"),
        cheapest=pick_of(best[-1], plans, "cheaper"),
        within=within_limits(plans, limits, certainty),
        frontier=tuple(best),
        upgrades=_upgrades(best),
        beaten=_beaten(plans, best),
        left_out=tuple(left_out),
    )


def _plans(
    rows: Iterable[StepTime],
    offers: Iterable[Instance],
    workload: Workload,
    limits: Limits,
    include_retired: bool,
    fits: Mapping[str, FitAnswer],
    level: float,
) -> tuple[list[Plan], list[LeftOut]]:
    by_instance: dict[str, list[Instance]] = {}
    for offer in offers:
        by_instance.setdefault(offer.name, []).append(offer)
    plans, left_out = [], []
    for row in rows:
        found = by_instance.get(row.instance, [])
        rentable = [offer for offer in found if include_retired or offer.status != "retired"]
        fit = fits.get(row.instance)
        reason = _why_not(row, found, rentable, fit)
        if reason:
            left_out.append(LeftOut(row.instance, reason))
            continue
        plans += [plan_of(row, offer, workload, limits, level, _fit_note(fit)) for offer in rentable]
    return sorted(plans, key=lambda plan: (plan.total_usd, plan.total_s)), left_out


def _why_not(row: StepTime, found: Sequence[Instance], rentable: Sequence[Instance], fit: FitAnswer | None) -> str:
    if row.latency_ms is None:
        return "its latency is not given"
    if not found:
        return "no price in this market"
    if not rentable:
        return "retired, no longer rented out"
    if fit is not None and fit.verdict is Verdict.DOES_NOT_FIT:
        return f"does not fit in memory: {fit.why}"
    return ""


def _fit_note(fit: FitAnswer | None) -> str:
    if fit is None or fit.verdict is not Verdict.CANT_TELL:
        return ""
    return f"can't tell whether it fits in memory: {fit.why}"


def _upgrades(best: Sequence[Plan]) -> tuple[Upgrade, ...]:
    found = []
    for faster, cheaper in reversed(list(pairwise(best))):
        extra_usd = faster.total_usd - cheaper.total_usd
        saves_h = (cheaper.total_s - faster.total_s) / S_PER_HOUR
        found.append(Upgrade(cheaper, faster, extra_usd, saves_h, saves_h / extra_usd, compare(faster, cheaper).faster))
    return tuple(found)


def _beaten(plans: Sequence[Plan], best: Sequence[Plan]) -> tuple[Beaten, ...]:
    """Plans off the frontier, each beside the one that most surely beats it."""
    found = []
    for plan in plans:
        if plan in best:
            continue
        better = [other for other in best if other.total_s <= plan.total_s and other.total_usd <= plan.total_usd]
        rivals = [compare(other, plan) for other in better]
        surest = max(rivals, key=lambda rival: -1.0 if rival.beats is None else rival.beats)
        found.append(Beaten(plan, surest.a, surest.beats))
    return tuple(found)
