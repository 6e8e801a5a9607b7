"""Sums operations to classes, the default method's inputs; imputes truncated profiles."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from profet_core.ensemble.operations import (
    NO_UNKNOWN_OPERATIONS,
    OperationKind,
    UnknownOperations,
    column_sums,
    is_set_aside,
    kind_of,
    load_operation_kinds,
    report_unknown,
    same_operations,
)
from profet_core.shipped import shipped_text
from profet_profiles.record import DEVICE_PREFIX, IDLE_OPERATIONS, Profile
from profet_profiles.units import US_PER_MS

# TensorFlow's statistics keep the 500 costliest operations. In a complete profile the device rows, including idle, add
# up to the step. The rows of each host thread add up to the steps it took part in, so in a profile of two steps they
# are a multiple of half a step. A profile is truncated if it lacks the operations of every classifier's training step
# (matrix product, softmax, arg max) and every cheap one. Its host rows still give the step duration for a guessed
# number of threads, and thus the missing device time.

#: Candidate numbers of host threads (a thread may take part in one of two steps), and the excess of host rows over
#: threads x step in complete profiles.
THREADS = np.arange(2, 8) / 2
HOST_EXCESS = 1.03
#: Prior probability that the retained share of device time is near 1 (mildly and severely truncated profiles);
#: otherwise it is anywhere between the bounds.
NEAR_COMPLETE = {"mild": 0.85, "severe": 0.15}
KEPT_NEAR, KEPT_CUT = (0.93, 1.01), (0.50, 0.93)
#: A profiled step takes slightly longer than an unprofiled one: mean and standard deviation of the log ratio.
PROFILING_LOG, PROFILING_LOG_SD = 0.05, 0.10
MAX_PROFILED_OVER_LATENCY = 1.35
MAX_FACTOR = 2.0


def repair_factor(
    device_total_ms: np.ndarray,
    idle_ms: np.ndarray,
    host_total_ms: np.ndarray,
    truncated: np.ndarray,
    severely: np.ndarray,
    latency_ms: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Factor for each profile's busy device time, with its uncertainty.

    Returns
    -------
    factor : (profiles,), 1 for complete profiles.
    doubt : (profiles,), standard deviation of the logarithm of the step over the thread counts, 0 for complete ones.

    All arguments have shape (profiles,); times are per step. `latency_ms` is the anchor's measured latency, None if
    unknown.
    """
    if not truncated.any():
        return np.ones(len(truncated)), np.zeros(len(truncated))
    step_ms = host_total_ms[:, None] / THREADS / HOST_EXCESS
    kept = np.divide(device_total_ms[:, None], step_ms, out=np.full(step_ms.shape, np.inf), where=step_ms > 0)
    near = np.where(severely, NEAR_COMPLETE["severe"], NEAR_COMPLETE["mild"])[:, None]
    weight = (
        near / np.ptp(KEPT_NEAR) * ((kept > KEPT_NEAR[0]) & (kept <= KEPT_NEAR[1]))
        + (1 - near) / np.ptp(KEPT_CUT) * ((kept > KEPT_CUT[0]) & (kept <= KEPT_CUT[1]))
        + 1e-9
    )
    log_step = np.log(np.maximum(step_ms, 1e-9))
    if latency_ms is not None:
        deviation = (log_step - np.log(latency_ms)[:, None] - PROFILING_LOG) / PROFILING_LOG_SD
        weight = weight * (np.exp(-(deviation**2) / 2) + 1e-6)
    weight /= weight.sum(axis=1, keepdims=True)
    mean = (weight * log_step).sum(axis=1)
    doubt = np.sqrt((weight * (log_step - mean[:, None]) ** 2).sum(axis=1))
    step = np.exp(mean)
    if latency_ms is not None:
        step = np.clip(step, latency_ms, MAX_PROFILED_OVER_LATENCY * latency_ms)
    busy_ms = np.maximum(device_total_ms - idle_ms, 1e-9)
    factor = np.clip((step - idle_ms) / busy_ms, 1.0, MAX_FACTOR)
    repaired = truncated & (host_total_ms > 0) & (device_total_ms > idle_ms)
    return np.where(repaired, factor, 1.0), np.where(repaired, doubt, 0.0)


#: An operation of a kind absent from the training data is reported if it takes at least this share of busy time: its
#: class has the same bottleneck, but was fitted on other operations.
NOTABLE_SHARE = 0.01

#: The classes of time without a kernel, and of copies from the host.
IDLE_CLASS, COPY_CLASS = "idle", "copy"

#: Every step runs bookkeeping operations of a few microseconds (a counter, a cast). TensorFlow keeps the 500 costliest
#: operations, so these are dropped first, and a profile with an operation type below this is complete. In the training
#: data truncated profiles have none below 21 us; complete ones mostly have some below 3 us.
CHEAP_MS = 0.010
#: Operations that end every classifier's step, and the loss.
_END_OF_STEP = tuple(DEVICE_PREFIX + name for name in ("MatMul", "Softmax", "ArgMax"))
_LOSS = DEVICE_PREFIX + "SoftmaxCrossEntropyWithLogits"


class ClassTimes(Struct, frozen=True):
    """Times of many profiles by operation class, milliseconds.

    Attributes
    ----------
    times_ms : (profiles, classes); device classes first.
    unknown_ms : (profiles,), device time of operations of unknown kind. It is not part of `times_ms`. Communication
        between GPUs is in neither.
    host_total_ms : (profiles,), all host rows, including idle.
    truncated : (profiles,), True if the operations that every classifier's training step has are absent, and every
        cheap one too.
    severely : (profiles,), True if even the loss, a costly operation, is absent.
    """

    times_ms: np.ndarray
    unknown_ms: np.ndarray
    host_total_ms: np.ndarray
    truncated: np.ndarray
    severely: np.ndarray


