"""Adds up what the CPU's threads and one GPU did in a PyTorch trace: time per TensorFlow operation of the mean step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.profiles.pytorch.events import BACKWARD_NODE, OPTIMIZER_STEP, PyTorchEvents, Spans, update_operation
from profet_core.profiles.pytorch.step_bounds import StepBounds, find_steps
from profet_core.profiles.pytorch.translations import (
    COPY,
    Kernel,
    Translation,
    kernel_of,
    load_translations,
    shares,
)
from profet_core.profiles.record import DEVICE_IDLE, DEVICE_PREFIX, HOST_IDLE, HOST_PREFIX, UNKNOWN, StepsBasis, no_times
from profet_core.profiles.trace_events.kernel_names import COLLECTIVE
from profet_core.profiles.trace_events.nested_times import (
    covered_us,
    covered_within_us,
    gaps_us,
    in_nesting_order,
    innermost,
    self_times,
)

#: A first step that took longer than this many of the others is one of start-up: libraries load and try their kernels.
COLD_RATIO = 2.0
#: A step whose GPU is idle for less than this share of it is bound by the GPU.
_BOUND_IDLE_SHARE = 0.1
#: Kernels that run beside each other for less than this share of the time are taken to run one after the other.
_OVERLAP_SHARE = 0.01
#: What loads a library when it is called for the first time.
_LOADS_LIBRARIES = ("Conv2D", "MatMul", "FusedBatchNorm", "DepthwiseConv2d")
#: The owner of what no operation of the trace started.
_NOBODY = -1


@dataclass(slots=True)
class StepTotals:
    """The mean step, microseconds.

    Attributes
    ----------
    host_us, device_us : "Host_Conv2D", "Device_Conv2D" -> time.
    dropped_us : of the host in views, allocations and wrappers.
    longest_us : the longest that one operation, which may load a library, kept the host.
    kernels_us : kernel name -> time, of all steps that count.
    unlinked_us : of kernels that no operation on the host started.
    queued_us : of kernels that were launched before the recording began and belong to no step.
    communication_us : what communication between GPUs took beyond the computing.
    window_us : from the end of the step before on the GPU to its own; idle time included.
    gpu_number, gpus : number of the GPU whose times these are (None without one), and how many worked.
    steps, basis, partial : how many the trace covers, how that is known, how many incomplete ones were left out.
    cold_us : length of the first step, which was left out because libraries started in it; None if it counts.
    step_us : median length of a marked step on the host; None if none is marked.
    """

    host_us: defaultdict[str, float] = field(default_factory=no_times)
    device_us: defaultdict[str, float] = field(default_factory=no_times)
    dropped_us: float = 0.0
    longest_us: float = 0.0
    kernels_us: dict[str, float] = field(default_factory=dict)
    unlinked_us: float = 0.0
    queued_us: float = 0.0
    communication_us: float = 0.0
    window_us: float = 0.0
    gpu_number: int | None = None
    gpus: int = 0
    steps: int = 1
    basis: StepsBasis = "assumed"
    partial: int = 0
    cold_us: float | None = None
    step_us: float | None = None

    @property
    def totals_us(self) -> dict[str, float]:
        """Of both sides."""
        return {**self.host_us, **self.device_us}

    @property
    def idle_us(self) -> float:
        """Time of no kernel."""
        return self.device_us.get(DEVICE_IDLE, 0.0)

    @property
    def busy_us(self) -> float:
        """Time of all kernels."""
        return sum(us for name, us in self.device_us.items() if name != DEVICE_IDLE)

    def share_time(self, computed_us: float) -> None:
        """Scale the operations, communication aside, to the time in which any of them ran."""
        kept = {DEVICE_IDLE, DEVICE_PREFIX + COLLECTIVE}
        summed_us = sum(us for name, us in self.device_us.items() if name not in kept)
        # Below that, kernels overlap by how their times are rounded.
        if computed_us < (1 - _OVERLAP_SHARE) * summed_us:
            self.unlinked_us *= computed_us / summed_us
            for name in self.device_us.keys() - kept:
                self.device_us[name] *= computed_us / summed_us


def reduce_events(events: PyTorchEvents, check_time: Callable[[], None] = lambda: None) -> StepTotals:
    """Self time per operation on the CPU's threads, kernels by the operation that started them, and idle times.

    Parameters
    ----------
    check_time : called now and then, raises what ends a reading that takes too long.
    """
    device, number, gpus = _busiest_gpu(events)
    steps = find_steps(events, device)
    check_time()
    host = _HostWork(events, check_time)
    gpu = _GpuWork(device, host.launches, steps)
    # Where a step's bounds are open, those of the work.
    span = host.span_us if host.threads else gpu.span_us
    sides = [np.where(np.isinf(steps.bounds_us[:, side]), span[side], steps.bounds_us[:, side]) for side in (0, 1)]
    lengths_us = sides[1] - sides[0]
    totals = StepTotals(
        gpu_number=number,
        gpus=gpus,
        steps=len(steps),
        basis=steps.basis,
        partial=steps.partial,
        cold_us=gpu.first_is_cold(sides[0][0]),
    )
    kept = np.ones(len(steps), bool)
    kept[0] = totals.cold_us is None
    totals.step_us = float(np.median(lengths_us[kept])) if steps.basis == "marked" else None
    host.add_up(totals, steps, kept)
    gpu.add_up(totals, kept, lengths_us, [kernel_of(name) for name in events.kernels], host)
    return totals


# --- the host ---------------------------------------------------------------------------------------------------------


class _Launches:
    """Which operation made each call of the CUDA runtime.

    Not by `External id`, which has been seen to name another operation.
    """

    def __init__(self, calls: Spans) -> None:
        self._begins = np.frombuffer(calls.begins_us, np.float64)
        self._links = np.frombuffer(calls.links, np.int64)
        threads = np.frombuffer(calls.threads, np.int32)
        self._by_thread = np.lexsort((self._begins, threads))
        self._sorted_threads = threads[self._by_thread]
        self._owners = np.full(len(self._begins), _NOBODY, np.int64)

    def find_owners(self, thread: int, begins: np.ndarray, durations: np.ndarray, owners: np.ndarray) -> None:
        """Note the innermost of one thread's operations (in nesting order) that encloses each of its calls.

        Parameters
        ----------
        owners : (operations,), what the calls of each are noted under.
        """
        first, last = np.searchsorted(self._sorted_threads, [thread, thread + 1])
        rows = self._by_thread[first:last]
        if len(rows):
            inner = innermost(begins, durations, self._begins[rows])
            self._owners[rows] = np.where(inner >= 0, owners[np.maximum(inner, 0)], _NOBODY)

    def of(self, links: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Owner and time of the call for work with these correlations, which began then; nobody's keep their time.

        Correlations ascend: work below the first call's was started before the recording, and its time is NaN.
        """
        owners, launched = np.full(len(links), _NOBODY, np.int64), begins.copy()
        if len(self._links):
            order = np.argsort(self._links, kind="stable")
            rows = order[np.minimum(np.searchsorted(self._links[order], links), len(order) - 1)]
            linked = (self._links[rows] == links) & (links >= 0)
            owners[linked] = self._owners[rows[linked]]
            launched[linked] = self._begins[rows[linked]]
            launched[(links >= 0) & (links < self._links.min())] = np.nan
        return owners, launched


