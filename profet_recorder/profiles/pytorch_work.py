"""Adds up what the CPU's threads and one GPU did in a PyTorch trace: time per TensorFlow operation of the mean step.

Steps are found by the profiler's marks, the optimizer's, or what repeats.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from profet_recorder.profiles.intervals import (
    OVERLAP_SHARE,
    FloatArray,
    KernelTimes,
    covered_us,
    covered_within_us,
    gaps_us,
    innermost_events,
    nesting_order,
    repair_times,
    self_times,
    without_hidden_copies,
)
from profet_recorder.profiles.kernel_names import COLLECTIVE, moves_memory, operation_of_kernel
from profet_recorder.profiles.limits import Spans
from profet_recorder.profiles.pytorch_events import (
    BACKWARD_NODE,
    COPY,
    OPTIMIZER_STEP,
    Kernel,
    PyTorchEvents,
    Translation,
    parse_kernel,
    shares,
    translate,
    update_operation,
)
from profet_recorder.profiles.record import (
    DEVICE_IDLE,
    DEVICE_PREFIX,
    HOST_IDLE,
    HOST_PREFIX,
    UNKNOWN,
    StepsBasis,
    no_times,
)

#: A ProfilerStep with fewer operations than this share of the fullest one was cut off: the profiler opens one more at
#: the end.
COMPLETE_SHARE = 0.5
#: What follows the last step found is a part of another one if it has this share of a step's operations.
_PARTIAL_SHARE = 0.3
#: Steps that follow each other leave less than this share of a step between them.
_ADJACENT_SHARE = 0.5
#: A sequence that repeats within fewer kernels may be layers that follow each other.
_MIN_KERNELS = 8
_HEAVY = ("Conv", "DepthwiseConv", "MatMul")


class Rows(NamedTuple):
    """`Spans` as arrays, each (events,)."""

    begins: FloatArray
    durations: FloatArray
    keys: np.ndarray
    threads: np.ndarray
    links: np.ndarray

    @classmethod
    def from_spans(cls, spans: Spans) -> Rows:
        """The same numbers, not copied."""
        kept = (spans.begins, spans.durations, spans.keys, spans.threads, spans.links)
        return cls(*(np.frombuffer(values, values.typecode) for values in kept))

    @property
    def ends(self) -> FloatArray:
        """Ends, microseconds."""
        return self.begins + self.durations

    def nested(self, rows: np.ndarray) -> np.ndarray:
        """`rows` in the order in which every event is behind those it lies in: by start, the longer first."""
        ordered: np.ndarray = rows[nesting_order(self.begins[rows], self.durations[rows])]
        return ordered


@dataclass(frozen=True)
class StepBounds:
    """Where the steps of a trace lie.

    Attributes
    ----------
    bounds_us : (steps, 2), start and end, ascending; (-inf, inf) if all of the trace is one.
    ends_us : (steps,), a place within or at the end of each step that is the same one in all.
    follows : (steps,), True where the step before it is the one that ran before it.
    basis : how the number is known.
    on_device : the times are those of kernels, as the trace holds no operation of the host.
    partial : incomplete steps, which are ignored.
    """

    bounds_us: np.ndarray
    ends_us: np.ndarray
    follows: np.ndarray
    basis: StepsBasis
    on_device: bool = False
    partial: int = 0

    def step_of(self, times_us: np.ndarray) -> np.ndarray:
        """Index of the step that each time lies in, -1 where it lies in none."""
        step = np.searchsorted(self.bounds_us[:, 0], times_us, side="right") - 1
        return np.where((step >= 0) & (times_us < self.bounds_us[np.maximum(step, 0), 1]), step, -1)


def find_steps(events: PyTorchEvents, host: Rows, kernels: Rows) -> StepBounds:
    """The steps of a trace; `kernels` is what ran on one GPU."""
    if marked := _profiler_steps(events, host):
        return marked
    names = [name for name, _ in events.operations]
    for ends_us in (_optimizer_ends(names, host), _gradient_ends(names, host)):
        if ends_us is not None:
            return _counted(ends_us, host)
    # What repeats is not an optimizer alone, which does the same for each weight. The first step may differ, as
    # libraries try their kernels in it.
    heavy = np.array([(operation_of_kernel(name) or "").startswith(_HEAVY) for name in events.kernels], bool)
    ends_us = _repeated_ends(kernels, np.arange(len(kernels.keys)), _MIN_KERNELS, heavy)
    if ends_us is not None:
        return _counted(ends_us, kernels, on_device=True)
    whole, last = np.array([[-np.inf, np.inf]]), np.array([np.inf])
    return StepBounds(whole, last, np.array([False]), "assumed", on_device=not len(host.keys))


def _profiler_steps(events: PyTorchEvents, host: Rows) -> StepBounds | None:
    """Each complete ProfilerStep."""
    if not events.steps:
        return None
    bounds = np.array(sorted(events.steps.values()))
    begins = np.sort(host.begins)
    counts = np.searchsorted(begins, bounds[:, 1]) - np.searchsorted(begins, bounds[:, 0])
    complete = (counts > 0) & (counts >= COMPLETE_SHARE * counts.max())
    if not complete.any():
        return None
    kept = bounds[complete]
    lengths = kept[:, 1] - kept[:, 0]
    follows = np.zeros(len(kept), bool)
    follows[1:] = kept[1:, 0] - kept[:-1, 1] < _ADJACENT_SHARE * lengths[1:]
    return StepBounds(kept, kept[:, 1], follows, "marked", partial=int((~complete).sum()))


def _counted(ends_us: np.ndarray, events: Rows, on_device: bool = False) -> StepBounds:
    """Steps that end, but for what follows the last one, at `ends_us`; the events tell where that ends."""
    count, partial, tail_us, last_end = len(ends_us), 0, 0.0, np.inf
    if count > 1:
        # What a person's loop does behind the optimizer belongs to its step, in every step as in the last one.
        before = np.searchsorted(np.sort(events.begins), ends_us, side="right")
        if len(events.begins) - before[-1] > _PARTIAL_SHARE * np.median(np.diff(before)):
            partial, last_end = 1, ends_us[-1]
        else:
            tail_us = max(float(events.ends.max() - ends_us[-1]), 0.0)
            tail_us = tail_us if tail_us < np.diff(ends_us).min() else 0.0
    cuts = ends_us[:-1] + tail_us
    bounds = np.column_stack([np.concatenate([[-np.inf], cuts]), np.concatenate([cuts, [last_end]])])
    return StepBounds(bounds, ends_us, np.arange(count) > 0, "counted", on_device, partial)


def _optimizer_ends(names: list[str], host: Rows) -> np.ndarray | None:
    """Where an optimizer has made its step, once in each: marks that lie inside each other count once."""
    marks = [key for key, name in enumerate(names) if name.startswith(OPTIMIZER_STEP)]
    found: dict[str, list[float]] = {}
    for row in host.nested(np.flatnonzero(np.isin(host.keys, marks))).tolist() if marks else ():
        ends = found.setdefault(names[host.keys[row]], [])
        if not ends or host.begins[row] >= ends[-1]:
            ends.append(host.begins[row] + host.durations[row])
    if not found:
        return None
    # Two optimizers a step are as many each; one that runs several times a step has a multiple of the other's.
    counts = [len(ends) for ends in found.values()]
    steps = math.gcd(*counts)
    steps = steps if steps == min(counts) else max(counts)
    return np.array(next(ends for ends in found.values() if len(ends) == steps))


def _gradient_ends(names: list[str], host: Rows) -> np.ndarray | None:
    """Ends of the repetitions of autograd's nodes, on the thread that has most of them."""
    nodes = [key for key, name in enumerate(names) if BACKWARD_NODE.match(name)]
    rows = np.flatnonzero(np.isin(host.keys, nodes)) if nodes else np.zeros(0, int)
    if not len(rows):
        return None
    threads = host.threads[rows]
    return _repeated_ends(host, rows[threads == Counter(threads.tolist()).most_common(1)[0][0]], 2)


