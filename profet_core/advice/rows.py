"""One row per offer for charts and tables, and the row presets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from profet_core.advice.advise import Advice
from profet_core.advice.plans import Plan
from profet_core.catalog import Instance
from profet_core.catalog.nodes import is_ones_own, without_larger_nodes
from profet_core.memory.fit import FitAnswer

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
