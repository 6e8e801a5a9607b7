"""One step on many GPUs: the table of arrays that each stage of a prediction takes and returns; rows by offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, overload

import numpy as np

from profet_core.catalog import Instance
from profet_core.catalog.gpus import AS_PROFILED, Gpu
from profet_core.catalog.instance import frame_of, offer_cells, step_cells
from profet_core.ensemble.members import BAND_WORDS
from profet_core.ensemble.operations import UnknownOperations
from profet_core.errors import Code, Note
from profet_core.latency import Basis, Estimate, FloatArray, LatencyParts, Relative, StepTime, Values, combined_sd
from profet_core.training.cost import cost_usd
from profet_core.transfer.targets import Host
from profet_profiles.record import Profile, StepsBasis


class Target(NamedTuple):
    """What a step runs on: any machine with this GPU and host, or one `instance` whose own steps are known.

    Such instances are the anchor and the profiled ones; "" stands for all others.
    """

    gpu: Gpu
    host: Host
    instance: str = ""


@dataclass(frozen=True, eq=False)
class StepTable:
    """Steps on targets.

    Arrays have shape (targets,) for one profile and size, else (targets, profiles) or (targets, sizes). NaN stands for
    unknown.

    Attributes
    ----------
    targets : keys of the rows.
    latency_ms : milliseconds per training step.
    log_sd : standard deviation of the latency's logarithm; 0 for a measurement.
    basis, notes : of each target.
    relative_to, relative_log_sd : instance whose latency shares errors with the target's, "" for none, and the log
        standard deviation of the ratio of both.
    sources, weights : profiled instances and the anchor, and powers of their latencies in `free_ms`,
        (targets, sources, ...).
    free_ms, launch_ms : parts of the latency as in `latency.LatencyParts`; NaN if it has none.
    members : ensemble member -> its latencies.
    """

    targets: tuple[Target, ...]
    latency_ms: FloatArray
    log_sd: FloatArray
    basis: tuple[Basis, ...]
    notes: tuple[tuple[Note, ...], ...]
    relative_to: tuple[str, ...]
    relative_log_sd: FloatArray
    sources: tuple[str, ...]
    weights: FloatArray
    free_ms: FloatArray
    launch_ms: FloatArray
    members: Mapping[str, FloatArray]

    @classmethod
    def unknown(cls, targets: tuple[Target, ...], sources: tuple[str, ...], *columns: int) -> StepTable:
        """A table without latencies; `columns`: number of profiles or sizes."""
        rows, shape = len(targets), (len(targets), *columns)
        nothing = np.full(shape, np.nan)
        return cls(
            targets=targets,
            latency_ms=nothing,
            log_sd=nothing,
            basis=(Basis.MEASURED,) * rows,
            notes=((),) * rows,
            relative_to=("",) * rows,
            relative_log_sd=nothing,
            sources=sources,
            weights=np.zeros((rows, len(sources), *columns)),
            free_ms=nothing,
            launch_ms=nothing,
            members={},
        )

    @property
    def known(self) -> np.ndarray:
        """Whether a latency is known, boolean of the same shape."""
        return ~np.isnan(self.latency_ms)

    def rows(self, offers: Iterable[tuple[Instance, int]]) -> dict[str, int]:
        """Instance -> its row: one of its own, else the one of all with its GPU and host."""
        own = {target.instance: row for row, target in enumerate(self.targets) if target.instance}
        return {offer.name: own.get(offer.name, row) for offer, row in offers}

    def with_rows(self, at: Sequence[int], **values: Any) -> Self:
        """Replace values of some rows: a sequence, or an array whose first axis is `at`."""
        changed: dict[str, Any] = {}
        for name, new in values.items():
            old = getattr(self, name)
            if isinstance(old, tuple):
                rows = list(old)
                for row, value in zip(at, new, strict=True):
                    rows[row] = value
                changed[name] = tuple(rows)
            else:
                changed[name] = old.copy()
                changed[name][at] = new
        return replace(self, **changed)

    def take(self, rows: Sequence[int]) -> Self:
        """A table of these rows, in this order; -1 stands for a row of which nothing is known."""
        missing = np.array(rows, int) < 0
        values: dict[str, Any] = {name: getattr(self, name)[rows] for name in ARRAYS}
        for name in ARRAYS:
            values[name][missing] = 0.0 if name == "weights" else np.nan
        members = {name: one[rows] for name, one in self.members.items()}
        for one in members.values():
            one[missing] = np.nan
        values |= {name: tuple(getattr(self, name)[row] for row in rows) for name in ("targets", *TUPLES)}
        return replace(self, **values, members=members)

    def column(self, number: int) -> Self:
        """The rows of one profile or size, by its index."""
        columns = {name: getattr(self, name)[..., number] for name in ARRAYS}
        return replace(self, **columns, members={name: values[:, number] for name, values in self.members.items()})

    def merged(self, other: Self, rows: np.ndarray) -> Self:
        """`other`'s values in the rows where a boolean array is True; both tables have the same targets."""
        at = np.flatnonzero(rows).tolist()
        if not at:
            return self
        values: dict[str, Any] = {name: getattr(other, name)[at] for name in ARRAYS}
        values |= {name: [getattr(other, name)[row] for row in at] for name in TUPLES}
        found = self.with_rows(at, **values)
        wide = rows.reshape(-1, *(1,) * (self.latency_ms.ndim - 1))
        members = {
            name: np.where(wide, other.members.get(name, np.nan), self.members.get(name, np.nan))
            for name in {**self.members, **other.members}
        }
        return replace(found, members=members)

    def widened(self, log_sd: Values) -> Self:
        """Add an independent error to every latency, and to its ratio to another instance's."""
        return replace(
            self,
            log_sd=combined_sd(np.nan_to_num(self.log_sd), log_sd),
            relative_log_sd=combined_sd(self.relative_log_sd, log_sd),
        )

    def estimates(self) -> list[Estimate]:
        """The rows of one profile and size as records."""
        arrays = self.latency_ms, self.log_sd, self.free_ms, self.launch_ms, self.relative_log_sd
        columns = [np.where(np.isnan(values), _NONE, values).tolist() for values in arrays]
        found = []
        for row, (latency_ms, log_sd, free_ms, launch_ms, relative_log_sd) in enumerate(zip(*columns, strict=True)):
            other = self.relative_to[row]
            found.append(
                Estimate(
                    latency_ms=latency_ms,
                    log_sd=log_sd,
                    basis=self.basis[row],
                    notes=self.notes[row],
                    relative=Relative(other, relative_log_sd) if other else None,
                    parts=None if free_ms is None else LatencyParts(free_ms, launch_ms),
                )
            )
        return found