def _repeated_ends(
    events: Rows, rows: np.ndarray, min_period: int, must_hold: np.ndarray | None = None
) -> np.ndarray | None:
    rows = events.nested(rows)
    keys = events.keys[rows]
    period = repetition(keys, min_period, cold_start=must_hold is not None)
    if period is None or (must_hold is not None and not must_hold[keys[-period:]].any()):
        return None
    last = np.arange(len(rows) - 1, -1, -period)[::-1]
    if len(rows) % period:
        last = last[1:]  # the first step has some more
    ends = np.maximum.accumulate(events.ends[rows])[last]
    return ends if (np.diff(ends) > 0).all() else None


def repetition(sequence: Sequence[int], min_period: int, *, cold_start: bool = False) -> int | None:
    """Length of the shortest piece that `sequence` is nothing but repetitions of, None if there is no such piece.

    Parameters
    ----------
    min_period : shorter pieces do not count.
    cold_start : what is before the last two or more repetitions may differ, if it is at most half as long again.

    >>> repetition([1, 2, 3, 1, 2, 3], min_period=2), repetition([1, 2, 3], min_period=1)
    (3, None)
    >>> repetition([9, 1, 2, 1, 2], min_period=2, cold_start=True)
    2
    """
    count = len(sequence)
    if count < 2 * min_period:
        return None
    # Arrays, as lists of millions of numbers take a hundred megabytes.
    backwards = array("i", sequence[::-1])
    # How much of its own start each beginning ends with (Knuth, Morris and Pratt, 1977), in time linear in its length.
    borders = array("i", bytes(4 * count))
    matched, best = 0, None
    for index in range(1, count):
        while matched and backwards[index] != backwards[matched]:
            matched = borders[matched - 1]
        matched += backwards[index] == backwards[matched]
        borders[index] = matched
        length = index + 1
        period = length - matched
        if period >= min_period and length >= 2 * period:
            rest = count - length
            if rest == 0 and count % period == 0:
                return period
            if cold_start and rest <= 1.5 * period:
                best = period
    return best


