"""The offer table: one row per offer, with its step latency in columns. `training.plans` adds time and cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from profet_core.catalog.instance import Instance, frame_of, offer_cells
from profet_core.errors import Code, Note, line_of
from profet_core.latency import HOST_BOUND_SHARE, LEVEL, Basis, FloatArray, Interval, Values, quantile
from profet_profiles.units import MS_PER_S, S_PER_HOUR

_HOST_BOUND = Note(Code.HOST_BOUND)
#: Rows of nodes are many.
_NODE_PRICES = {gpus: Note(Code.NODE_PRICE, gpus=gpus) for gpus in (2, 4, 8, 16)}


def cost_usd(duration_ms: Values, usd_per_hour: Values) -> Values:
    """Cost of renting one instance for `duration_ms` milliseconds, US dollars.

    >>> cost_usd(3_600_000, usd_per_hour=1.5)
    1.5
    """
    return duration_ms / MS_PER_S / S_PER_HOUR * usd_per_hour


def bounds(latency_ms: Values, log_sd: Values, least_ms: Values = 0.0, level: float = LEVEL) -> tuple[Any, Any]:
    """Both ends of latencies' intervals at a level; the lower ones are at least `least_ms`.

    >>> [round(float(end), 6) for end in bounds(100.0, np.log(1.25) / quantile())]
    [80.0, 125.0]
    """
    factor = np.exp(quantile(level) * log_sd)
    return np.minimum(np.maximum(latency_ms / factor, least_ms), latency_ms), latency_ms * factor


def known_or_none(values: FloatArray, number: int) -> float | None:
    """One value of a column; None where it is unknown."""
    value = values.item(number)
    return None if math.isnan(value) else value


def taken(values: FloatArray, rows: Sequence[int]) -> FloatArray:
    """Values of these rows; NaN for -1."""
    at = np.array(rows, int)
    chosen: FloatArray = values[at]
    chosen[at < 0] = np.nan
    return chosen


Row = TypeVar("Row", covariant=True)
#: A record whose fields are columns.
Cells = TypeVar("Cells", bound=Struct)


@Sequence.register
class RowSequence(Struct, Generic[Row], frozen=True):
    """A table as a sequence of its rows, each made on access."""

    def __len__(self) -> int:
        raise NotImplementedError

    def row(self, number: int) -> Row:
        """One row."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Row]:
        return map(self.row, range(len(self)))

    @overload
    def __getitem__(self, number: int, /) -> Row: ...

    @overload
    def __getitem__(self, numbers: slice, /) -> list[Row]: ...

    def __getitem__(self, number: int | slice, /) -> Row | list[Row]:
        numbers = range(len(self))[number]
        return self.row(numbers) if isinstance(numbers, int) else list(map(self.row, numbers))


def rows_as(kind: type[Cells], columns: Mapping[str, Sequence[Any]]) -> list[Cells]:
    """Make a record of each row: its fields are columns of the table, whose NaN JSON has as null."""
    return [kind(*cells) for cells in zip(*(columns[name] for name in kind.__struct_fields__), strict=True)]


class RentedRow(Struct, frozen=True, forbid_unknown_fields=True):
    """What stands beside any number of an offer: whose it is, its GPUs, its price, and how old that is."""

    instance: str
    provider: str
    gpu: str
    gpu_count: int
    usd_per_hour: float
    usd_per_gpu_hour: float
    as_of: str
    price_note: str
    status: str


class StepRow(RentedRow, frozen=True):
    """The step on an instance."""

    latency_ms: float | None
    low_ms: float | None
    high_ms: float | None
    basis: Basis
    note: str
    cost_per_1000_steps_usd: float | None


class GpuRow(Struct, frozen=True, forbid_unknown_fields=True):
    """The step on a GPU that no offer has."""

    gpu: str
    latency_ms: float | None
    low_ms: float | None
    high_ms: float | None
    basis: Basis
    note: str


