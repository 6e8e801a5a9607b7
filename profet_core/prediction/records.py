"""Prediction records: one row per instance with cost, interval and basis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from profet_core.catalog import Instance
from profet_core.catalog.frames import frame_of, offer_cells, step_cells
from profet_core.catalog.gpus import AS_PROFILED
from profet_core.ensemble.operations import UnknownOperations
from profet_core.errors import Code, Note
from profet_core.latency import Estimate, StepTime
from profet_core.prediction.members import Similarity
from profet_core.prediction.table import StepTable
from profet_core.training.cost import cost_usd
from profet_recorder.profiles.record import StepsBasis


@dataclass(frozen=True, slots=True)
class InstancePrediction(StepTime):
    """Row of one instance.

    The basis is "given" for the anchor, whose latency is None if not given; "measured" for an instance profiled for the
    training data; "derived" for one whose GPU ran the same networks in other measurements; "transferred" for one with
    an unprofiled GPU.

    Attributes
    ----------
    offer : the instance at its effective price.
    members : latency from each ensemble member, milliseconds.
    """

    offer: Instance
    members: Mapping[str, float] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats of the latency, and of the price of a node."""
        notes, gpus = self.estimate.notes, self.offer.gpu_count
        return notes if gpus == 1 else (*notes, _NODE_PRICES.get(gpus) or Note(Code.NODE_PRICE, gpus=gpus))

    @property
    def usd_per_hour(self) -> float:
        """Price of the whole instance."""
        return self.offer.usd_per_hour

    @property
    def status(self) -> str:
        """Whether it can be rented."""
        return self.offer.status

    @property
    def cost_per_1000_steps_usd(self) -> float | None:
        """US dollars for the whole instance: the price of a multi-GPU node is never divided."""
        return None if self.latency_ms is None else cost_usd(1000 * self.latency_ms, self.usd_per_hour)


@dataclass(frozen=True)
class Prediction:
    """Step latencies of one profiled network on the anchor and on every target.

    Attributes
    ----------
    anchor : where the profile was recorded; a GPU without an offer has no row.
    table : steps by GPU and host.
    offers : each offer, and its row of the table.
    steps, steps_basis : number of training steps in the profile's file, and how it was determined.
    precision : of all rows: "fp32", "tf32", "amp" or "bf16"; "as profiled" for each GPU's default of FP32 or TF32.
    read_by : profiled instance whose models read the profile, if not the anchor; else empty.
    """

    anchor: str
    anchor_latency_ms: float | None
    method: str
    table: StepTable = field(compare=False)
    offers: tuple[tuple[Instance, int], ...]
    interval_level: float | None
    unknown_operations: UnknownOperations
    similarity: Similarity | None
    warnings: tuple[Note, ...]
    steps: int = 1
    steps_basis: StepsBasis = "assumed"
    read_by: str = ""
    precision: str = AS_PROFILED

    @cached_property
    def predictions(self) -> tuple[InstancePrediction, ...]:
        """One row per offer, the anchor's first."""
        return offer_rows(self.table, self.offers)

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> latency, for all rows with one."""
        latencies_ms, known = self.table.latency_ms.tolist(), self.table.known.tolist()
        return {offer.name: latencies_ms[row] for offer, row in self.offers if known[row]}

    def to_frame(self) -> Any:
        """One row per instance, as a `pandas.DataFrame`: offer, latency, interval, cost."""
        return rows_frame(self.predictions)


def offer_rows(table: StepTable, offers: Iterable[tuple[Instance, int]]) -> tuple[InstancePrediction, ...]:
    """Join steps with offers: each offer with its row of the table."""
    steps = table.estimates()
    nothing: dict[str, float] = {}
    members: dict[int, dict[str, float]] = {}
    for name, values in table.members.items():
        for row in np.flatnonzero(~np.isnan(values)).tolist():
            members.setdefault(row, {})[name] = values.item(row)
    return tuple(InstancePrediction(offer.name, steps[row], offer, members.get(row, nothing)) for offer, row in offers)


class Predictions(Sequence[Prediction]):
    """Predictions of many profiles, each made on access: all rows of 10,000 profiles would take gigabytes."""

    def __init__(self, make: Sequence[Callable[[], Prediction]] = ()) -> None:
        self._make = make

    @overload
    def __getitem__(self, number: int, /) -> Prediction: ...

    @overload
    def __getitem__(self, numbers: slice, /) -> Predictions: ...

    def __getitem__(self, number: int | slice, /) -> Prediction | Predictions:
        return Predictions(self._make[number]) if isinstance(number, slice) else self._make[number]()

    def __len__(self) -> int:
        return len(self._make)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def rows_frame(rows: Sequence[InstancePrediction]) -> Any:
    """Rows as a `pandas.DataFrame`."""
    return frame_of(
        {**offer_cells(row.offer), **step_cells(row), "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd}
        for row in rows
    )


def priced_row(offer: Instance, estimate: Estimate, members: Mapping[str, float] | None = None) -> InstancePrediction:
    """An estimate for the GPU of an offer, with its price."""
    return InstancePrediction(offer.name, estimate, offer, members or {})


#: Rows of nodes are many.
_NODE_PRICES = {gpus: Note(Code.NODE_PRICE, gpus=gpus) for gpus in (2, 4, 8, 16)}