#: A first step that took longer than this many of the others is one of start-up: libraries load and try their kernels.
COLD_RATIO = 2.0
#: A step whose GPU is idle for less than this share of it is bound by the GPU.
_BOUND_IDLE_SHARE = 0.1
#: What loads a library when it is called for the first time.
_LOADS_LIBRARIES = ("Conv2D", "MatMul", "FusedBatchNorm", "DepthwiseConv2d")
#: The owner of what no operation of the trace started.
_NOBODY = -1


@dataclass(slots=True)
class StepTotals:
    """The mean step, microseconds.

    Attributes
    ----------
    times : of the GPU's kernels, lost ones estimated.
    gpu, gpus : number of the GPU whose times these are (None without one), and how many worked.
    steps : how many the trace covers, and where.
    host_us, device_us : "Host_Conv2D", "Device_Conv2D" -> time.
    kernels_us : kernel name -> time, of all steps that count.
    other_us : "dropped" of the host in views, allocations and wrappers; "unlinked" of kernels that no operation on the
        host started; "queued" of kernels that were launched before the recording began and belong to no step;
        "communication" between GPUs beyond the computing; "hidden copies" that ran beside computing.
    longest_us : the longest that one operation, which may load a library, kept the host.
    window_us : from the end of the step before on the GPU to its own; idle time included.
    cold_us : length of the first step, which is ignored because libraries started in it; None if it counts.
    step_us : median length of a marked step on the host; None if none is marked.
    """

    times: KernelTimes
    gpu: int | None
    gpus: int
    steps: StepBounds
    host_us: defaultdict[str, float] = field(default_factory=no_times)
    device_us: defaultdict[str, float] = field(default_factory=no_times)
    kernels_us: dict[str, float] = field(default_factory=dict)
    other_us: defaultdict[str, float] = field(default_factory=no_times)
    longest_us: float = 0.0
    window_us: float = 0.0
    cold_us: float | None = None
    step_us: float | None = None

    @property
    def idle_us(self) -> float:
        """Time of no kernel."""
        return self.device_us.get(DEVICE_IDLE, 0.0)

    @property
    def busy_us(self) -> float:
        """Time of all kernels."""
        return sum(us for name, us in self.device_us.items() if name != DEVICE_IDLE)


