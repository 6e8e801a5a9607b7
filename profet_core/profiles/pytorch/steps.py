"""Reduces the events of a PyTorch trace to the time per TensorFlow operation type of the mean step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from profet_core.profiles.pytorch.events import PyTorchEvents, Spans
from profet_core.profiles.pytorch.gpu import GpuSteps, busiest_gpu
from profet_core.profiles.pytorch.launches import Launches
from profet_core.profiles.pytorch.operations import (
    COPY,
    UNKNOWN,
    Kernel,
    Translation,
    kernel_of,
    load_translations,
    shares,
)
from profet_core.profiles.pytorch.optimizers import OPTIMIZER_STEP, update_operation
from profet_core.profiles.pytorch.step_count import StepBounds, find_steps
from profet_core.profiles.record import HOST_PREFIX, StepsBasis
from profet_core.profiles.traces.nested_times import gaps_us, in_nesting_order, self_times

#: What loads a library when it is called for the first time.
_LOADS_LIBRARIES = ("Conv2D", "MatMul", "FusedBatchNorm", "DepthwiseConv2d")


@dataclass(slots=True)
class StepTotals:
    """Totals of the mean step.

    Attributes
    ----------
    totals_us : "Device_Conv2D" -> microseconds.
    steps, basis : how many the trace covers, and how that is known.
    partial : steps that were left out because they are not complete.
    cold_us : length of the first step, which was left out because libraries started in it; None if it counts.
    kernels_us : kernel name -> microseconds, of all steps that count.
    dropped_us : time on the host of views, allocations and wrappers.
    unlinked_us : GPU time that no operation on the host started.
    communication_us : what communication between GPUs took beyond the computing.
    gpu, gpus : number of the GPU whose times these are (None without one), and how many worked.
    step_us : median length of a marked step on the host.
    window_us : length of the step on the GPU, idle time included.
    longest_us : the longest that one operation, which may load a library, kept the host.
    """

    totals_us: Counter[str] = field(default_factory=Counter)
    steps: int = 1
    basis: StepsBasis = "assumed"
    partial: int = 0
    cold_us: float | None = None
    kernels_us: dict[str, float] = field(default_factory=dict)
    dropped_us: float = 0.0
    unlinked_us: float = 0.0
    communication_us: float = 0.0
    gpu: int | None = None
    gpus: int = 0
    step_us: float | None = None
    window_us: float = 0.0
    longest_us: float = 0.0


def reduce_events(events: PyTorchEvents) -> StepTotals:
    """Self time per operation on the CPU's threads, kernels by the operation that started them, and idle times."""
    device, gpu, gpus = busiest_gpu(events)
    steps = find_steps(events, device)
    totals = StepTotals(steps=len(steps), basis=steps.basis, partial=steps.partial, gpu=gpu, gpus=gpus)
    host = _Host(events)
    work = GpuSteps(device, host.launches, steps)
    bounds = _closed(steps.bounds_us, host.span_us if host.threads else work.span_us)
    totals.cold_us = work.first_is_cold(bounds[0, 0])
    kept = np.ones(len(steps), bool)
    kept[0] = totals.cold_us is None
    host.add_up(totals, steps, kept)
    if len(device.keys):
        kernels = [kernel_of(name) for name in events.kernels]
        done = work.add_up(kept, bounds[:, 1] - bounds[:, 0], kernels, host)
        totals.totals_us.update(done.totals_us)
        totals.kernels_us, totals.unlinked_us, totals.window_us = done.kernels_us, done.unlinked_us, done.window_us
        totals.communication_us = done.communication_us
    if steps.basis == "marked":
        totals.step_us = float(np.median((bounds[:, 1] - bounds[:, 0])[kept]))
    return totals


def _closed(bounds_us: np.ndarray, span_us: tuple[float, float]) -> np.ndarray:
    """Bounds of steps; where they are open, those of `span_us`."""
    return np.column_stack(
        [np.where(np.isinf(bounds_us[:, side]), span_us[side], bounds_us[:, side]) for side in (0, 1)]
    )


