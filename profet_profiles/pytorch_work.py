"""Adds up what the CPU's threads and one GPU did in a PyTorch trace: time per TensorFlow operation of the mean step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from profet_profiles.intervals import (
    OVERLAP_SHARE,
    FloatArray,
    KernelTimes,
    covered_us,
    covered_within_us,
    gaps_us,
    innermost_events,
    repair_times,
    self_times,
    without_hidden_copies,
)
from profet_profiles.kernel_names import COLLECTIVE, moves_memory
from profet_profiles.pytorch_events import (
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
from profet_profiles.pytorch_steps import (
    HEAVY,
    Difference,
    Image,
    Loop,
    Rows,
    StepBounds,
    find_steps,
    images_of,
    usual_steps,
)
from profet_profiles.record import (
    DEVICE_IDLE,
    DEVICE_PREFIX,
    HOST_IDLE,
    HOST_PREFIX,
    UNKNOWN,
    TransformerWork,
    no_times,
)

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
    images : what the first convolution of each step that counts gets, where shapes were recorded.
    passes, updates : backward passes, each of a forward pass of its own, that the only update of a step follows; the
        most updates of one kind in a step.
    differ : steps that are left out, as they differ from the others in batch, size or work.
    host_us, device_us : "Host_Conv2D", "Device_Conv2D" -> time.
    kernels_us : kernel name -> time, of all steps that count.
    other_us : "dropped" of the host in views, allocations and wrappers; "unlinked" of kernels that no operation on the
        host started; "queued" of kernels that were launched before the recording began and belong to no step;
        "communication" between GPUs beyond the computing; "hidden copies" that ran beside computing.
    longest_us : the longest that one operation, which may load a library, kept the host.
    window_us : from the end of the step before on the GPU to its own; idle time included.
    cold_us : length of the first step, which is ignored because libraries started in it; None if it counts.
    step_us : median length of a marked step on the host; None if none is marked.
    work : of a transformer's forward pass, where shapes were recorded.
    """

    times: KernelTimes
    gpu: int | None
    gpus: int
    steps: StepBounds
    images: list[Image] = field(default_factory=list)
    passes: int = 1
    updates: int = 1
    differ: dict[Difference, int] = field(default_factory=dict)
    host_us: defaultdict[str, float] = field(default_factory=no_times)
    device_us: defaultdict[str, float] = field(default_factory=no_times)
    kernels_us: dict[str, float] = field(default_factory=dict)
    other_us: defaultdict[str, float] = field(default_factory=no_times)
    longest_us: float = 0.0
    window_us: float = 0.0
    cold_us: float | None = None
    step_us: float | None = None
    work: TransformerWork | None = None

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
    loop = Loop(events, rows, check_time)
    steps = find_steps(events, rows, device, loop)
    check_time()
    host = _HostWork(events, rows, calls, check_time)
    gpu = _GpuWork(device, calls, host.call_owners, steps)
    # Where a step's bounds are open, those of the work.
    first, last = host.span_us if host.threads else gpu.span_us
    begins, ends = steps.bounds_us.T
    begins, ends = np.where(np.isinf(begins), first, begins), np.where(np.isinf(ends), last, ends)
    kernels = []
    for name in events.kernels:
        check_time()
        kernels.append(parse_kernel(name))
    images, (updates, repeated) = images_of(events, steps), loop.updates_in(steps)
    work = gpu.work(host.first_update, kernels) if len(device.keys) else host.work(steps)
    kept, differ = usual_steps(images, updates, *work)
    totals = StepTotals(times, number, gpus, steps, differ=differ, cold_us=gpu.first_is_cold(begins[0], kept))
    kept[0] &= totals.cold_us is None
    totals.images = [image for image, counts in zip(images, kept.tolist(), strict=True) if image and counts]
    if updates[kept].max(initial=0) == 1:
        totals.passes = max(int(np.median(loop.passes_in(steps)[kept & (updates == 1)])), 1)
    totals.updates = int(np.median(repeated[kept]))
    totals.step_us = float(np.median((ends - begins)[kept])) if steps.basis == "marked" else None

    def counts(times_us: FloatArray) -> np.ndarray:
        step = steps.step_of(times_us)
        counted: np.ndarray = (step >= 0) & kept[step]
        return counted

    totals.work = events.work.work(counts, host.is_forward, int(kept.sum()))
    host.add_up(totals, steps, kept)
    gpu.add_up(totals, kept, ends - begins, kernels, host.shares)
    return totals


# --- the host ---------------------------------------------------------------------------------------------------------


