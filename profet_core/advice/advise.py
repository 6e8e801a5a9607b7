"""Recommends which offer to rent, and with what confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Protocol, TypeVar

from profet_core.advice.comparison import chance_to_be_faster, chance_to_dominate
from profet_core.advice.plans import Limits, Node, Plan, Request, Workload, plan_of
from profet_core.advice.recommend import Criterion, Pick, Within, cheapest_of, frontier, pick_of, within_limits
from profet_core.catalog import Instance
from profet_core.catalog.collection import is_ones_own, without_larger_nodes
from profet_core.errors import InputError
from profet_core.latency import LEVEL, StepTime
from profet_core.memory.fit import FitAnswer, Verdict
from profet_core.prediction.records import InstancePrediction
from profet_core.units import S_PER_HOUR


def lowest_to_rent(
    rows: Iterable[InstancePrediction], figure: Callable[[InstancePrediction], float | None]
) -> InstancePrediction | None:
    """Row with the lowest figure among rentable instances.

    None if there is none.

    Of two instances with one GPU, the cheaper one wins, so an eight-GPU node is never chosen for the speed of one GPU.
    """
    known = [
        (value, row.cost_per_1000_steps_usd or 0.0, row)
        for row in rows
        if row.status != "retired" and (value := figure(row)) is not None
    ]
    return min(known, key=lambda one: one[:2])[2] if known else None


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A step along the frontier from one plan to the next faster one.

    Attributes
    ----------
    saves_h : hours saved for `extra_usd` more. hours_per_usd : their ratio.
    certainty : probability that the second plan is faster, 0 to 1; None without intervals.
    """

    cheaper: Plan
    faster: Plan
    extra_usd: float
    saves_h: float
    hours_per_usd: float
    certainty: float | None


@dataclass(frozen=True, slots=True)
class Dominated:
    """A plan whose time and cost another plan beats, with the probability that it does."""

    plan: Plan
    by: Plan
    certainty: float | None


