"""Groups a profile's operations by what they do, and repairs profiles that TensorFlow cut short."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from types import MappingProxyType

import numpy as np

from profet_core.operations.columns import column_sums, rows_by_operations, times_of
from profet_core.operations.kinds import Kind, is_set_aside, kind_of
from profet_core.operations.unknown import NO_UNKNOWN_OPERATIONS, UnknownOperations, report_unknown
from profet_core.profiles.record import DEVICE_PREFIX, IDLE_OPERATIONS, Profile
from profet_core.units import US_PER_MS

#: An operation of a kind that the training data lack is reported where it takes at least this share of the busy time:
#: the class that serves it is bound by the same, but was fitted on other operations.
NOTABLE_SHARE = 0.01

#: The classes of time without a kernel, and of what is copied from the host.
IDLE_CLASS, COPY_CLASS = "idle", "copy"

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
    unknown_ms : (profiles,), device time of operations of no known kind; not part of `times_ms`, and neither is
        communication between GPUs, which is part of nothing.
    host_total_ms : (profiles,), all host rows, idle included.
    truncated : (profiles,), True if operations that every classifier's training step has are absent, and every cheap
        one too.
    severely : (profiles,), True if even the loss, a costly operation, is absent.
    """

    times_ms: np.ndarray
    unknown_ms: np.ndarray
    host_total_ms: np.ndarray
    truncated: np.ndarray
    severely: np.ndarray


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
        """Column of each operation: its class, or for a device operation outside the table the one of its kind."""
        return {name: self.columns[name] if name in self.columns else self._by_kind(name) for name in operations}

    def stands_in(self, operation: str) -> bool:
        """Whether the class that serves a device operation held none of its kind in training."""
        return operation not in self.columns and kind_of(operation) not in self._served

    @cached_property
    def _served(self) -> frozenset[Kind]:
        """Kinds that training operations of the class which serves them are of."""
        found = {(kind_of(name), group) for group, names in self.device.items() for name in names}
        return frozenset(kind for kind, group in found if kind and kind.operation_class == group)

    def sums(self, placed: Mapping[str, int | None]) -> np.ndarray:
        """Which operation adds to which class: 0 or 1, shape (operations, classes)."""
        return column_sums(placed, len(self.names))

    def encode_table(
        self,
        operations: Sequence[str],
        times_us: np.ndarray,
        may_be_cut: np.ndarray | bool = True,
    ) -> ClassTimes:
        """Class times of profiles that name the same operations.

        Parameters
        ----------
        times_us : (profiles, operations), microseconds of one step.
        may_be_cut : (profiles,), or one for all: False for whole traces, which need no repair.
        """
        return self._encode_placed(self.place(operations), times_us, may_be_cut)

    def _encode_placed(
        self, placed: Mapping[str, int | None], times_us: np.ndarray, may_be_cut: np.ndarray | bool
    ) -> ClassTimes:
        operations = list(placed)
        device = np.array([name.startswith(DEVICE_PREFIX) for name in operations])
        unknown = device & np.array([column is None and not is_set_aside(name) for name, column in placed.items()])
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
        )

    def encode(self, profiles: Sequence[Profile]) -> tuple[ClassTimes, list[UnknownOperations]]:
        """Class times of any profiles, and for each what was done with operations outside the table."""
        unknown = [NO_UNKNOWN_OPERATIONS] * len(profiles)
        parts: list[tuple[list[int], ClassTimes]] = []
        for names, rows in rows_by_operations(profiles).items():
            may_be_cut = np.array([profiles[row].may_be_cut for row in rows])
            placed = self.place(names)
            parts.append((rows, self._encode_placed(placed, times_of(profiles, rows), may_be_cut)))
            outside = [name for name in names if name.startswith(DEVICE_PREFIX) and name not in self.columns]
            for row in rows if outside else ():
                # What has no class is of no kind that one serves: looking for it again would take most of the time.
                notable = _notable(profiles[row], outside, placed)
                notable = [name for name in notable if placed[name] is None or self.stands_in(name)]
                unknown[row] = report_unknown(profiles[row], notable, placed, self.names)
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        joined = {
            name: np.concatenate([getattr(part, name) for _, part in parts])[order]
            for name in ClassTimes.__dataclass_fields__
        }
        return ClassTimes(**joined), unknown

    def _by_kind(self, operation: str) -> int | None:
        kind = kind_of(operation) if operation.startswith(DEVICE_PREFIX) else None
        return None if kind is None or kind.operation_class is None else self.names.index(kind.operation_class)


def _notable(profile: Profile, outside: Sequence[str], placed: Mapping[str, int | None]) -> list[str]:
    """Of operations outside the table, those of no known kind, and those that take a notable time."""
    least_us = NOTABLE_SHARE * profile.busy_total_us
    return [name for name in outside if placed[name] is None or profile.operations[name] >= least_us]


@cache
def load_operation_classes() -> OperationClasses:
    """The shipped table, `operation_classes.csv`; read once, as it never changes."""
    text = resources.files("profet_core.operations").joinpath("operation_classes.csv").read_text(encoding="utf-8")
    table: dict[str, list[str]] = {}
    for row in csv.DictReader(text.splitlines()):
        table.setdefault(row["class"], []).append(row["operation"])
    device = {name: tuple(ops) for name, ops in table.items() if ops[0].startswith(DEVICE_PREFIX)}
    host = {name: tuple(ops) for name, ops in table.items() if name not in device}
    return OperationClasses(MappingProxyType(device), MappingProxyType(host))
