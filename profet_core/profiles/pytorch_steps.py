"""Reduces the events of a PyTorch trace to the time per TensorFlow operation type of the mean step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from profet_core.profiles.nested_times import covered_us, in_nesting_order, nest
from profet_core.profiles.pytorch_events import PyTorchEvents, Spans
from profet_core.profiles.pytorch_operations import UNKNOWN, load_translations, shares

#: A ProfilerStep with fewer operations than this share of the fullest one was cut off: the profiler opens one more at
#: the end.
COMPLETE_SHARE = 0.5


@dataclass(slots=True)
class StepTotals:
    """Totals over all complete steps.

    Attributes
    ----------
    totals_us : "Device_Conv2D" -> microseconds over `steps`.
    marked : the trace says where steps begin and end.
    partial : steps that were left out because they are not complete.
    kernels_us : kernel name -> microseconds, of the steps that count.
    dropped_us : time on the host of views, allocations and wrappers, over `steps`.
    unlinked_us : GPU time that no operation on the host started, over `steps`.
    step_us : median length of the complete steps on the host.
    """

    totals_us: Counter[str] = field(default_factory=Counter)
    steps: int = 1
    marked: bool = False
    partial: int = 0
    kernels_us: dict[str, float] = field(default_factory=dict)
    dropped_us: float = 0.0
    unlinked_us: float = 0.0
    step_us: float | None = None


def reduce_events(events: PyTorchEvents) -> StepTotals:
    """Self time per operation on the CPU's threads, kernels by the operation that started them, and idle times."""
    totals = StepTotals()
    bounds = _complete_steps(events, totals)
    launches = _Launches(events.calls)
    for rows, order_begins, order_durations in _threads(events.host):
        self_us, parents = nest(order_begins, order_durations)
        keys = np.frombuffer(events.host.keys, np.int32)[rows]
        launches.find_owners(events.host.threads[rows[0]], order_begins, order_durations, parents, keys)
        inside = _inside(order_begins, bounds)
        _add_host(totals, events, keys[inside], self_us[inside])
        if inside.any():
            begins, durations = order_begins[inside], order_durations[inside]
            span = (begins + durations).max() - begins.min()
            totals.totals_us["Host_IDLE"] += float(span - covered_us(begins, durations))
    _add_device(totals, events, launches, bounds)
    return totals


def _complete_steps(events: PyTorchEvents, totals: StepTotals) -> np.ndarray | None:
    """Start and end of each complete step, shape (steps, 2), in order; None if the trace marks no step."""
    if not events.steps:
        return None
    bounds = np.array(sorted(events.steps.values()))
    begins = np.sort(np.frombuffer(events.host.begins_us, np.float64))
    counts = np.searchsorted(begins, bounds[:, 1]) - np.searchsorted(begins, bounds[:, 0])
    complete = (counts > 0) & (counts >= COMPLETE_SHARE * counts.max())
    if not complete.any():
        return None
    totals.marked = True
    totals.steps = int(complete.sum())
    totals.partial = int((~complete).sum())
    totals.step_us = float(np.median(bounds[complete, 1] - bounds[complete, 0]))
    return bounds[complete]


def _inside(times_us: np.ndarray, bounds: np.ndarray | None) -> np.ndarray:
    """Which times lie in a step."""
    if bounds is None:
        return np.ones(len(times_us), bool)
    step = np.searchsorted(bounds[:, 0], times_us, side="right") - 1
    return (step >= 0) & (times_us < bounds[np.maximum(step, 0), 1])


