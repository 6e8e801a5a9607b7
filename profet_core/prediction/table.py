"""One step on many GPUs as a table of arrays, which every stage of a prediction takes and returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.errors import Note
from profet_core.latency import Basis, Estimate, FloatArray, LatencyParts, Relative, Values, combined_sd
from profet_core.transfer.targets import Host


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
