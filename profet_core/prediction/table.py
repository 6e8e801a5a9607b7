"""One step on many GPUs: the table of arrays that each stage of a prediction takes and returns; rows by offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog import Instance
from profet_core.catalog.gpus import AS_PROFILED, Gpu, Host
from profet_core.ensemble.members import BAND_WORDS
from profet_core.ensemble.operations import UnknownOperations
from profet_core.errors import Note
from profet_core.latency import Basis, FloatArray, Values, combined_sd
from profet_core.offers import OfferTable, is_limited_by_host, taken
from profet_profiles.record import Profile, StepsBasis

T = TypeVar("T")


class StepTarget(NamedTuple):
    """What a step runs on: any machine with this GPU and host, or one `instance` whose own steps are known.

    Such instances are the anchor and the profiled ones; "" stands for all others.
    """

    gpu: Gpu
    host: Host
    instance: str = ""


class StepTable(Struct, frozen=True, eq=False):
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
    free_ms, launch_ms : parts of a latency by rates, which is their smooth maximum: without the host's limit, and what
        the host's launches bound it to; NaN if it has none.
    members : ensemble member -> its latencies.
    """

    targets: tuple[StepTarget, ...]
    latency_ms: FloatArray
    log_sd: FloatArray
    basis: tuple[Basis, ...]
    notes: tuple[tuple[Note, ...], ...]
    relative_to: tuple[str, ...]
    relative_log_sd: FloatArray
    free_ms: FloatArray
    launch_ms: FloatArray
    members: Mapping[str, FloatArray]

    @classmethod
    def unknown(cls, targets: tuple[StepTarget, ...], *columns: int) -> StepTable:
        """Make a table without latencies; `columns`: number of profiles or sizes."""
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

    def with_rows(
        self,
        at: Sequence[int],
        *,
        latency_ms: Values | None = None,
        log_sd: Values | None = None,
        basis: Sequence[Basis] | None = None,
        notes: Sequence[tuple[Note, ...]] | None = None,
        relative_to: Sequence[str] | None = None,
        relative_log_sd: Values | None = None,
        free_ms: Values | None = None,
        launch_ms: Values | None = None,
    ) -> Self:
        """Replace values of the rows `at`; of an array, the first axis is these rows. None: as they are."""
        return replace(
            self,
            latency_ms=_with(self.latency_ms, at, latency_ms),
            log_sd=_with(self.log_sd, at, log_sd),
            basis=_with_each(self.basis, at, basis),
            notes=_with_each(self.notes, at, notes),
            relative_to=_with_each(self.relative_to, at, relative_to),
            relative_log_sd=_with(self.relative_log_sd, at, relative_log_sd),
            free_ms=_with(self.free_ms, at, free_ms),
            launch_ms=_with(self.launch_ms, at, launch_ms),
        )

    def slowed(self, factor: float, log_sd: float) -> Self:
        """Return steps that take so many times as long, measured ones too, with that error more."""
        given = [Basis.SCALED if basis is Basis.GIVEN else basis for basis in self.basis]
        return replace(
            self,
            latency_ms=factor * self.latency_ms,
            free_ms=factor * self.free_ms,
            launch_ms=factor * self.launch_ms,
            log_sd=combined_sd(self.log_sd, log_sd),
            relative_log_sd=combined_sd(self.relative_log_sd, log_sd),
            basis=tuple(given),
            members={name: factor * values for name, values in self.members.items()},
        )

    def take(self, rows: Sequence[int]) -> Self:
        """Return a table of these rows, in this order; -1 stands for a row of which nothing is known."""
        return replace(
            self,
            targets=tuple(self.targets[row] for row in rows),
            latency_ms=taken(self.latency_ms, rows),
            log_sd=taken(self.log_sd, rows),
            basis=tuple(self.basis[row] for row in rows),
            notes=tuple(self.notes[row] for row in rows),
            relative_to=tuple(self.relative_to[row] for row in rows),
            relative_log_sd=taken(self.relative_log_sd, rows),
            free_ms=taken(self.free_ms, rows),
            launch_ms=taken(self.launch_ms, rows),
            members={name: taken(values, rows) for name, values in self.members.items()},
        )

    def column(self, number: int) -> Self:
        """Return the rows of one profile or size, by its index."""
        return replace(
            self,
            latency_ms=self.latency_ms[:, number],
            log_sd=self.log_sd[:, number],
            relative_log_sd=self.relative_log_sd[:, number],
            free_ms=self.free_ms[:, number],
            launch_ms=self.launch_ms[:, number],
            members={name: values[:, number] for name, values in self.members.items()},
        )

    def merged(self, other: Self, rows: np.ndarray) -> Self:
        """`other`'s values in the rows where a boolean array is True; both tables have the same targets."""
        at = np.flatnonzero(rows).tolist()
        if not at:
            return self
        wide = rows.reshape(-1, *(1,) * (self.latency_ms.ndim - 1))
        table = self.with_rows(
            at,
            latency_ms=other.latency_ms[at],
            log_sd=other.log_sd[at],
            basis=[other.basis[row] for row in at],
            notes=[other.notes[row] for row in at],
            relative_to=[other.relative_to[row] for row in at],
            relative_log_sd=other.relative_log_sd[at],
            free_ms=other.free_ms[at],
            launch_ms=other.launch_ms[at],
        )
        members = {
            name: np.where(wide, other.members.get(name, np.nan), self.members.get(name, np.nan))
            for name in {**self.members, **other.members}
        }
        return replace(table, members=members)