def _threads(host: Spans) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of each thread: its rows in nesting order, their starts and durations."""
    threads = np.frombuffer(host.threads, np.int32)
    begins, durations = np.frombuffer(host.begins_us, np.float64), np.frombuffer(host.durations_us, np.float64)
    by_thread = np.argsort(threads, kind="stable").astype(np.int32)
    ends = np.flatnonzero(np.diff(threads[by_thread])) + 1
    for rows in np.split(by_thread, ends) if len(by_thread) else ():
        ordered = rows[in_nesting_order(begins[rows], durations[rows])]
        yield ordered, begins[ordered], durations[ordered]


def _add_host(totals: StepTotals, events: PyTorchEvents, keys: np.ndarray, self_us: np.ndarray) -> None:
    table = load_translations()
    sums = np.bincount(keys, weights=self_us, minlength=len(events.operations))
    present = np.bincount(keys, minlength=len(events.operations)) > 0
    for (name, mask), us, seen in zip(events.operations, sums.tolist(), present.tolist(), strict=True):
        if not seen:
            continue
        translation = table.find(name)
        if not translation.types:
            totals.dropped_us += us
            continue
        for kind, share in shares(translation, None, mask).items():
            totals.totals_us[f"Host_{kind}"] += us * share


def _add_device(totals: StepTotals, events: PyTorchEvents, launches: _Launches, bounds: np.ndarray | None) -> None:
    device = events.device
    if not len(device.keys):
        return
    begins, durations = np.frombuffer(device.begins_us, np.float64), np.frombuffer(device.durations_us, np.float64)
    keys = np.frombuffer(device.keys, np.int32)
    owners, launched_us = launches.of(np.frombuffer(device.links, np.int64), begins)
    # A kernel belongs to the step that started it, though it may run when the host is further on.
    inside = _inside(launched_us, bounds)
    if not inside.any():
        return
    begins, durations, keys, owners = begins[inside], durations[inside], keys[inside], owners[inside]
    kernel_names, operations = list(events.kernels), list(events.operations)
    sums = np.bincount(keys, weights=durations, minlength=len(kernel_names))
    totals.kernels_us = {name: us for name, us in zip(kernel_names, sums.tolist(), strict=True) if us}
    table = load_translations()
    pairs = (owners.astype(np.int64) + 1) * len(kernel_names) + keys
    for pair, us in zip(*_summed(pairs, durations), strict=True):
        owner, kernel = divmod(pair, len(kernel_names))
        if owner == 0:
            totals.unlinked_us += us
            totals.totals_us[f"Device_{UNKNOWN}"] += us
            continue
        name, mask = operations[owner - 1]
        translation = table.find(name)
        found = shares(translation, kernel_names[kernel], mask) or {UNKNOWN: 1.0}
        for kind, share in found.items():
            totals.totals_us[f"Device_{kind}"] += us * share
    span_us = (begins + durations).max() - begins.min()
    totals.totals_us["Device_IDLE"] += float(max(0.0, span_us - covered_us(begins, durations)))


def _summed(keys: np.ndarray, values: np.ndarray) -> tuple[list[int], list[float]]:
    unique, inverse = np.unique(keys, return_inverse=True)
    return unique.tolist(), np.bincount(inverse, weights=values).tolist()


class _Launches:
    """Which operation made each call of the CUDA runtime, found by the time and thread of the call.

    Not by `External id`, which has been seen to name another operation.
    """

    def __init__(self, calls: Spans) -> None:
        self._begins = np.frombuffer(calls.begins_us, np.float64)
        self._links = np.frombuffer(calls.links, np.int64)
        threads = np.frombuffer(calls.threads, np.int32)
        self._by_thread = np.argsort(threads, kind="stable")
        self._sorted_threads = threads[self._by_thread]
        self._owners = np.full(len(self._begins), -1, np.int32)

    def find_owners(
        self, thread: int, begins: np.ndarray, durations: np.ndarray, parents: np.ndarray, keys: np.ndarray
    ) -> None:
        """Note the innermost of one thread's operations (in nesting order) that encloses each of its calls."""
        first, last = np.searchsorted(self._sorted_threads, [thread, thread + 1])
        rows = self._by_thread[first:last]
        if not len(rows):
            return
        at = self._begins[rows]
        inner = np.searchsorted(begins, at, side="right") - 1
        ends = begins + durations
        while (late := (inner >= 0) & (ends[np.maximum(inner, 0)] <= at)).any():
            inner[late] = parents[inner[late]]
        self._owners[rows] = np.where(inner >= 0, keys[np.maximum(inner, 0)], -1)

    def of(self, links: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Operation's key (-1: none) and time of the call for work with these correlations, which began then."""
        owners, launched = np.full(len(links), -1, np.int32), begins.copy()
        if len(self._links):
            order = np.argsort(self._links, kind="stable")
            place = np.minimum(np.searchsorted(self._links[order], links), len(order) - 1)
            rows = order[place]
            linked = (self._links[rows] == links) & (links >= 0)
            owners[linked] = self._owners[rows[linked]]
            launched[linked] = self._begins[rows[linked]]
        return owners, launched
