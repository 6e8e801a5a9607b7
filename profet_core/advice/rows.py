"""One row per offer for charts and tables, with or without a number, and the presets that choose which rows show."""

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
    """Which rows show; the values are those of links."""

    ORIGINAL = "original"
    AWS = "aws"
    GPUS = "gpus"
    ALL = "all"


class Sort(StrEnum):
    """By what rows are sorted; the values are those of links."""

    LATENCY = "latency"
    COST = "cost"
    NAME = "name"


class PresetRow(Protocol):
    """What a preset asks of a row."""

    @property
    def offer(self) -> Instance:
        """What is rented."""

    @property
    def plan(self) -> Plan | None:
        """The training there; None where there is no number."""

    @property
    def label(self) -> str:
        """The instance, with its market where that isn't on-demand."""

    @property
    def is_anchor(self) -> bool:
        """Whether the profile was recorded there."""


Row = TypeVar("Row", bound=PresetRow)


def offer_label(offer: Instance) -> str:
    """The instance, with its market where that isn't on-demand."""
    return offer.name if offer.market == "on-demand" else f"{offer.name} {offer.market}"


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One offer.

    Attributes
    ----------
    plan : the training there; None where nothing can be said, or the step doesn't fit.
    fit : whether the step fits in memory; None: not known.
    reason : why there is no plan, in a few words, or empty.
    is_anchor : the profile was recorded there.
    """

    offer: Instance
    plan: Plan | None
    fit: FitAnswer | None
    reason: str
    is_anchor: bool

    @property
    def label(self) -> str:
        """The instance, with its market where that isn't on-demand."""
        return offer_label(self.offer)


def offer_rows(
    advice: Advice, offers: Sequence[Instance], fits: Mapping[str, FitAnswer], anchor: str
) -> list[OfferRow]:
    """One row per offer of `advice`, with what it leaves out.

    Parameters
    ----------
    anchor : an instance, or a GPU by its name: then every offer of one such GPU is the anchor.
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
    """The rows that a preset shows; it never changes a number.

    Custom instances always show, and so does one row of the anchor, but for `Preset.ORIGINAL`, which is its four.

    Parameters
    ----------
    retired : show what can't be rented any more too.
    every_node : show nodes of several GPUs beside smaller ones with the same GPU.
    keep : label of a row that stays.
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
    """Rows by latency, cost or name; what has no number comes last."""

    def key(row: OfferRow) -> tuple[bool, float, tuple[str, str]]:
        name = row.offer.gpu, row.label
        if row.plan is None:
            return True, 0.0, name
        if sort is Sort.NAME:
            return False, 0.0, name
        return False, row.plan.total_s if sort is Sort.LATENCY else row.plan.total_usd, name

    return sorted(rows, key=key)


def _one_per_gpu(rows: Sequence[Row]) -> list[Row]:
    """Of each GPU the cheapest row."""
    best: dict[str, Row] = {}
    for row in sorted(rows, key=_cost):
        best.setdefault(row.offer.gpu, row)
    return list(best.values())


def _cost(row: PresetRow) -> float:
    return row.offer.usd_per_hour if row.plan is None else row.plan.total_usd