@dataclass(frozen=True, slots=True)
class ExcludedInstance:
    """An instance that can't be recommended, with the reason."""

    instance: str
    reason: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The full result of one advice request.

    Attributes
    ----------
    plans : cheapest first. frontier : the plans that no other plan dominates, fastest first.
    within : the plans that meet the limits; None if there are no limits.
    """

    request: Request
    plans: tuple[Plan, ...]
    fastest: Pick
    cheapest: Pick
    within: Within | None
    frontier: tuple[Plan, ...]
    excluded: tuple[ExcludedInstance, ...]

    @property
    def upgrades(self) -> tuple[Upgrade, ...]:
        """Steps along the frontier, from the cheapest to the fastest."""
        return _upgrades(self.frontier)

    @property
    def dominated(self) -> tuple[Dominated, ...]:
        """Plans off the frontier, each with the plan that most likely dominates it."""
        return _dominated(self.plans, self.frontier)

    @property
    def answer(self) -> Plan:
        """The plan to rent.

        It meets the limits with the requested confidence. If no plan does, it meets them by the point estimate. If no
        plan does that either, it is the nearest one.
        """
        if self.within is None:
            return self.cheapest.plan
        return self.within.sure or self.within.expected or self.within.nearest

    @property
    def excluded_by_reason(self) -> dict[str, list[str]]:
        """Map each reason for exclusion to the excluded instances."""
        found: dict[str, list[str]] = {}
        for one in self.excluded:
            found.setdefault(one.reason, []).append(one.instance)
        return found


def advise(
    rows: Iterable[StepTime],
    offers: Iterable[Instance],
    workload: Workload,
    limits: Limits | None = None,
    *,
    include_retired: bool = False,
    fits: Mapping[str, FitAnswer] | None = None,
    nodes: Mapping[str, Node] | None = None,
    interval_level: float | None = LEVEL,
) -> Advice:
    """Recommend plans for one training.

    Parameters
    ----------
    rows : step latencies at the workload's batch size.
    offers : what can be rented, see `offers_in_market`; several offers of one instance are several plans.
    fits : instance -> whether it fits in memory; absent instances are unknown.
    nodes : instance -> node, for rows that describe a step on all GPUs of the node, see `nodes.whole_nodes`. Rows of
        absent instances describe one GPU.
    interval_level : level of the rows' intervals; errors are assumed log-normal. For how often such statements were
        right, see `certainty.CAME_TRUE_80_TO_90`.

    Raises
    ------
    InputError : a count out of range, or nothing is left to choose from.
    """
    request = Request(workload, limits or Limits(), interval_level or LEVEL)
    plans, excluded = _plans(request, rows, _Market(_by_instance(offers), include_retired, fits or {}, nodes or {}))
    if not plans:
        reasons = "; ".join(f"{one.instance}: {one.reason}" for one in excluded) or "no instance has a latency"
        raise InputError(f"There is no offer to choose from ({reasons}).")
    # Skip eight-GPU offers for one-GPU training where one GPU can be rented alone.
    small = {offer.offer_key for offer in without_larger_nodes([plan.offer for plan in plans])}
    sensible = plans if nodes else [plan for plan in plans if plan.offer.offer_key in small]
    best = frontier(sensible)
    return Advice(
        request=request,
        plans=tuple(plans),
        fastest=pick_of(best[0], sensible, Criterion.FASTER),
        cheapest=pick_of(cheapest_of(sensible), sensible, Criterion.CHEAPER),
        within=within_limits(sensible, request.limits),
        frontier=tuple(best),
        excluded=tuple(excluded),
    )


@dataclass(frozen=True, slots=True)
class _Market:
    """Rentable offers, and where the training fits in memory."""

    offers: Mapping[str, Sequence[Instance]]
    include_retired: bool
    fits: Mapping[str, FitAnswer]
    nodes: Mapping[str, Node]

    def rentable(self, instance: str) -> list[Instance]:
        """Offers of an instance; none for a retired instance unless those are included."""
        found = self.offers.get(instance, [])
        return [offer for offer in found if self.include_retired or offer.status != "retired"]

    def why_not(self, row: StepTime) -> str:
        """Reason that no plan can be made for a row; empty if one can."""
        if row.latency_ms is None:
            return "no latency given"
        if row.instance not in self.offers:
            return "no price in this market"
        if not self.rentable(row.instance):
            return "retired"
        return self._fit_words(row.instance, Verdict.DOES_NOT_FIT, "does not fit in memory")

    def fit_note(self, instance: str) -> str:
        """Caveat about memory; empty if there is none."""
        return self._fit_words(instance, Verdict.CANT_TELL, "may not fit in memory")

    def _fit_words(self, instance: str, verdict: Verdict, words: str) -> str:
        fit = self.fits.get(instance)
        return f"{words}: {fit.why}" if fit is not None and fit.verdict is verdict else ""


def _by_instance(offers: Iterable[Instance]) -> dict[str, list[Instance]]:
    found: dict[str, list[Instance]] = {}
    for offer in offers:
        found.setdefault(offer.name, []).append(offer)
    return found


def _plans(request: Request, rows: Iterable[StepTime], market: _Market) -> tuple[list[Plan], list[ExcludedInstance]]:
    """All plans, cheapest first, and the instances without a plan."""
    plans, excluded = [], []
    for row in rows:
        if reason := market.why_not(row):
            excluded.append(ExcludedInstance(row.instance, reason))
            continue
        note = market.fit_note(row.instance)
        node = market.nodes.get(row.instance)
        plans += [plan_of(request, row, offer, note, node) for offer in market.rentable(row.instance)]
    return sorted(plans, key=lambda plan: (plan.total_usd, plan.total_s)), excluded


def _upgrades(best: Sequence[Plan]) -> tuple[Upgrade, ...]:
    found = []
    for faster, cheaper in reversed(list(pairwise(best))):
        extra_usd = faster.total_usd - cheaper.total_usd
        saves_h = (cheaper.total_s - faster.total_s) / S_PER_HOUR
        certainty = chance_to_be_faster(faster, cheaper)
        found.append(Upgrade(cheaper, faster, extra_usd, saves_h, saves_h / extra_usd, certainty))
    return tuple(found)


def _dominated(plans: Sequence[Plan], best: Sequence[Plan]) -> tuple[Dominated, ...]:
    found, kept = [], {id(plan) for plan in best}
    for plan in plans:
        if id(plan) in kept:
            continue
        better = [other for other in best if other.total_s <= plan.total_s and other.total_usd <= plan.total_usd]
        if not better:
            # A node on which only one of several GPUs trains never dominates another plan.
            continue
        chances = [chance_to_dominate(other, plan) for other in better]
        surest = max(range(len(better)), key=lambda at: -1.0 if (chance := chances[at]) is None else chance)
        found.append(Dominated(plan, better[surest], chances[surest]))
    return tuple(found)


#: The four instances of the PROFET paper.
ORIGINAL = ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")


class Preset(StrEnum):
    """Selection of rows; the values appear in links."""

    ORIGINAL = "original"
    AWS = "aws"
    GPUS = "gpus"
    ALL = "all"


class Sort(StrEnum):
    """Sort key of rows; the values appear in links."""

    LATENCY = "latency"
    COST = "cost"
    NAME = "name"


class PresetRow(Protocol):
    """Row interface that presets use."""

    @property
    def offer(self) -> Instance:
        """The offer to rent."""

    @property
    def plan(self) -> Plan | None:
        """The training on this offer; None without a prediction."""

    @property
    def label(self) -> str:
        """The instance, with its market if that isn't on-demand."""

    @property
    def is_anchor(self) -> bool:
        """Whether the profile was recorded there."""


