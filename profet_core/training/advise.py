"""Recommends which offer to rent, and with what confidence."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.collection import is_custom
from profet_core.catalog.instance import RETIRED, Instance
from profet_core.errors import InputError
from profet_core.offers import OfferTable, known_or_none
from profet_core.training.cost import Workload
from profet_core.training.memory import FitAnswer, Verdict
from profet_core.training.plans import NO_LIMITS, SUREST, SUREST_ESTIMATE, CostTable, Limits, Plan, costed
from profet_core.training.recommend import (
    Criterion,
    Pick,
    Recommended,
    WithinLimits,
    certainties,
    certainty_of,
    frontier,
    recommend,
)
from profet_profiles.units import S_PER_HOUR

NOTHING_FITS: Mapping[str, FitAnswer] = MappingProxyType({})


def without_larger_nodes(plans: Iterable[Plan]) -> list[Plan]:
    """Plans with one GPU, in their order; for GPUs only available in nodes, the smallest nodes. Custom offers stay."""
    every = [(plan, plan.offer) for plan in plans]
    least: dict[str, int] = {}
    for _, offer in every:
        least[offer.gpu] = min(offer.gpu_count, least.get(offer.gpu, offer.gpu_count))
    return [plan for plan, offer in every if offer.gpu_count == least[offer.gpu] or is_custom(offer)]


class Upgrade(Struct, frozen=True, forbid_unknown_fields=True):
    """A step along the frontier to the next faster plan: hours saved for dollars more, and whether it is faster.

    `certainty` is that probability, 0 to 1; None without intervals.
    """

    extra_usd: float
    saves_h: float
    hours_per_usd: float
    certainty: float | None
    cheaper: Plan
    faster: Plan


class Dominated(Struct, frozen=True, forbid_unknown_fields=True):
    """A plan whose time and cost another plan beats, with the probability that it does."""

    plan: Plan
    by: Plan
    certainty: float | None


class Advice(Struct, frozen=True, dict=True):
    """Recommendations among the plans of one training, of which there is at least one.

    Attributes
    ----------
    rows : of the table, those to choose from, cheapest first.
    excluded : instance that can't be recommended -> the reason.
    """

    table: CostTable
    rows: tuple[int, ...]
    excluded: Mapping[str, str]

    @property
    def workload(self) -> Workload:
        """The training."""
        return self.table.workload

    @property
    def limits(self) -> Limits:
        """Deadline and budget."""
        return self.table.limits

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """The plans to choose from, cheapest first."""
        return tuple(self.table.on(self.rows))

    @cached_property
    def recommended(self) -> Recommended:
        """The recommendation, without eight-GPU offers for one-GPU training where one GPU can be rented alone."""
        rows: Sequence[int] = self.rows
        if (self.table.steps.gpus[list(rows)] == 1).all():
            rows = [plan.number for plan in without_larger_nodes(self.plans)]
        return recommend(self.table, rows)

    @cached_property
    def frontier(self) -> tuple[Plan, ...]:
        """Plans to choose from that no other one dominates, fastest first."""
        return tuple(frontier(self.recommended.choices))

    def among(self, plans: Iterable[Plan]) -> Advice:
        """Return the training's recommendations among these plans, at least one."""
        rows = self.table.cheapest_first([plan.number for plan in plans])
        return replace(self, rows=tuple(rows.tolist()))

    @property
    def fastest(self) -> Pick:
        """The fastest plan."""
        return self.recommended.fastest

    @property
    def cheapest(self) -> Pick:
        """The cheapest plan."""
        return self.recommended.cheapest

    @property
    def within(self) -> WithinLimits | None:
        """The best under the limits; None if there are none."""
        return self.recommended.within

    @property
    def answer(self) -> Plan:
        """The plan to rent."""
        return self.recommended.answer

    @property
    def upgrades(self) -> tuple[Upgrade, ...]:
        """Steps along the frontier, from the cheapest to the fastest."""
        steps = []
        for faster, cheaper in reversed(list(pairwise(self.frontier))):
            extra_usd = faster.total_usd - cheaper.total_usd
            saves_h = (cheaper.total_s - faster.total_s) / S_PER_HOUR
            certainty = certainty_of(faster, cheaper, Criterion.FASTER)
            steps.append(Upgrade(extra_usd, saves_h, saves_h / extra_usd, certainty, cheaper, faster))
        return tuple(steps)

    @property
    def dominated(self) -> tuple[Dominated, ...]:
        """Plans off the frontier, each with the plan that most likely dominates it."""
        table, kept = self.table, {plan.offer.offer_key for plan in self.frontier}
        # A node on which only one of several GPUs trains never dominates another plan.
        best = np.array([plan.number for plan in self.frontier], int)
        plans = [plan for plan in self.plans if plan.offer.offer_key not in kept]
        rows = np.array([plan.number for plan in plans], int)[:, None]
        dominates = (table.total_s[best] <= table.total_s[rows]) & (table.total_usd[best] <= table.total_usd[rows])
        row, by = np.nonzero(dominates)
        certainty = np.full(dominates.shape, np.nan)
        certainty[row, by] = certainties(table, best[by], rows[row, 0])
        surest = np.where(table.is_profiled[rows[:, 0]], SUREST, SUREST_ESTIMATE)
        places, highest = np.full(len(plans), -1), np.full(len(plans), -1.0)
        for place, number in enumerate(best):
            chance = np.nan_to_num(certainty[:, place])
            # Plans of one GPU share their error: only such a one can be surer still.
            can_be_surer = (highest < surest) | (table.gpu_names[number] == table.gpu_names[rows[:, 0]])
            better = dominates[:, place] & can_be_surer & (chance > highest)
            places, highest = np.where(better, place, places), np.where(better, chance, highest)
        return tuple(
            Dominated(plan, self.frontier[place], known_or_none(certainty[number], place))
            for number, (plan, place) in enumerate(zip(plans, places.tolist(), strict=True))
            if place >= 0
        )

    @property
    def excluded_by_reason(self) -> dict[str, list[str]]:
        """Map each reason for exclusion to the excluded instances."""
        instances: dict[str, list[str]] = {}
        for instance, reason in self.excluded.items():
            instances.setdefault(reason, []).append(instance)
        return instances


