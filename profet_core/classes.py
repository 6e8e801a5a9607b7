"""Groups a profile's operations by what they do, and repairs profiles that TensorFlow cut short."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from types import MappingProxyType

import numpy as np
from rapidfuzz.distance import Levenshtein

from profet_core.features import (
    NO_UNKNOWN_OPERATIONS,
    UnknownOperations,
    placement_sums,
    report_unknown,
    rows_by_operations,
)
from profet_core.profiles.record import DEVICE_PREFIX, IDLE_OPERATIONS, Profile
from profet_core.units import US_PER_MS

#: An operation that is not in the table goes to the class of the most similar name, if at most this share of its
#: letters differ ("Conv3D" and "Conv2D": 1 of 6).
NEAR_SHARE = 0.35

#: Classes that are treated apart: time without a kernel, and copies between host and GPU.
IDLE, COPY = "idle", "copy"

#: Every step runs bookkeeping operations of a few microseconds (a counter, a cast). They are the first to go where
#: TensorFlow keeps the 500 costliest, so a profile that still has an operation type below this is complete. In the
#: training data cut profiles have none below 21 us; complete ones mostly have some below 3 us.
CHEAP_MS = 0.010


@dataclass(frozen=True)
class ClassTimes:
    """Times of many profiles by operation class, milliseconds.

    Attributes
    ----------
    times_ms : (profiles, classes); device classes first.
    unknown_ms : (profiles,), device time of operations that resemble nothing known; not part of `times_ms`.
    host_total_ms : (profiles,), all host rows, idle included.
    truncated : (profiles,), True if operations that every classifier's training step has are absent, and every cheap
        one too.
    severely : (profiles,), True if even the loss, a costly operation, is absent.
    steps : (profiles,), training steps that the times are the mean of.
    """

    times_ms: np.ndarray
    unknown_ms: np.ndarray
    host_total_ms: np.ndarray
    truncated: np.ndarray
    severely: np.ndarray
    steps: np.ndarray


@dataclass(frozen=True)
class OperationClasses:
    """The table of operation classes: knowledge about TensorFlow's operations, not learned from data.

    Attributes
    ----------
    device, host : class name -> its operations, with their prefix.
    """

    device: Mapping[str, tuple[str, ...]]
    host: Mapping[str, tuple[str, ...]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every class in order, device classes first."""
        return (*self.device, *self.host)

    @cached_property
    def columns(self) -> Mapping[str, int]:
        """Column of every operation in the table."""
        classes = [*self.device.values(), *self.host.values()]
        return MappingProxyType({name: column for column, names in enumerate(classes) for name in names})

    def place(self, operations: Sequence[str]) -> dict[str, int | None]:
        """Column of each operation: its class, or for a device operation outside the table that of a near name."""
        return {name: self.columns[name] if name in self.columns else self._nearest(name) for name in operations}

    def sums(self, placed: Mapping[str, int | None]) -> np.ndarray:
        """Which operation adds to which class: 0 or 1, shape (operations, classes)."""
        return placement_sums(placed, len(self.names))

    def encode_table(
        self,
        operations: Sequence[str],
        times_us: np.ndarray,
        steps: np.ndarray | int,
        may_be_cut: np.ndarray | bool = True,
    ) -> ClassTimes:
        """Class times of profiles that name the same operations.

        Parameters
        ----------
        times_us : (profiles, operations), microseconds of one step.
        steps : (profiles,), or one number for all: steps that each profile's times are the mean of.
        may_be_cut : (profiles,), or one for all: False for whole traces, which need no repair.
        """
        placed = self.place(operations)
        device = np.array([name.startswith(DEVICE_PREFIX) for name in operations])
        unknown = device & np.array([column is None for column in placed.values()])
        times_ms = times_us / US_PER_MS
        present = {name: times_ms[:, index] > 0 for index, name in enumerate(operations)}
        nowhere = np.zeros(len(times_us), bool)
        end_of_step = [present.get(DEVICE_PREFIX + name, nowhere) for name in ("MatMul", "Softmax", "ArgMax")]
        busy = times_ms[:, device & np.array([name not in IDLE_OPERATIONS for name in operations])]
        cheapest = np.where(busy > 0, busy, np.inf).min(axis=1, initial=np.inf)
        truncated = ~np.any(end_of_step, axis=0) & (cheapest > CHEAP_MS) & may_be_cut
        loss = present.get(DEVICE_PREFIX + "SoftmaxCrossEntropyWithLogits", nowhere)
        return ClassTimes(
            times_ms=times_ms @ self.sums(placed),
            unknown_ms=times_ms[:, unknown].sum(axis=1),
            host_total_ms=times_ms[:, ~device].sum(axis=1),
            truncated=truncated,
            severely=truncated & ~loss,
            steps=np.broadcast_to(np.asarray(steps, float), len(times_us)).copy(),
        )

    def encode(self, profiles: Sequence[Profile]) -> tuple[ClassTimes, list[UnknownOperations]]:
        """Class times of any profiles, and for each what was done with operations outside the table."""
        unknown = [NO_UNKNOWN_OPERATIONS] * len(profiles)
        parts: list[tuple[list[int], ClassTimes]] = []
        for names, rows in rows_by_operations(profiles).items():
            times_us = np.array([list(profiles[row].operations.values()) for row in rows])
            steps = np.array([profiles[row].steps for row in rows])
            may_be_cut = np.array([profiles[row].may_be_cut for row in rows])
            parts.append((rows, self.encode_table(names, times_us, steps, may_be_cut)))
            placed = self.place(names)
            unseen = [
                n for n in names if n not in self.columns and n.startswith(DEVICE_PREFIX) and n not in IDLE_OPERATIONS
            ]
            for row in rows if unseen else ():
                unknown[row] = report_unknown(profiles[row], unseen, placed, self.names)
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        joined = {
            name: np.concatenate([getattr(part, name) for _, part in parts])[order]
            for name in ClassTimes.__dataclass_fields__
        }
        return ClassTimes(**joined), unknown

    def _nearest(self, operation: str) -> int | None:
        if not operation.startswith(DEVICE_PREFIX):
            return None
        name = operation.removeprefix(DEVICE_PREFIX)
        known = [other for other in self.columns if other.startswith(DEVICE_PREFIX)]
        distances = [Levenshtein.distance(name, other.removeprefix(DEVICE_PREFIX)) for other in known]
        nearest = int(np.argmin(distances))
        return self.columns[known[nearest]] if distances[nearest] <= NEAR_SHARE * len(name) else None


@cache
def load_operation_classes() -> OperationClasses:
    """The shipped table, `operation_classes.csv`; read once, as it never changes."""
    text = resources.files("profet_core").joinpath("operation_classes.csv").read_text(encoding="utf-8")
    table: dict[str, list[str]] = {}
    for row in csv.DictReader(text.splitlines()):
        table.setdefault(row["class"], []).append(row["operation"])
    device = {name: tuple(ops) for name, ops in table.items() if ops[0].startswith(DEVICE_PREFIX)}
    host = {name: tuple(ops) for name, ops in table.items() if name not in device}
    return OperationClasses(MappingProxyType(device), MappingProxyType(host))