class _Host:
    """What the CPU's threads did: self times, and which operation started which work."""

    def __init__(self, events: PyTorchEvents) -> None:
        self._operations = list(events.operations)
        self._translations = [load_translations().find(name) for name, _ in self._operations]
        self._marks = np.array([name.startswith(OPTIMIZER_STEP) for name, _ in self._operations], bool)
        self.launches = Launches(events.calls)
        self.threads: list[_Thread] = []
        first_us, last_us = np.inf, -np.inf
        inside: dict[int, list[int]] = {}
        for rows, begins, durations in _threads(events.host):
            self_us = self_times(begins, durations)
            keys = np.frombuffer(events.host.keys, np.int32)[rows].astype(np.int64)
            optimizers = _enclosing(begins, durations, keys, self._marks)
            owners = keys + optimizers * len(self._operations)
            for owner in np.unique(owners[optimizers > 0]).tolist():
                mark, key = divmod(owner, len(self._operations))
                inside.setdefault(mark - 1, []).append(key)
            self.launches.find_owners(events.host.threads[rows[0]], begins, durations, owners)
            self.threads.append(_Thread(begins, durations, self_us, owners))
            first_us, last_us = min(first_us, begins[0]), max(last_us, (begins + durations).max())
        #: From the first operation's start to the last one's end; empty without any.
        self.span_us = float(first_us), float(last_us)
        self._updates = {
            mark: update_operation(self._operations[mark][0], [self._operations[key][0] for key in keys])
            for mark, keys in inside.items()
        }

    def shares(self, owner: int, kernel: Kernel | None) -> dict[str, float]:
        """TensorFlow's types of an owner's time, on the host without a kernel, each with its share."""
        if owner < 0:
            return shares(_NO_OPERATION, kernel, None)
        optimizer, key = divmod(owner, len(self._operations))
        translation = self._translations[key]
        if optimizer and (kernel is not None or translation.types):
            update = Translation((self._updates[optimizer - 1],))
            copies = kernel is not None and kernel.operation == COPY
            return shares(translation if copies else update, kernel, None)
        return shares(translation, kernel, self._operations[key][1])

    def add_up(self, totals: StepTotals, steps: StepBounds, kept: np.ndarray) -> None:
        """Add the host's rows of the mean step."""
        count = int(kept.sum())
        loads = np.array([any(kind.startswith(_LOADS_LIBRARIES) for kind in row.types) for row in self._translations])
        for thread in self.threads:
            step = steps.step_of(thread.begins)
            inside = (step >= 0) & kept[np.maximum(step, 0)]
            if not inside.any():
                continue
            owners, self_us = thread.owners[inside], thread.self_us[inside]
            unique, inverse = np.unique(owners, return_inverse=True)
            for owner, us in zip(unique.tolist(), np.bincount(inverse, weights=self_us).tolist(), strict=True):
                found = self.shares(owner, None)
                if not found:
                    totals.dropped_us += us / count
                for kind, share in found.items():
                    totals.totals_us[HOST_PREFIX + kind] += us * share / count
            # As if each step had been recorded alone: a thread is idle between its operations of one step.
            same = step[inside][1:] == step[inside][:-1]
            idle_us = gaps_us(thread.begins[inside], thread.durations[inside])[same].sum()
            totals.totals_us[HOST_PREFIX + "IDLE"] += float(idle_us) / count
            heavy = self_us[loads[owners % len(self._operations)]]
            totals.longest_us = max(totals.longest_us, float(heavy.max(initial=0.0)))


@dataclass(frozen=True, slots=True)
class _Thread:
    """Operations of one thread in nesting order; `owners` numbers the operation and the optimizer it lies in."""

    begins: np.ndarray
    durations: np.ndarray
    self_us: np.ndarray
    owners: np.ndarray


_NO_OPERATION = Translation((UNKNOWN,))


def _threads(host: Spans) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of each thread: its rows in nesting order, their starts and durations."""
    threads = np.frombuffer(host.threads, np.int32)
    begins, durations = np.frombuffer(host.begins_us, np.float64), np.frombuffer(host.durations_us, np.float64)
    by_thread = np.argsort(threads, kind="stable").astype(np.int32)
    ends = np.flatnonzero(np.diff(threads[by_thread])) + 1
    for rows in np.split(by_thread, ends) if len(by_thread) else ():
        ordered = rows[in_nesting_order(begins[rows], durations[rows])]
        yield ordered, begins[ordered], durations[ordered]


def _enclosing(begins: np.ndarray, durations: np.ndarray, keys: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """1 + key of the outermost mark that each operation of a thread lies in or is, 0 where there is none."""
    found = np.zeros(len(begins), np.int64)
    until = -np.inf
    for row in np.flatnonzero(marks[keys]).tolist():
        if begins[row] >= until:
            until = begins[row] + durations[row]
            last = max(int(np.searchsorted(begins, until)), row + 1)
            found[row:last] = keys[row] + 1
    return found
