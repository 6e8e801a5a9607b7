"""Recommends which offer to rent, and with what confidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar

from profet_core.catalog.collection import is_custom
from profet_core.catalog.instance import RETIRED, Instance
from profet_core.errors import InputError
from profet_core.latency import StepTime
from profet_core.training.cost import Workload
from profet_core.training.memory import FitAnswer, Verdict
from profet_core.training.plans import NO_LIMITS, Limits, Plan, plan_of, surest_certainty
from profet_core.training.recommend import Criterion, Pick, Recommended, Within, certainty_of, frontier, recommend
from profet_profiles.units import S_PER_HOUR


class HasOffer(Protocol):
    """A row about an offer."""

    @property
    def offer(self) -> Instance:
        """The offer to rent."""


Offered = TypeVar("Offered", bound=HasOffer)


def without_larger_nodes(rows: Iterable[Offered]) -> list[Offered]:
    """Rows with one GPU, in their order; for GPUs only available in nodes, the smallest nodes. Custom offers stay."""
    every = list(rows)
    least: dict[str, int] = {}
    for offer in (row.offer for row in every):
        least[offer.gpu] = min(offer.gpu_count, least.get(offer.gpu, offer.gpu_count))
    return [row for row in every if row.offer.gpu_count == least[row.offer.gpu] or is_custom(row.offer)]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A step along the frontier to the next faster plan: hours saved for dollars more, and whether it is faster.

    `certainty` is that probability, 0 to 1; None without intervals.
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


@dataclass(frozen=True)
class Advice:
    """Recommendations among the plans of one training, of which there is at least one; cheapest first.

    `excluded` : instance that can't be recommended -> the reason.
    """

    workload: Workload
    limits: Limits
    plans: tuple[Plan, ...]
    excluded: Mapping[str, str]

    @cached_property
    def _sensible(self) -> Sequence[Plan]:
        """Without eight-GPU offers for one-GPU training where one GPU can be rented alone."""
        return without_larger_nodes(self.plans) if all(plan.gpus == 1 for plan in self.plans) else self.plans

    @cached_property
    def recommended(self) -> Recommended:
        """What to rent."""
        return recommend(self._sensible, self.limits)

    @cached_property
    def frontier(self) -> tuple[Plan, ...]:
        """Plans to choose from that no other one dominates, fastest first."""
        return tuple(frontier(self.recommended.choices))

    def among(self, plans: Iterable[Plan]) -> Advice:
        """The same training's recommendations among these plans, at least one."""
        return replace(self, plans=tuple(sorted(plans, key=lambda plan: (plan.total_usd, plan.total_s))))

    @property
    def fastest(self) -> Pick:
        """The fastest plan."""
        return self.recommended.fastest

    @property
    def cheapest(self) -> Pick:
        """The cheapest plan."""
        return self.recommended.cheapest

    @property
    def within(self) -> Within | None:
        """The best under the limits; None if there are none."""
        return self.recommended.within

    @property
    def answer(self) -> Plan:
        """The plan to rent."""
        return self.recommended.answer

    @property
    def upgrades(self) -> tuple[Upgrade, ...]:
        """Steps along the frontier, from the cheapest to the fastest."""
        found = []
        for faster, cheaper in reversed(list(pairwise(self.frontier))):
            extra_usd = faster.total_usd - cheaper.total_usd
            saves_h = (cheaper.total_s - faster.total_s) / S_PER_HOUR
            certainty = certainty_of(faster, cheaper, Criterion.FASTER)
            found.append(Upgrade(cheaper, faster, extra_usd, saves_h, saves_h / extra_usd, certainty))
        return tuple(found)

    @property
    def dominated(self) -> tuple[Dominated, ...]:
        """Plans off the frontier, each with the plan that most likely dominates it."""
        found, kept = [], {plan.offer.offer_key for plan in self.frontier}
        for plan in self.plans:
            # A node on which only one of several GPUs trains never dominates another plan.
            if plan.offer.offer_key in kept:
                continue
            best, highest, surest = None, 0.0, surest_certainty(plan.basis)
            for by in self.frontier:
                # Plans of one GPU share their error: only such a one can be surer still.
                if highest >= surest and by.offer.gpu != plan.offer.gpu:
                    continue
                if by.total_s <= plan.total_s and by.total_usd <= plan.total_usd:
                    certainty = certainty_of(by, plan)
                    if best is None or (certainty or 0.0) > highest:
                        best, highest = Dominated(plan, by, certainty), certainty or 0.0
            found += [best] if best else []
        return tuple(found)

    @property
    def excluded_by_reason(self) -> dict[str, list[str]]:
        """Map each reason for exclusion to the excluded instances."""
        found: dict[str, list[str]] = {}
        for instance, reason in self.excluded.items():
            found.setdefault(reason, []).append(instance)
        return found