def reduce_events(events: PyTorchEvents, check_time: Callable[[], None] = lambda: None) -> StepTotals:
    """Self time per operation on the CPU's threads, kernels by the operation that started them, and idle times."""
    rows, calls = Rows.from_spans(events.host), Rows.from_spans(events.calls)
    device, number, gpus = _busiest_gpu(Rows.from_spans(events.device), [gpu for gpu, _ in events.streams])
    times = repair_times(
        device.begins,
        device.durations,
        device.keys,
        device.threads,
        device.links if (device.links >= 0).all() else np.arange(len(device.links)),
        np.array([end - begin for begin, end in events.steps.values()]),
    )
    device = device._replace(begins=times.begins_us, durations=times.durations_us)
    steps = find_steps(events, rows, device)
    check_time()
    host = _HostWork(events, rows, calls, check_time)
    gpu = _GpuWork(device, calls, host.call_owners, steps)
    # Where a step's bounds are open, those of the work.
    first, last = host.span_us if host.threads else gpu.span_us
    begins, ends = steps.bounds_us.T
    begins, ends = np.where(np.isinf(begins), first, begins), np.where(np.isinf(ends), last, ends)
    totals = StepTotals(times, number, gpus, steps, cold_us=gpu.first_is_cold(begins[0]))
    kept = np.ones(len(begins), bool)
    kept[0] = totals.cold_us is None
    totals.step_us = float(np.median((ends - begins)[kept])) if steps.basis == "marked" else None
    host.add_up(totals, steps, kept)
    kernels = []
    for name in events.kernels:
        check_time()
        kernels.append(parse_kernel(name))
    gpu.add_up(totals, kept, ends - begins, kernels, host.shares)
    return totals


# --- the host ---------------------------------------------------------------------------------------------------------