def _with(values: FloatArray, at: Sequence[int], new: Values | None) -> FloatArray:
    if new is None:
        return values
    changed = values.copy()
    changed[at] = new
    return changed


def _with_each(values: tuple[T, ...], at: Sequence[int], new: Sequence[T] | None) -> tuple[T, ...]:
    if new is None:
        return values
    changed = list(values)
    for row, value in zip(at, new, strict=True):
        changed[row] = value
    return tuple(changed)


#: Name of a distance band -> phrase that compares the profile with the training data.
_PHRASES = dict(
    zip(BAND_WORDS, ("similar to", "somewhat different from", "not similar to", "very different from"), strict=True)
)


class Similarity(Struct, frozen=True):
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


class SizedSteps(Protocol):
    """Steps of a prediction's network at other sizes, as `prediction.counts` makes them."""

    @property
    def asked(self) -> Any:
        """The recorded step's sizes, in the precision and code of the answer."""

    @property
    def recorded(self) -> Any:
        """The recorded step."""

    @property
    def others(self) -> Any:
        """The same step on other profiled GPUs, as it is predicted there."""

    @property
    def doubt(self) -> float:
        """Added to the uncertainty, for GPU time without an operation."""

    def sized(self, predictions: Sequence[Prediction]) -> Callable[[StepTable, int, int], StepTable]:
        """Return what makes a table of another size, by all recorded steps of the network."""


class Prediction(Struct, frozen=True, eq=False, dict=True):
    """Step latencies of one profiled network on the anchor and on every target.

    Attributes
    ----------
    anchor : where the profile was recorded; a GPU without an offer has no row.
    profile : with its known sizes and the number of steps used for the prediction.
    table : steps by GPU and host.
    offers : each offer, and the table's row of all offers with its GPU and host.
    by_counts : what the counts of its network say of other sizes; None: its network is unknown.
    checkpointing : whether activations are computed again in the backward pass.
    precision : of all rows: "fp32", "tf32", "amp" or "bf16"; "as profiled" for each GPU's default of FP32 or TF32.
    read_by : profiled instance whose models read the profile, if not the anchor; else empty.
    """

    anchor: str
    anchor_latency_ms: float | None
    method: str
    profile: Profile
    table: StepTable
    offers: tuple[tuple[Instance, int], ...]
    interval_level: float | None
    unknown_operations: UnknownOperations
    similarity: Similarity | None
    warnings: tuple[Note, ...]
    read_by: str = ""
    precision: str = AS_PROFILED
    checkpointing: bool = False
    by_counts: SizedSteps | None = None

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
    def predictions(self) -> OfferTable:
        """One row per offer, the anchor's first."""
        return offer_table(self.table, self.offers)

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> latency, for all rows with one."""
        latencies_ms, has_latency = self.table.latency_ms.tolist(), self.table.known.tolist()
        return {name: latencies_ms[row] for name, row in self.table.rows(self.offers).items() if has_latency[row]}

    def to_frame(self) -> Any:
        """One row per instance, as a `pandas.DataFrame`: offer, latency, interval, cost."""
        return self.predictions.to_frame()


def offer_table(table: StepTable, offers: Sequence[tuple[Instance, int]]) -> OfferTable:
    """Join steps of one profile and size with offers: each offer with its row of the table."""
    rows = list(table.rows(offers).values())
    return OfferTable(
        offers=tuple(offer for offer, _ in offers),
        latency_ms=table.latency_ms[rows],
        log_sd=table.log_sd[rows],
        basis=tuple(table.basis[row] for row in rows),
        notes=tuple(table.notes[row] for row in rows),
        least_ms=np.zeros(len(rows)),
        limited_by_host=is_limited_by_host(table.free_ms[rows], table.launch_ms[rows]),
        relative_to=tuple(table.relative_to[row] for row in rows),
        relative_log_sd=table.relative_log_sd[rows],
        gpus=np.ones(len(rows), int),
        scaling_log_sd=np.zeros(len(rows)),
        members={name: values[rows] for name, values in table.members.items()},
    )