class _HostWork:
    """Work of the CPU's threads: self times, and which operation made each call of the CUDA runtime.

    The calls are found by time, not by `External id`, which has been seen to name another operation.
    """

    def __init__(self, events: PyTorchEvents, host: Rows, calls: Rows, check_time: Callable[[], None]) -> None:
        self._check_time = check_time
        self._operations = list(events.operations)
        self._translations = [translate(name) for name, _ in self._operations]
        #: The least owner that lies in an optimizer's mark.
        self.first_update = len(self._operations)
        marks = np.array([name.startswith(OPTIMIZER_STEP) for name, _ in self._operations], bool)
        named = np.array([bool(BACKWARD_NODE.match(name)) for name, _ in self._operations], bool)
        # Starts of the backward passes on any thread, ascending, and the latest end so far.
        passes = np.flatnonzero(named[host.keys]) if len(host.keys) else np.zeros(0, int)
        passes = passes[np.argsort(host.begins[passes], kind="stable")]
        backward = self._backward = host.begins[passes], np.maximum.accumulate(host.ends[passes])
        updates = np.flatnonzero(marks[host.keys]) if len(host.keys) else np.zeros(0, int)
        updates = updates[np.argsort(host.begins[updates], kind="stable")]
        self._optimizers = host.begins[updates], np.maximum.accumulate(host.ends[updates])
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

    def is_forward(self, begins_us: FloatArray) -> np.ndarray:
        """Whether each start lies in a forward pass: in none of the backward ones, nor in an update."""
        forward = np.ones(len(begins_us), bool)
        for begins, ends in (self._backward, self._optimizers):
            if len(begins):
                before = np.searchsorted(begins, begins_us, side="right") - 1
                forward &= (before < 0) | (begins_us >= ends[np.maximum(before, 0)])
        return forward

    def work(self, steps: StepBounds) -> tuple[FloatArray, FloatArray]:
        """Count operations with a network's work in each step, (steps,), for their time too, which varies."""
        works = np.array([any(kind.startswith(HEAVY) for kind in row.types) for row in self._translations], bool)
        counts = np.zeros(len(steps.bounds_us))
        for begins, _, _, owners in self.threads:
            step = steps.step_of(begins[np.append(works, False)[np.minimum(owners, len(works))]])
            counts += np.bincount(step[step >= 0], minlength=len(counts))
        return counts, counts

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
                kinds = self.shares(owner, None)
                if not kinds:
                    totals.other_us["dropped"] += us / count
                for kind, share in kinds.items():
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
    owners = np.zeros(len(begins), np.int32)
    backward_begins, backward_ends = backward
    until = -np.inf
    for row in np.flatnonzero(marks[keys]).tolist():
        if begins[row] >= until:
            until = begins[row] + durations[row]
            first, last = np.searchsorted(backward_begins, [begins[row], until])
            updates_from = backward_ends[last - 1] if last > first else begins[row]
            last = max(int(np.searchsorted(begins, until)), row + 1)
            owners[max(int(np.searchsorted(begins, updates_from)), row) : last] = keys[row] + 1
            owners[row] = keys[row] + 1
    return owners


# --- the GPU ----------------------------------------------------------------------------------------------------------


def _busiest_gpu(device: Rows, gpu_of_stream: list[int]) -> tuple[Rows, int | None, int]:
    """Return the kernels of the busiest GPU, its number (None if the trace has none), and the number of GPUs."""
    gpus = np.array(gpu_of_stream, int)[device.threads] if gpu_of_stream else np.zeros(0, int)
    numbers = np.unique(gpus[gpus >= 0]).tolist()
    if len(numbers) < 2:
        return device, (numbers[0] if numbers else None), len(numbers)
    rows = [np.flatnonzero((gpus == number) & np.isfinite(device.begins + device.durations)) for number in numbers]
    busiest = int(np.argmax([covered_us(device.begins[chosen], device.durations[chosen]) for chosen in rows]))
    rows = [np.flatnonzero(gpus == number) for number in numbers]
    return Rows(*(values[rows[busiest]] for values in device)), numbers[busiest], len(numbers)


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

    def work(self, first_update: int, kernels: list[Kernel]) -> tuple[FloatArray, FloatArray]:
        """Time and number of the kernels of each step, (steps,) both, without updates and talk between GPUs."""
        computes = np.array([kernel.operation != COLLECTIVE for kernel in kernels], bool)[self._rows.keys]
        counts = (self._steps >= 0) & (self._owners < first_update) & computes
        kept, steps = self._steps[counts], len(self._step_ends)
        times = np.bincount(kept, self._rows.durations[counts], steps)
        return times.astype(float), np.bincount(kept, minlength=steps).astype(float)

    def first_is_cold(self, first_begin_us: float, kept: np.ndarray) -> float | None:
        """Length of the first step, which began then, if it took far longer than the others kept; else None."""
        windows = self._windows(self._follows & kept)
        if not len(windows) or not kept[0] or not np.isfinite(self._step_ends[0]):
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
        counted_us = without_hidden_copies(*(column[computes] for column in (begins, durations, is_copy, streams)))
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