class _HostWork:
    """What the CPU's threads did: self times, and which operation made each call of the CUDA runtime.

    The calls are found by time, not by `External id`, which has been seen to name another operation.
    """

    def __init__(self, events: PyTorchEvents, host: Rows, calls: Rows, check_time: Callable[[], None]) -> None:
        self._check_time = check_time
        self._operations = list(events.operations)
        self._translations = [translate(name) for name, _ in self._operations]
        marks = np.array([name.startswith(OPTIMIZER_STEP) for name, _ in self._operations], bool)
        named = np.array([bool(BACKWARD_NODE.match(name)) for name, _ in self._operations], bool)
        # Starts of the backward passes on any thread, ascending, and the latest end so far.
        passes = np.flatnonzero(named[host.keys]) if len(host.keys) else np.zeros(0, int)
        passes = passes[np.argsort(host.begins[passes], kind="stable")]
        backward = host.begins[passes], np.maximum.accumulate(host.ends[passes])
        by_thread = np.lexsort((calls.begins, calls.threads))
        sorted_threads = calls.threads[by_thread]
        self.call_owners = np.full(len(calls.begins), _NOBODY, np.int64)
        #: Of each thread the operations in nesting order: start, duration, self time, and the operation and the
        #: optimizer it lies in, as one number.
        self.threads: list[tuple[FloatArray, FloatArray, FloatArray, np.ndarray]] = []
        inside: dict[int, list[int]] = {}
        order = np.argsort(host.threads, kind="stable").astype(np.int32)
        cuts = np.flatnonzero(np.diff(host.threads[order])) + 1
        for rows in np.split(order, cuts) if len(order) else ():
            check_time()
            rows = host.nested(rows)
            begins, durations, keys = host.begins[rows], host.durations[rows], host.keys[rows]
            optimizers = _updates(begins, durations, keys, marks, backward)
            owners = keys + optimizers * len(self._operations)
            for owner in np.unique(owners[optimizers > 0]).tolist():
                mark, key = divmod(owner, len(self._operations))
                inside.setdefault(mark - 1, []).append(key)
            thread = host.threads[rows[0]]
            made = by_thread[slice(*np.searchsorted(sorted_threads, [thread, thread + 1]))]
            if len(made):
                inner = innermost_events(begins, durations, calls.begins[made])
                self.call_owners[made] = np.where(inner >= 0, owners[np.maximum(inner, 0)], _NOBODY)
            self.threads.append((begins, durations, self_times(begins, durations), owners))
        #: From the first operation's start to the last one's end; empty without any.
        self.span_us = _span(host)
        self._update_types = {
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
            update = Translation((self._update_types[optimizer - 1],))
            return shares(translation if copies else update, kernel, None)
        return shares(translation, kernel, self._operations[key][1])

    def add_up(self, totals: StepTotals, steps: StepBounds, kept: np.ndarray) -> None:
        """Add the mean of the steps kept, (steps,) of True and False."""
        count = int(kept.sum())
        loads = np.array([any(kind.startswith(_LOADS_LIBRARIES) for kind in row.types) for row in self._translations])
        for begins, durations, all_self_us, all_owners in self.threads:
            self._check_time()
            step = steps.step_of(begins)
            inside = (step >= 0) & kept[np.maximum(step, 0)]
            if not inside.any():
                continue
            # Nothing is copied where all of a thread counts, which most of a large trace does.
            rows = slice(None) if inside.all() else inside
            owners, self_us = all_owners[rows], all_self_us[rows]
            for owner, us in zip(*_summed(owners, self_us), strict=True):
                found = self.shares(owner, None)
                if not found:
                    totals.other_us["dropped"] += us / count
                for kind, share in found.items():
                    totals.host_us[HOST_PREFIX + kind] += us * share / count
            # As if each step had been recorded alone: a thread is idle between its operations of one step.
            same = np.diff(step[rows]) == 0
            idle_us = gaps_us(begins[rows], durations[rows])[same].sum()
            totals.host_us[HOST_IDLE] += float(idle_us) / count
            heavy = self_us[loads[owners % len(self._operations)]]
            totals.longest_us = max(totals.longest_us, float(heavy.max(initial=0.0)))


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
    backward_begins, backward_ends = backward
    until = -np.inf
    for row in np.flatnonzero(marks[keys]).tolist():
        if begins[row] >= until:
            until = begins[row] + durations[row]
            first, last = np.searchsorted(backward_begins, [begins[row], until])
            updates_from = backward_ends[last - 1] if last > first else begins[row]
            last = max(int(np.searchsorted(begins, until)), row + 1)
            found[max(int(np.searchsorted(begins, updates_from)), row) : last] = keys[row] + 1
            found[row] = keys[row] + 1
    return found


# --- the GPU ----------------------------------------------------------------------------------------------------------


def _busiest_gpu(device: Rows, gpu_of_stream: list[int]) -> tuple[Rows, int | None, int]:
    """What ran on the GPU that worked longest, its number (None if the trace has none), and how many worked."""
    gpus = np.array(gpu_of_stream, int)[device.threads] if gpu_of_stream else np.zeros(0, int)
    found = np.unique(gpus[gpus >= 0]).tolist()
    if len(found) < 2:
        return device, (found[0] if found else None), len(found)
    rows = [np.flatnonzero((gpus == number) & np.isfinite(device.begins + device.durations)) for number in found]
    busiest = int(np.argmax([covered_us(device.begins[some], device.durations[some]) for some in rows]))
    rows = [np.flatnonzero(gpus == number) for number in found]
    return Rows(*(values[rows[busiest]] for values in device)), found[busiest], len(found)


class _GpuWork:
    """One GPU's work, each piece with the operation and the step that started it."""

    def __init__(self, kernels: Rows, calls: Rows, call_owners: np.ndarray, steps: StepBounds) -> None:
        self._rows, self._follows = kernels, steps.follows
        self.span_us = _span(kernels)
        self._owners, launched = np.full(len(kernels.keys), _NOBODY, np.int64), kernels.begins.copy()
        if len(calls.links):
            order = np.argsort(calls.links, kind="stable")
            rows = order[np.minimum(np.searchsorted(calls.links[order], kernels.links), len(order) - 1)]
            linked = (calls.links[rows] == kernels.links) & (kernels.links >= 0)
            self._owners[linked] = call_owners[rows[linked]]
            launched[linked] = calls.begins[rows[linked]]
            # Correlations ascend: work below the first call's was started before the recording.
            launched[(kernels.links >= 0) & (kernels.links < calls.links.min())] = np.nan
        # A kernel belongs to the step that started it, though it may run when the host is further on.
        times = kernels.begins if steps.on_device else launched
        self._steps = steps.step_of(times)
        self._queued = np.isnan(times)
        # Where the GPU ended each step's work up to the place that all steps have: the latest end of what came before.
        order = np.argsort(times, kind="stable")
        latest = np.maximum.accumulate(kernels.ends[order])
        before = np.searchsorted(times[order], steps.ends_us, side="right")
        self._step_ends = (
            np.where(before > 0, latest[np.maximum(before - 1, 0)], -np.inf) if len(order) else np.zeros(0, float)
        )

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
        self,
        totals: StepTotals,
        kept: np.ndarray,
        alone_us: FloatArray,
        kernels: list[Kernel],
        shares_of: Callable[[int, Kernel], dict[str, float]],
    ) -> None:
        """Add the mean of the steps kept."""
        inside = (self._steps >= 0) & kept[np.maximum(self._steps, 0)]
        if not inside.any():
            return
        begins, durations, keys, streams, _ = self._rows
        count = int(kept.sum())
        sums = zip(*_summed(keys[inside], durations[inside]), strict=True)
        totals.kernels_us = {kernels[key].name: us for key, us in sums if us}
        totals.other_us["queued"] = float(durations[self._queued].sum())
        computes = inside & ~np.array([kernel.operation == COLLECTIVE for kernel in kernels])[keys]
        computed_us = covered_us(begins[computes], durations[computes])
        is_copy = np.array([moves_memory(kernel.name) for kernel in kernels])[keys]
        counted_us = without_hidden_copies(*(each[computes] for each in (begins, durations, is_copy, streams)))
        totals.other_us["hidden copies"] = float(durations[computes].sum() - counted_us.sum()) / count
        pairs = (self._owners[computes] + 1) * len(kernels) + keys[computes]
        for pair, us in zip(*_summed(pairs, counted_us), strict=True):
            owner, key = divmod(pair, len(kernels))
            if owner - 1 == _NOBODY:
                totals.other_us["unlinked"] += us / count
            for kind, share in shares_of(owner - 1, kernels[key]).items():
                totals.device_us[DEVICE_PREFIX + kind] += us * share / count
        busy_us = covered_us(begins[inside], durations[inside])
        if computes.sum() < inside.sum():
            # What runs beside computing on another stream keeps nothing up.
            totals.other_us["communication"] = (busy_us - computed_us) / count
            totals.device_us[DEVICE_PREFIX + COLLECTIVE] += totals.other_us["communication"]
        windows = self._windows(self._follows & kept)
        if len(windows):
            idle_us = windows[:, 1] - windows[:, 0] - covered_within_us(begins, durations, windows)
            totals.window_us = float((windows[:, 1] - windows[:, 0]).mean())
            totals.device_us[DEVICE_IDLE] = max(0.0, float(idle_us.mean()))
        else:
            # From the first start to the last end in each step that has any.
            steps = self._steps[inside]
            order = np.lexsort((begins[inside], steps))
            firsts = np.flatnonzero(np.diff(steps[order], prepend=-1))
            ends = np.maximum.reduceat(self._rows.ends[inside][order], firsts)
            spans = ends - begins[inside][order][firsts]
            totals.window_us = float(np.maximum(spans, alone_us[np.unique(steps)]).sum()) / count
            totals.device_us[DEVICE_IDLE] = max(0.0, totals.window_us - busy_us / count)
        if totals.idle_us < _BOUND_IDLE_SHARE * totals.window_us:
            _share_time(totals, computed_us / count)


def _share_time(totals: StepTotals, computed_us: float) -> None:
    """Scale the operations, communication aside, to the time in which any ran, on a GPU that hardly waits."""
    kept = {DEVICE_IDLE, DEVICE_PREFIX + COLLECTIVE}
    summed_us = sum(us for name, us in totals.device_us.items() if name not in kept)
    # Below that, kernels overlap by how their times are rounded.
    if computed_us < (1 - OVERLAP_SHARE) * summed_us:
        totals.other_us["unlinked"] *= computed_us / summed_us
        for name in totals.device_us.keys() - kept:
            totals.device_us[name] *= computed_us / summed_us


def _span(rows: Rows) -> tuple[float, float]:
    """From the first start to the last end; (0, 0) where nothing ran."""
    return (float(rows.begins.min()), float(rows.ends.max())) if len(rows.keys) else (0.0, 0.0)


def _summed(keys: np.ndarray, values: FloatArray) -> tuple[list[int], list[float]]:
    unique, inverse = np.unique(keys, return_inverse=True)
    return unique.tolist(), np.bincount(inverse, weights=values).tolist()