class OfferTable(RowSequence["OfferStep"], frozen=True, eq=False, kw_only=True, dict=True):
    """Step latencies on offers, a row each. Columns are arrays or tuples; NaN is unknown.

    Attributes
    ----------
    offers : each at its price.
    latency_ms : milliseconds per training step.
    log_sd : standard deviation of the latency's logarithm; 0 for a measurement.
    basis, notes : of each latency.
    least_ms : lower bound of its interval.
    limited_by_host : whether the host takes longer to launch the step than the GPU to compute it; such GPUs tie.
    relative_to, relative_log_sd : instance whose latency shares errors with the row's, "" for none, and the log
        standard deviation of the ratio of both.
    gpus : number that train; the price is of the whole machine.
    scaling_log_sd : the part of the error that is due to scaling to these GPUs.
    members : ensemble member -> its latencies.
    """

    offers: tuple[Instance, ...]
    latency_ms: FloatArray
    log_sd: FloatArray
    basis: tuple[Basis, ...]
    notes: tuple[tuple[Note, ...], ...]
    least_ms: FloatArray
    limited_by_host: np.ndarray
    relative_to: tuple[str, ...]
    relative_log_sd: FloatArray
    gpus: np.ndarray
    scaling_log_sd: FloatArray
    members: Mapping[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        offers: Sequence[Instance],
        latency_ms: Sequence[float] | FloatArray,
        log_sd: Sequence[float] | FloatArray,
        basis: Sequence[Basis],
    ) -> Self:
        """Return a table of latencies of which nothing else is known."""
        rows = len(offers)
        return cls(
            offers=tuple(offers),
            latency_ms=np.array(latency_ms, float),
            log_sd=np.array(log_sd, float),
            basis=tuple(basis),
            notes=((),) * rows,
            least_ms=np.zeros(rows),
            limited_by_host=np.zeros(rows, bool),
            relative_to=("",) * rows,
            relative_log_sd=np.full(rows, np.nan),
            gpus=np.ones(rows, int),
            scaling_log_sd=np.zeros(rows),
        )

    @classmethod
    def given(cls, offers: Sequence[Instance], latency_ms: Sequence[float]) -> Self:
        """Return a table of latencies that the user measured."""
        return cls.of(offers, latency_ms, np.zeros(len(offers)), [Basis.GIVEN] * len(offers))

    def take(self, rows: Sequence[int], offers: Sequence[Instance] | None = None) -> Self:
        """Return these rows in this order, -1 for one of which nothing is known; of other `offers` if given."""
        at = np.array(rows, int)
        missing = at < 0
        return replace(
            self,
            offers=tuple(self.offers[row] for row in rows) if offers is None else tuple(offers),
            latency_ms=taken(self.latency_ms, rows),
            log_sd=taken(self.log_sd, rows),
            basis=tuple(self.basis[row] for row in rows),
            notes=tuple(() if row < 0 else self.notes[row] for row in rows),
            least_ms=taken(self.least_ms, rows),
            limited_by_host=self.limited_by_host[at] & ~missing,
            relative_to=tuple("" if row < 0 else self.relative_to[row] for row in rows),
            relative_log_sd=taken(self.relative_log_sd, rows),
            gpus=np.where(missing, 1, self.gpus[at]),
            scaling_log_sd=self.scaling_log_sd[at],
            members={name: taken(values, rows) for name, values in self.members.items()},
        )

    @cached_property
    def is_given(self) -> np.ndarray:
        """Whether the user measured the latency."""
        return np.array([basis is Basis.GIVEN for basis in self.basis], bool)

    @cached_property
    def ends_ms(self) -> tuple[FloatArray, FloatArray]:
        """Both ends of the intervals at `LEVEL`; NaN where the latency is given, or the interval unknown."""
        return bounds(self.latency_ms, np.where(self.is_given, np.nan, self.log_sd), self.least_ms)

    @cached_property
    def usd_per_hour(self) -> FloatArray:
        """Price of the whole machine."""
        return np.array([offer.usd_per_hour for offer in self.offers])

    @cached_property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> latency, for all rows with one."""
        latencies = zip(self.offers, self.latency_ms.tolist(), strict=True)
        return {offer.name: latency_ms for offer, latency_ms in latencies if not math.isnan(latency_ms)}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Instance -> its row."""
        return {offer.name: number for number, offer in enumerate(self.offers)}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Columns of offer, latency, interval, cost of steps; NaN is unknown."""
        low_ms, high_ms = self.ends_ms
        # Most rows have no note.
        parts = zip(self.offers, self.notes, self.limited_by_host.tolist(), strict=True)
        has_note = [bool(notes) or limited or offer.gpu_count > 1 for offer, notes, limited in parts]
        return {
            **offer_cells(self.offers),
            "latency_ms": self.latency_ms.tolist(),
            "low_ms": low_ms.tolist(),
            "high_ms": high_ms.tolist(),
            "basis": self.basis,
            "note": [self.row(number).note if noted else "" for number, noted in enumerate(has_note)],
            "cost_per_1000_steps_usd": cost_usd(1000 * self.latency_ms, self.usd_per_hour).tolist(),
        }

    @property
    def member_cells(self) -> list[Mapping[str, float]]:
        """What each ensemble member says of a row, by its name."""
        columns = {name: values.tolist() for name, values in self.members.items()}
        return [
            {name: values[row] for name, values in columns.items() if not math.isnan(values[row])}
            for row in range(len(self))
        ]

    def to_frame(self) -> Any:
        """Return the table as a `pandas.DataFrame`: offer, latency, interval, cost."""
        return frame_of(self.columns())

    @property
    def gpu_rows(self) -> list[GpuRow]:
        """Its rows, of GPUs that no offer has, as JSON has them."""
        columns = self.columns()
        return rows_as(GpuRow, {**columns, "gpu": columns["instance"]})

    def __len__(self) -> int:
        return len(self.offers)

    def row(self, number: int) -> OfferStep:
        """One row."""
        return OfferStep(self, number)


class OfferStep(Struct, frozen=True):
    """One row of an offer table.

    The basis is "given" for the anchor, whose latency is None if not given, and for a latency that the user measured;
    "measured" for an instance profiled for the training data; "transferred" for one with an unprofiled GPU,
    "calibrated" if some of its steps were measured.
    """

    table: OfferTable
    number: int

    @property
    def offer(self) -> Instance:
        """The instance at its effective price."""
        return self.table.offers[self.number]

    @property
    def instance(self) -> str:
        """Name of the instance."""
        return self.offer.name

    @property
    def latency_ms(self) -> float | None:
        """Milliseconds per training step; None if unknown."""
        return known_or_none(self.table.latency_ms, self.number)

    @property
    def log_sd(self) -> float | None:
        """Standard deviation of the latency's logarithm; None if unknown."""
        return known_or_none(self.table.log_sd, self.number)

    @property
    def basis(self) -> Basis:
        """Basis of the latency."""
        return self.table.basis[self.number]

    @property
    def members(self) -> Mapping[str, float]:
        """Latency from each ensemble member, milliseconds."""
        values = ((name, column.item(self.number)) for name, column in self.table.members.items())
        return {name: value for name, value in values if not math.isnan(value)}

    @property
    def limited_by_host(self) -> bool:
        """Whether the host takes longer to launch the step than the GPU to compute it."""
        return bool(self.table.limited_by_host[self.number])

    @property
    def interval(self) -> Interval | None:
        """Interval at `LEVEL`; None if the latency is given, or if it is unknown."""
        low_ms, high_ms = (end.item(self.number) for end in self.table.ends_ms)
        return None if math.isnan(high_ms) else Interval(low_ms, high_ms)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats of the latency, and of the price of a machine with more GPUs than train."""
        notes, gpus = self.table.notes[self.number], self.offer.gpu_count
        if gpus == 1 or self.table.gpus[self.number] > 1:
            return notes
        return (*notes, _NODE_PRICES.get(gpus) or Note(Code.NODE_PRICE, gpus=gpus))

    @property
    def note(self) -> str:
        """Notes as one line; empty if there are none."""
        return line_of((_HOST_BOUND, *self.notes) if self.limited_by_host else self.notes)

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
        latency_ms = self.latency_ms
        return None if latency_ms is None else float(cost_usd(1000 * latency_ms, self.usd_per_hour))


def joined(rows: Sequence[OfferStep], offers: Sequence[Instance]) -> OfferTable:
    """Return a table of rows of other tables, each on one of `offers`, without what relates them to other instances."""
    latencies_ms = [row.table.latency_ms.item(row.number) for row in rows]
    log_sds = [row.table.log_sd.item(row.number) for row in rows]
    return replace(
        OfferTable.of(offers, latencies_ms, log_sds, [row.basis for row in rows]),
        notes=tuple(row.table.notes[row.number] for row in rows),
        limited_by_host=np.array([row.limited_by_host for row in rows], bool),
    )


def is_limited_by_host(free_ms: FloatArray, launch_ms: FloatArray) -> np.ndarray:
    """Whether a GPU twice as fast would hardly be faster, by the parts of a latency; False where they are unknown.

    Parameters
    ----------
    free_ms : milliseconds per step without the host's limit.
    launch_ms : what launches and copies by the host bound it to; 0 if unknown.

    >>> is_limited_by_host(np.array([9.0, 9.0, np.nan]), np.array([20.0, 2.0, np.nan])).tolist()
    [True, False, False]
    """
    limited: np.ndarray = launch_ms >= HOST_BOUND_SHARE * free_ms
    return limited