@dataclass(frozen=True, slots=True)
class _Thread:
    """Operations of one thread in nesting order; `owners` numbers the operation and the optimizer it lies in."""

    begins: np.ndarray
    durations: np.ndarray
    self_us: np.ndarray
    owners: np.ndarray


class _HostWork:
    """What the CPU's threads did: self times, and which operation started which work."""

    def __init__(self, events: PyTorchEvents, check_time: Callable[[], None]) -> None:
        self._check_time = check_time
        self._operations = list(events.operations)
        self._translations = [load_translations().find(name) for name, _ in self._operations]
        marks = np.array([name.startswith(OPTIMIZER_STEP) for name, _ in self._operations], bool)
        named = np.array([bool(BACKWARD_NODE.match(name)) for name, _ in self._operations], bool)
        backward = _spans_of(events.host, named)
        self.launches = _Launches(events.calls)
        self.threads: list[_Thread] = []
        first_us, last_us = np.inf, -np.inf
        inside: dict[int, list[int]] = {}
        for rows, begins, durations in _threads(events.host):
            check_time()
            self_us = self_times(begins, durations)
            keys = np.frombuffer(events.host.keys, np.int32)[rows]
            optimizers = _updates(begins, durations, keys, marks, backward)
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
            return shares(Translation((UNKNOWN,)), kernel, None)
        optimizer, key = divmod(owner, len(self._operations))
        translation = self._translations[key]
        if optimizer and (kernel is not None or translation.types):
            copies = kernel is not None and kernel.operation == COPY
            return shares(translation if copies else Translation((self._updates[optimizer - 1],)), kernel, None)
        return shares(translation, kernel, self._operations[key][1])

    def add_up(self, totals: StepTotals, steps: StepBounds, kept: np.ndarray) -> None:
        """Add the mean of the steps kept, (steps,) of True and False."""
        count = int(kept.sum())
        loads = np.array([any(kind.startswith(_LOADS_LIBRARIES) for kind in row.types) for row in self._translations])
        for thread in self.threads:
            self._check_time()
            step = steps.step_of(thread.begins)
            inside = (step >= 0) & kept[np.maximum(step, 0)]
            if not inside.any():
                continue
            # Nothing is copied where all of a thread counts, which most of a large trace does.
            rows = slice(None) if inside.all() else inside
            owners, self_us = thread.owners[rows], thread.self_us[rows]
            for owner, us in zip(*_summed(owners, self_us), strict=True):
                found = self.shares(owner, None)
                if not found:
                    totals.dropped_us += us / count
                for kind, share in found.items():
                    totals.host_us[HOST_PREFIX + kind] += us * share / count
            # As if each step had been recorded alone: a thread is idle between its operations of one step.
            same = np.diff(step[rows]) == 0
            idle_us = gaps_us(thread.begins[rows], thread.durations[rows])[same].sum()
            totals.host_us[HOST_IDLE] += float(idle_us) / count
            heavy = self_us[loads[owners % len(self._operations)]]
            totals.longest_us = max(totals.longest_us, float(heavy.max(initial=0.0)))