#: Lists of operations that are kept.
_MAX_KEPT = 32


class _Table(Struct, frozen=True):
    """Where the times of a list of operations belong.

    Attributes
    ----------
    sums : (operations, classes), 0 or 1.
    host, busy, unknown : (operations,) boolean; `busy` and `unknown` on the GPU.
    end_of_step, loss : indices.
    """

    sums: np.ndarray
    host: np.ndarray
    busy: np.ndarray
    unknown: np.ndarray
    end_of_step: list[int]
    loss: list[int]


class OperationClasses(Struct, frozen=True, dict=True):
    """Table of operation classes: facts about TensorFlow's operations, not learned from data.

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
        """Column of each operation: its class, or for a device operation outside the table the class of its kind."""
        column_of: dict[str, int | None] = {}
        for name in operations:
            column = self.columns.get(name)
            if column is None and name.startswith(DEVICE_PREFIX):
                kind = kind_of(name)
                column = self.names.index(kind.operation_class) if kind and kind.operation_class else None
            column_of[name] = column
        return column_of

    def stands_in(self, operation: str) -> bool:
        """Whether the class of a device operation had none of its kind in training."""
        return operation not in self.columns and kind_of(operation) not in self._served

    @cached_property
    def _served(self) -> frozenset[OperationKind]:
        """Kinds of the training operations in their classes."""
        kinds = {(kind_of(name), group) for group, names in self.device.items() for name in names}
        return frozenset(kind for kind, group in kinds if kind and kind.operation_class == group)

    def encode_table(
        self, operations: Sequence[str], times_us: np.ndarray, may_be_cut: np.ndarray | bool = True
    ) -> ClassTimes:
        """Class times of profiles with the same operations.

        Parameters
        ----------
        times_us : (profiles, operations), microseconds of one step.
        may_be_cut : (profiles,), or one for all: False for whole traces, which need no imputation.
        """
        key = tuple(operations)
        table = self._tables.get(key)
        if table is None:
            table, shipped = self._read(key), load_operation_kinds().shipped
            # Kept, because one profile is predicted many times; not with names that only an uploaded file has.
            if all(name in self.columns or name in shipped for name in key):
                if len(self._tables) == _MAX_KEPT:
                    self._tables.clear()
                self._tables[key] = table
        times_ms = times_us / US_PER_MS
        busy_ms = times_ms[:, table.busy]
        cheapest = np.where(busy_ms > 0, busy_ms, np.inf).min(axis=1, initial=np.inf)
        ended = (times_ms[:, table.end_of_step] > 0).any(axis=1)
        truncated = ~ended & (cheapest > CHEAP_MS) & may_be_cut
        return ClassTimes(
            times_ms=times_ms @ table.sums,
            unknown_ms=times_ms[:, table.unknown].sum(axis=1),
            host_total_ms=times_ms[:, table.host].sum(axis=1),
            truncated=truncated,
            severely=truncated & ~(times_ms[:, table.loss] > 0).any(axis=1),
        )

    @cached_property
    def _tables(self) -> dict[tuple[str, ...], _Table]:
        return {}

    def _read(self, operations: Sequence[str]) -> _Table:
        column_of = self.place(operations)
        device = np.array([name.startswith(DEVICE_PREFIX) for name in operations], bool)
        nowhere = np.array([column_of[name] is None and not is_set_aside(name) for name in operations], bool)
        return _Table(
            sums=column_sums(column_of, len(self.names)),
            host=~device,
            busy=device & np.array([name not in IDLE_OPERATIONS for name in operations], bool),
            unknown=device & nowhere,
            end_of_step=[at for at, name in enumerate(operations) if name in _END_OF_STEP],
            loss=[at for at, name in enumerate(operations) if name == _LOSS],
        )

    def encode(self, profiles: Sequence[Profile]) -> tuple[ClassTimes, list[UnknownOperations]]:
        """Class times of any profiles, and the handling of operations outside the table for each."""
        count = len(profiles)
        times = ClassTimes(np.zeros((count, len(self.names))), *np.zeros((2, count)), *np.zeros((2, count), bool))
        unknown = [NO_UNKNOWN_OPERATIONS] * count
        for names, rows, times_us in same_operations(profiles):
            part = self.encode_table(names, times_us, np.array([profiles[row].may_be_cut for row in rows]))
            for name in ClassTimes.__struct_fields__:
                getattr(times, name)[rows] = getattr(part, name)
            outside = [name for name in names if name.startswith(DEVICE_PREFIX) and name not in self.columns]
            column_of = self.place(outside) if outside else {}
            for row in rows if outside else ():
                # Outside the table: of unknown kind, or of a new one that takes a notable time.
                least_us, us = NOTABLE_SHARE * profiles[row].busy_total_us, profiles[row].operations
                notable = [
                    name
                    for name, column in column_of.items()
                    if column is None or (us[name] >= least_us and self.stands_in(name))
                ]
                unknown[row] = report_unknown(profiles[row], notable, column_of, self.names)
        return times, unknown


@cache
def load_operation_classes() -> OperationClasses:
    """Load the shipped table, `operation_classes.csv`; read once, because it never changes."""
    text = shipped_text("ensemble/operation_classes.csv")
    table: dict[str, list[str]] = {}
    for row in csv.DictReader(text.splitlines()):
        table.setdefault(row["class"], []).append(row["operation"])
    device = {name: tuple(ops) for name, ops in table.items() if ops[0].startswith(DEVICE_PREFIX)}
    host = {name: tuple(ops) for name, ops in table.items() if name not in device}
    return OperationClasses(MappingProxyType(device), MappingProxyType(host))