def advise(
    rows: Iterable[StepTime],
    offers: Iterable[Instance],
    workload: Workload,
    limits: Limits | None = None,
    *,
    include_retired: bool = False,
    fits: Mapping[str, FitAnswer] | None = None,
) -> Advice:
    """Recommend plans for one training; raises InputError if nothing is left to choose from.

    Parameters
    ----------
    rows : step latencies of one GPU at the workload's batch size, or `NodeTime`s of whole nodes.
    offers : what can be rented, see `offers_in_market`; several offers of one instance are several plans.
    fits : instance -> whether it fits in memory; absent instances are unknown.
    """
    limits = limits or NO_LIMITS
    listed: dict[str, list[Instance]] = {}
    for offer in offers:
        listed.setdefault(offer.name, []).append(offer)
    plans: list[Plan] = []
    excluded: dict[str, str] = {}
    for row in rows:
        rentable = [one for one in listed.get(row.instance, []) if include_retired or one.status != RETIRED]
        fit = (fits or {}).get(row.instance)
        if row.estimate.latency_ms is None:
            reason = "no latency given"
        elif not rentable:
            reason = "retired" if row.instance in listed else "no price in this market"
        elif fit is not None and fit.verdict is Verdict.DOES_NOT_FIT:
            reason = f"does not fit in memory: {fit.why}"
        else:
            plans += [plan_of(workload, row, offer, limits, fit) for offer in rentable]
            continue
        excluded[row.instance] = reason
    if not plans:
        reasons = "; ".join(map(": ".join, excluded.items())) or "no instance has a latency"
        retired = not include_retired and any(one.status == RETIRED for several in listed.values() for one in several)
        hint = "; {include_retired} includes retired instances" if retired else ""
        raise InputError(f"There is no offer to choose from ({reasons}){hint}.", "include_retired")
    return Advice(workload, limits, (), excluded).among(plans)


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


class PresetRow(HasOffer, Protocol):
    """Row interface that presets use."""

    @property
    def plan(self) -> Plan | None:
        """The training on this offer; None without a prediction."""

    @property
    def is_anchor(self) -> bool:
        """Whether the profile was recorded there."""


Row = TypeVar("Row", bound=PresetRow)


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One offer, with its plan if it has a prediction and the step fits, else the reason in a few words."""

    offer: Instance
    plan: Plan | None
    fit: FitAnswer | None
    reason: str
    is_anchor: bool

    @property
    def label(self) -> str:
        """The instance, with its market if that isn't on-demand."""
        return self.offer.label


def offer_rows(
    advice: Advice, offers: Sequence[Instance], fits: Mapping[str, FitAnswer], anchor: str
) -> list[OfferRow]:
    """One row per offer of `advice`, including excluded offers; `anchor` is an instance, or a GPU by its name."""
    plans = {plan.offer.offer_key: plan for plan in advice.plans}
    return [
        OfferRow(
            offer=offer,
            plan=(plan := plans.get(offer.offer_key)),
            fit=fits.get(offer.name),
            reason="" if plan else advice.excluded.get(offer.name, "no GPU specs"),
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

    def cost(row: PresetRow) -> float:
        return row.offer.usd_per_hour if row.plan is None else row.plan.total_usd

    every = list(rows)
    if preset is Preset.ORIGINAL:
        return [row for row in every if row.offer.name in ORIGINAL]
    found = [row for row in every if retired or row.offer.status != RETIRED]
    if preset is Preset.AWS:
        found = [row for row in found if row.offer.provider == "aws"]
    if not every_node:
        found = without_larger_nodes(found)
    if preset is Preset.GPUS:
        # The cheapest row of each GPU is written last.
        found = list({row.offer.gpu: row for row in sorted(found, key=cost)[::-1]}.values())
    kept = {row.offer.offer_key for row in found}
    kept |= {row.offer.offer_key for row in every if is_custom(row.offer) or (keep and row.offer.label == keep)}
    if not any(row.is_anchor for row in found):
        anchors = sorted((row for row in every if row.is_anchor), key=cost)
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