_NONE = np.array(None)
#: Attributes with a value in every cell, and in every row.
ARRAYS = ("latency_ms", "log_sd", "relative_log_sd", "weights", "free_ms", "launch_ms")
TUPLES = ("basis", "notes", "relative_to")


@dataclass(frozen=True, slots=True)
class InstancePrediction(StepTime):
    """Row of one instance.

    The basis is "given" for the anchor, whose latency is None if not given, and for a latency that the user measured;
    "measured" for an instance profiled for the training data; "transferred" for one with an unprofiled GPU,
    "calibrated" if some of its steps were measured.

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


#: Name of a distance band -> phrase that compares the profile with the training data.
_PHRASES = dict(
    zip(BAND_WORDS, ("similar to", "somewhat different from", "not similar to", "very different from"), strict=True)
)


@dataclass(frozen=True, slots=True)
class Similarity:
    """Similarity of a profile to the training data.

    Attributes
    ----------
    distance : to the nearest training profile, in the space of class shares.
    words : "like the training data", "unlike", ...
    error_percent : mean error on held-out architectures at this distance.
    """

    distance: float
    words: str
    error_percent: float

    @property
    def is_dissimilar(self) -> bool:
        """Whether the distance warrants a warning."""
        return self.words in BAND_WORDS[2:]

    @property
    def phrase(self) -> str:
        """Phrase before "the training data" in a sentence."""
        return _PHRASES[self.words]

    @property
    def error_words(self) -> str:
        """The mean error as a phrase; the farthest band is open, so its mean error is a lower bound."""
        least = "at least " if self.words == BAND_WORDS[-1] else ""
        return f"{least}{self.error_percent:.0f}%"


@dataclass(frozen=True)
class Prediction:
    """Step latencies of one profiled network on the anchor and on every target.

    Attributes
    ----------
    anchor : where the profile was recorded; a GPU without an offer has no row.
    profile : with its known sizes and the number of steps used for the prediction.
    table : steps by GPU and host.
    offers : each offer, and the table's row of all offers with its GPU and host.
    precision : of all rows: "fp32", "tf32", "amp" or "bf16"; "as profiled" for each GPU's default of FP32 or TF32.
    read_by : profiled instance whose models read the profile, if not the anchor; else empty.
    """

    anchor: str
    anchor_latency_ms: float | None
    method: str
    profile: Profile = field(compare=False)
    table: StepTable = field(compare=False)
    offers: tuple[tuple[Instance, int], ...]
    interval_level: float | None
    unknown_operations: UnknownOperations
    similarity: Similarity | None
    warnings: tuple[Note, ...]
    read_by: str = ""
    precision: str = AS_PROFILED

    @property
    def steps(self) -> int:
        """Number of training steps in the profile's file."""
        return self.profile.steps

    @property
    def steps_basis(self) -> StepsBasis:
        """How the number of steps was determined."""
        return self.profile.steps_basis

    @property
    def batch_size(self) -> int | None:
        """Batch size of the profile; None if unknown."""
        return self.profile.meta.batch_size

    @property
    def pixels(self) -> int | None:
        """Height and width of the profile's images; None if unknown."""
        return self.profile.meta.pixels

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Batch size and pixels of the profile."""
        return self.batch_size, self.pixels

    def is_at(self, batch_size: int, pixels: int | None) -> bool:
        """Whether the profile was recorded at these sizes; pixels None: any pixel size."""
        return self.batch_size == batch_size and (pixels is None or self.pixels == pixels)

    @property
    def size_words(self) -> str:
        """'batch 64' or 'batch 64, 224 pixels'."""
        pixels = "" if self.pixels is None else f", {self.pixels} pixels"
        return f"batch {self.batch_size}{pixels}"

    @cached_property
    def predictions(self) -> tuple[InstancePrediction, ...]:
        """One row per offer, the anchor's first."""
        return offer_rows(self.table, self.offers)

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> latency, for all rows with one."""
        latencies_ms, known = self.table.latency_ms.tolist(), self.table.known.tolist()
        return {name: latencies_ms[row] for name, row in self.table.rows(self.offers).items() if known[row]}

    def to_frame(self) -> Any:
        """One row per instance, as a `pandas.DataFrame`: offer, latency, interval, cost."""
        return rows_frame(self.predictions)


def offer_rows(table: StepTable, offers: Sequence[tuple[Instance, int]]) -> tuple[InstancePrediction, ...]:
    """Join steps with offers: each offer with its row of the table."""
    steps = table.estimates()
    nothing: dict[str, float] = {}
    members: dict[int, dict[str, float]] = {}
    for name, values in table.members.items():
        for row in np.flatnonzero(~np.isnan(values)).tolist():
            members.setdefault(row, {})[name] = values.item(row)
    rows = zip(offers, table.rows(offers).values(), strict=True)
    return tuple(InstancePrediction(one.name, steps[row], one, members.get(row, nothing)) for (one, _), row in rows)


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


#: Rows of nodes are many.
_NODE_PRICES = {gpus: Note(Code.NODE_PRICE, gpus=gpus) for gpus in (2, 4, 8, 16)}