def advise(
    steps: OfferTable,
    offers: Sequence[Instance],
    workload: Workload,
    limits: Limits = NO_LIMITS,
    *,
    include_retired: bool = False,
    fits: Mapping[str, FitAnswer] = NOTHING_FITS,
    wanted: Collection[str] | None = None,
    anchor: str = "",
) -> Advice:
    """Recommend plans for one training; raises InputError if nothing is left to choose from.

    Parameters
    ----------
    steps : step latencies at the workload's batch size on each GPU.
    offers : what can be rented, see `offers_in_market`; several offers of one instance are several plans.
    fits : instance -> whether it fits in memory; absent instances are unknown.
    wanted : instances to recommend of those of `steps`; None: all.
    anchor : instance, or GPU by its name, on which the profile was recorded.
    """
    listed: dict[str, list[Instance]] = {}
    for offer in offers:
        listed.setdefault(offer.name, []).append(offer)
    excluded: dict[str, str] = {}
    places: list[tuple[int, Instance]] = []
    for number, (instance, latency_ms) in enumerate(zip(steps.numbers, steps.latency_ms.tolist(), strict=True)):
        if wanted is not None and instance not in wanted:
            continue
        rentable = [offer for offer in listed.get(instance, []) if include_retired or offer.status != RETIRED]
        fit = fits.get(instance)
        if math.isnan(latency_ms):
            excluded[instance] = "no latency given"
        elif not rentable:
            excluded[instance] = "retired" if instance in listed else "no price in this market"
        elif fit is not None and fit.verdict is Verdict.DOES_NOT_FIT:
            excluded[instance] = f"does not fit in memory: {fit.why}"
        else:
            places += [(number, offer) for offer in rentable]
    if not places:
        reasons = "; ".join(map(": ".join, excluded.items())) or "no instance has a latency"
        is_retired = (offer.status == RETIRED for priced in listed.values() for offer in priced)
        retired = not include_retired and any(is_retired)
        hint = "; {include_retired} includes retired instances" if retired else ""
        raise InputError(f"There is no offer to choose from ({reasons}){hint}.", "include_retired")
    rows, rented = range(len(places)), {id(offer) for _, offer in places}
    others = [offer for offer in offers if id(offer) not in rented]
    places += [(steps.numbers.get(offer.name, -1), offer) for offer in others]
    table = costed(
        workload,
        steps.take([number for number, _ in places], [offer for _, offer in places]),
        limits,
        fits=[fits.get(offer.name) for _, offer in places],
        reasons=[""] * len(rows) + [excluded.get(offer.name, "no GPU specs") for offer in others],
        anchor=anchor,
    )
    return Advice(table, tuple(table.cheapest_first(rows).tolist()), excluded)


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


def preset_rows(
    plans: Iterable[Plan], preset: Preset, *, retired: bool = False, every_node: bool = False, keep: str = ""
) -> list[Plan]:
    """Rows that a preset shows; numbers never change.

    Custom instances and one row of the anchor always show, except under `Preset.ORIGINAL`, which shows its four
    instances.

    Parameters
    ----------
    retired : also show retired instances.
    every_node : also show multi-GPU nodes that have the same GPU as a smaller node.
    keep : label of a row to keep.
    """

    def cost(plan: Plan) -> float:
        return plan.total_usd if plan.has_number else plan.offer.usd_per_hour

    every = list(plans)
    if preset is Preset.ORIGINAL:
        return [plan for plan in every if plan.instance in ORIGINAL]
    rows = [plan for plan in every if retired or plan.is_rentable]
    if preset is Preset.AWS:
        rows = [plan for plan in rows if plan.offer.provider == "aws"]
    if not every_node:
        rows = without_larger_nodes(rows)
    if preset is Preset.GPUS:
        # The cheapest row of each GPU is written last.
        rows = list({plan.offer.gpu: plan for plan in sorted(rows, key=cost)[::-1]}.values())
    kept = {id(plan) for plan in rows}
    kept |= {id(plan) for plan in every if is_custom(plan.offer) or (keep and plan.label == keep)}
    if not any(plan.is_anchor for plan in rows):
        anchors = sorted((plan for plan in every if plan.is_anchor), key=cost)
        kept |= {id(plan) for plan in anchors[:1]}
    return [plan for plan in every if id(plan) in kept]


def sorted_rows(plans: Iterable[Plan], sort: Sort) -> list[Plan]:
    """Sort rows by latency, cost or name; rows without a number come last."""

    def key(plan: Plan) -> tuple[bool, float, tuple[str, str]]:
        name = plan.offer.gpu, plan.label
        if not plan.has_number:
            return True, 0.0, name
        if sort is Sort.NAME:
            return False, 0.0, name
        return False, plan.total_s if sort is Sort.LATENCY else plan.total_usd, name

    return sorted(plans, key=key)
