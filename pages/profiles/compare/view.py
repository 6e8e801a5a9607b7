"""A comparison of profiles as rows for a table and for download."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pages.profiles.candidates import Candidate, Compared
from profet_core import Catalog, InstancePrediction, Prediction
from profet_core.advice.rentable import lowest_to_rent
from profet_core.catalog import Instance
from profet_core.catalog.nodes import is_ones_own, without_larger_nodes
from profet_core.units import format_significant
from ui.basis import marked
from ui.state.settings import COMPARE_BY

LATENCY, COST = COMPARE_BY
METRICS = {LATENCY: "Step latency", COST: "Cost of 1,000 steps"}


@dataclass(frozen=True, slots=True)
class Row:
    """One profile that something is predicted from."""

    candidate: Candidate
    prediction: Prediction
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What a person knows the profile by."""
        return self.candidate.name

    def on(self, instance: str) -> InstancePrediction | None:
        """What is predicted on one instance; None if nothing is."""
        return next((row for row in self.prediction.predictions if row.instance == instance), None)


def rows_of(compared: Iterable[Compared]) -> list[Row]:
    """Those that something is predicted from."""
    return [Row(one.candidate, one.prediction, one.warnings) for one in compared if one.prediction is not None]


def instances_of(rows: Iterable[Row]) -> list[str]:
    """Every instance that one of them is predicted on: those of the training data first."""
    rough = {found.instance: found.basis.is_rough for row in rows for found in row.prediction.predictions}
    return sorted(rough, key=lambda name: (rough[name], list(rough).index(name) if rough[name] else name))


def one_a_gpu(catalog: Catalog, instances: Iterable[str], keep: Collection[str]) -> list[str]:
    """Of the instances, in their order, the cheapest that is rented out with each GPU; `keep` and one's own too."""
    every = [catalog[name] for name in instances]
    available = without_larger_nodes(offer for offer in every if offer.status != "retired")
    kept = {offer.name for offer in every if offer.name in keep or is_ones_own(offer)}
    known = {offer.gpu for offer in every if offer.name in kept}
    cheapest: dict[str, Instance] = {}
    for offer in sorted(available, key=lambda offer: offer.usd_per_hour):
        if offer.gpu not in known:
            cheapest.setdefault(offer.gpu_model, offer)
    wanted = kept | {offer.name for offer in cheapest.values()}
    return [offer.name for offer in every if offer.name in wanted]


def table_row(row: Row, metric: str, instances: Sequence[str]) -> dict[str, object]:
    """Numbers as numbers, so that a click on a column sorts it."""
    meta, likeness = row.candidate.profile.meta, row.prediction.likeness
    return {
        "Profile": row.name,
        "Recorded on": row.prediction.anchor,
        "Lowest to rent": _lowest_to_rent(row, metric),
        **{name: _number(row.on(name), metric) for name in instances},
        "Batch": meta.batch_size,
        "Pixels": meta.pixels,
        "Like the data": "" if likeness is None else likeness.words,
    }


def data_rows(row: Row) -> list[dict[str, object]]:
    """One row an instance, with full digits."""
    meta, prediction = row.candidate.profile.meta, row.prediction
    return [
        {
            "profile": row.name,
            "anchor": prediction.anchor,
            "anchor_latency_ms": prediction.anchor_latency_ms,
            "batch_size": meta.batch_size,
            "pixels": meta.pixels,
            "instance": found.instance,
            "latency_ms": found.latency_ms,
            "low_ms": found.interval and found.interval.low_ms,
            "high_ms": found.interval and found.interval.high_ms,
            "cost_per_1000_steps_usd": found.cost_per_1000_steps_usd,
            "usd_per_hour": found.usd_per_hour,
            "status": found.status,
            "basis": found.basis,
            "warnings": len(row.warnings),
        }
        for found in prediction.predictions
    ]


def value_of(found: InstancePrediction, metric: str) -> float | None:
    """The figure that is compared."""
    return found.latency_ms if metric == LATENCY else found.cost_per_1000_steps_usd


def _lowest_to_rent(row: Row, metric: str) -> str:
    lowest = lowest_to_rent(row.prediction.predictions, lambda found: value_of(found, metric))
    return "" if lowest is None else marked(lowest.instance, lowest.basis)


def _number(found: InstancePrediction | None, metric: str) -> float | None:
    """Three significant digits."""
    value = value_of(found, metric) if found else None
    return None if value is None else float(format_significant(value).replace(",", ""))