def _threads(host: Spans) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of each thread: its rows in nesting order, their starts and durations."""
    threads = np.frombuffer(host.threads, np.int32)
    begins, durations = np.frombuffer(host.begins_us, np.float64), np.frombuffer(host.durations_us, np.float64)
    by_thread = np.argsort(threads, kind="stable").astype(np.int32)
    ends = np.flatnonzero(np.diff(threads[by_thread])) + 1
    for rows in np.split(by_thread, ends) if len(by_thread) else ():
        ordered = rows[in_nesting_order(begins[rows], durations[rows])]
        yield ordered, begins[ordered], durations[ordered]


def _spans_of(host: Spans, named: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts, ascending, and the latest end so far, of the operations on any thread whose key is `named`."""
    keys = np.frombuffer(host.keys, np.int32)
    rows = np.flatnonzero(named[keys]) if len(keys) else np.zeros(0, int)
    begins = np.frombuffer(host.begins_us, np.float64)[rows]
    ends = begins + np.frombuffer(host.durations_us, np.float64)[rows]
    order = np.argsort(begins, kind="stable")
    return begins[order], np.maximum.accumulate(ends[order])


def _updates(
    begins: np.ndarray,
    durations: np.ndarray,
    keys: np.ndarray,
    marks: np.ndarray,
    backward: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """1 + key of the outermost optimizer's mark whose update each operation of a thread belongs to or is, else 0.

    An optimizer that is handed a closure runs the forward and the backward pass inside its mark: what it does up to the
    end of the last backward pass there is no update.
    """
    found = np.zeros(len(begins), np.int32)
    until = -np.inf
    for row in np.flatnonzero(marks[keys]).tolist():
        if begins[row] >= until:
            until = begins[row] + durations[row]
            last = max(int(np.searchsorted(begins, until)), row + 1)
            first = max(int(np.searchsorted(begins, _closure_end(begins[row], until, *backward))), row)
            found[first:last] = keys[row] + 1
            found[row] = keys[row] + 1
    return found


def _closure_end(begin_us: float, end_us: float, backward_begins: np.ndarray, backward_ends: np.ndarray) -> float:
    """Where the last backward pass that began between two times ended; `begin_us` where none did."""
    first, last = np.searchsorted(backward_begins, [begin_us, end_us])
    return float(backward_ends[last - 1]) if last > first else begin_us


# --- the GPU ----------------------------------------------------------------------------------------------------------


def _busiest_gpu(events: PyTorchEvents) -> tuple[Spans, int | None, int]:
    """What ran on the GPU that worked longest, its number (None if the trace has none), and how many worked."""
    device = events.device
    numbers = np.frombuffer(device.threads, np.int32)
    found = np.unique(numbers[numbers >= 0]).tolist()
    if len(found) < 2:
        return device, (found[0] if found else None), len(found)
    begins, durations = np.frombuffer(device.begins_us), np.frombuffer(device.durations_us)
    order = np.argsort(numbers, kind="stable")
    cuts = np.searchsorted(numbers[order], [found, np.array(found) + 1])
    rows = [order[first:last] for first, last in cuts.T]
    busiest = int(np.argmax([covered_us(begins[some], durations[some]) for some in rows]))
    return device.rows(np.sort(rows[busiest])), found[busiest], len(found)


class _GpuWork:
    """One GPU's work, each piece with the operation and the step that started it."""

    def __init__(self, kernels: Spans, launches: _Launches, steps: StepBounds) -> None:
        self.begins = np.frombuffer(kernels.begins_us, np.float64)
        self.durations = np.frombuffer(kernels.durations_us, np.float64)
        self.keys = np.frombuffer(kernels.keys, np.int32)
        self.owners, launched = launches.of(np.frombuffer(kernels.links, np.int64), self.begins)
        # A kernel belongs to the step that started it, though it may run when the host is further on.
        times = self.begins if steps.on_device else launched
        self.steps = steps.step_of(times)
        self._queued = np.isnan(times)
        self._follows = steps.follows
        # Where the GPU ended each step's work up to the place that all steps have: the latest end of what came before.
        order = np.argsort(times, kind="stable")
        latest = np.maximum.accumulate((self.begins + self.durations)[order])
        before = np.searchsorted(times[order], steps.ends_us, side="right")
        self._step_ends = (
            np.where(before > 0, latest[np.maximum(before - 1, 0)], -np.inf) if len(order) else np.zeros(0, float)
        )

    @property
    def span_us(self) -> tuple[float, float]:
        """From the first start to the last end; (0, 0) where nothing ran."""
        if not len(self.keys):
            return 0.0, 0.0
        return float(self.begins.min()), float((self.begins + self.durations).max())

    def first_is_cold(self, first_begin_us: float) -> float | None:
        """Length of the first step, which began then, if it took far longer than the others; else None."""
        windows = self._windows(self._follows)
        if not len(windows) or not np.isfinite(self._step_ends[0]):
            return None
        first_us = float(self._step_ends[0] - first_begin_us)
        return first_us if first_us > COLD_RATIO * float(np.median(windows[:, 1] - windows[:, 0])) else None

    def _windows(self, which: np.ndarray) -> FloatArray:
        """From the end of the step before to that of each of these steps, (windows, 2)."""
        if not len(self._step_ends):
            return np.zeros((0, 2))
        windows: FloatArray = np.column_stack([self._step_ends[:-1], self._step_ends[1:]])[which[1:]]
        return windows[np.isfinite(windows).all(axis=1) & (windows[:, 1] > windows[:, 0])]

    def add_up(
        self, totals: StepTotals, kept: np.ndarray, alone_us: FloatArray, kernels: list[Kernel], host: _HostWork
    ) -> None:
        """Add the mean of the steps kept.

        Parameters
        ----------
        kept : (steps,), which steps count.
        alone_us : (steps,), length of each on the host, for steps that follow no other one.
        kernels : what the names of `keys` tell.
        """
        inside = (self.steps >= 0) & kept[np.maximum(self.steps, 0)]
        if not inside.any():
            return
        count = int(kept.sum())
        for key, us in zip(*_summed(self.keys[inside], self.durations[inside]), strict=True):
            if us:
                totals.kernels_us[kernels[key].name] = us
        totals.queued_us = float(self.durations[self._queued].sum())
        computes = inside & ~np.array([kernel.operation == COLLECTIVE for kernel in kernels])[self.keys]
        pairs = (self.owners[computes] + 1) * len(kernels) + self.keys[computes]
        for pair, us in zip(*_summed(pairs, self.durations[computes]), strict=True):
            owner, key = divmod(pair, len(kernels))
            if owner - 1 == _NOBODY:
                totals.unlinked_us += us / count
            for kind, share in host.shares(owner - 1, kernels[key]).items():
                totals.device_us[DEVICE_PREFIX + kind] += us * share / count
        computed_us, busy_us = self._covered_us(computes), self._covered_us(inside)
        if computes.sum() < inside.sum():
            # What runs beside computing on another stream keeps nothing up.
            totals.communication_us = (busy_us - computed_us) / count
            totals.device_us[DEVICE_PREFIX + COLLECTIVE] += totals.communication_us
        windows = self._windows(self._follows & kept)
        if len(windows):
            idle_us = windows[:, 1] - windows[:, 0] - covered_within_us(self.begins, self.durations, windows)
            totals.window_us = float((windows[:, 1] - windows[:, 0]).mean())
            totals.device_us[DEVICE_IDLE] = max(0.0, float(idle_us.mean()))
        else:
            steps = self.steps[inside]
            spans = _spans(self.begins[inside], self.durations[inside], steps)
            totals.window_us = float(np.maximum(spans, alone_us[np.unique(steps)]).sum()) / count
            totals.device_us[DEVICE_IDLE] = max(0.0, totals.window_us - busy_us / count)
        if totals.idle_us < _BOUND_IDLE_SHARE * totals.window_us:
            # Kernels of several streams share a GPU that hardly waits: each has its part of the time in which any ran.
            totals.share_time(computed_us / count)

    def _covered_us(self, rows: np.ndarray) -> float:
        return covered_us(self.begins[rows], self.durations[rows])


def _spans(begins: FloatArray, durations: FloatArray, steps: np.ndarray) -> FloatArray:
    """From the first start to the last end in each step that has any, in the order of steps."""
    order = np.lexsort((begins, steps))
    firsts = np.flatnonzero(np.diff(steps[order], prepend=-1))
    return np.maximum.reduceat((begins + durations)[order], firsts) - begins[order][firsts]


def _summed(keys: np.ndarray, values: FloatArray) -> tuple[list[int], list[float]]:
    unique, inverse = np.unique(keys, return_inverse=True)
    return unique.tolist(), np.bincount(inverse, weights=values).tolist()