Row = TypeVar("Row", bound=PresetRow)


def offer_label(offer: Instance) -> str:
    """The instance, with its market if that isn't on-demand."""
    return offer.name if offer.market == "on-demand" else f"{offer.name} {offer.market}"


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One offer.

    Attributes
    ----------
    plan : the training on this offer; None without a prediction, or if the step doesn't fit.
    fit : whether the step fits in memory; None if unknown.
    reason : why there is no plan, in a few words; else empty.
    is_anchor : the profile was recorded there.
    """

    offer: Instance
    plan: Plan | None
    fit: FitAnswer | None
    reason: str
    is_anchor: bool

    @property
    def label(self) -> str:
        """The instance, with its market if that isn't on-demand."""
        return offer_label(self.offer)


def offer_rows(
    advice: Advice, offers: Sequence[Instance], fits: Mapping[str, FitAnswer], anchor: str
) -> list[OfferRow]:
    """One row per offer of `advice`, including excluded offers.

    Parameters
    ----------
    anchor : an instance, or a GPU by its name; then every offer with one such GPU is the anchor.
    """
    reasons = {one.instance: one.reason for one in advice.excluded}
    plans = {plan.offer.offer_key: plan for plan in advice.plans}
    return [
        OfferRow(
            offer=offer,
            plan=plans.get(offer.offer_key),
            fit=fits.get(offer.name),
            reason="" if offer.offer_key in plans else reasons.get(offer.name, "no GPU specs"),
            is_anchor=anchor in (offer.name, offer.gpu),
        )
        for offer in offers
    ]


def preset_rows(
    rows: Iterable[Row], preset: Preset, *, retired: bool = False, every_node: bool = False, keep: str = ""
) -> list[Row]:
    """Rows that a preset shows; numbers never change.

    Custom instances and one row of the anchor always show, except under `Preset.ORIGINAL`, which shows its four
    instances.

    Parameters
    ----------
    retired : also show retired instances.
    every_node : also show multi-GPU nodes that have the same GPU as a smaller node.
    keep : label of a row to keep.
    """
    every = list(rows)
    if preset is Preset.ORIGINAL:
        return [row for row in every if row.offer.name in ORIGINAL]
    found = [row for row in every if retired or row.offer.status != "retired"]
    if preset is Preset.AWS:
        found = [row for row in found if row.offer.provider == "aws"]
    if not every_node:
        small = {offer.offer_key for offer in without_larger_nodes([row.offer for row in found])}
        found = [row for row in found if row.offer.offer_key in small]
    if preset is Preset.GPUS:
        found = _one_per_gpu(found)
    kept = {row.offer.offer_key for row in found}
    kept |= {row.offer.offer_key for row in every if is_ones_own(row.offer) or (keep and row.label == keep)}
    if not any(row.is_anchor for row in found):
        anchors = sorted((row for row in every if row.is_anchor), key=_cost)
        kept |= {row.offer.offer_key for row in anchors[:1]}
    return [row for row in every if row.offer.offer_key in kept]


def sorted_rows(rows: Iterable[OfferRow], sort: Sort) -> list[OfferRow]:
    """Sort rows by latency, cost or name; rows without a number come last."""

    def key(row: OfferRow) -> tuple[bool, float, tuple[str, str]]:
        name = row.offer.gpu, row.label
        if row.plan is None:
            return True, 0.0, name
        if sort is Sort.NAME:
            return False, 0.0, name
        return False, row.plan.total_s if sort is Sort.LATENCY else row.plan.total_usd, name

    return sorted(rows, key=key)


def _one_per_gpu(rows: Sequence[Row]) -> list[Row]:
    """Keep the cheapest row per GPU."""
    best: dict[str, Row] = {}
    for row in sorted(rows, key=_cost):
        best.setdefault(row.offer.gpu, row)
    return list(best.values())


def _cost(row: PresetRow) -> float:
    return row.offer.usd_per_hour if row.plan is None else row.plan.total_usd
