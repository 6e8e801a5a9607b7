"""Adds up what the CPU's threads did in a PyTorch trace, and tells which operation started which work on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from profet_core.profiles.pytorch.events import BACKWARD_NODE, OPTIMIZER_STEP, PyTorchEvents, Spans, update_operation
from profet_core.profiles.pytorch.step_bounds import StepBounds
from profet_core.profiles.pytorch.step_totals import HostTotals
from profet_core.profiles.pytorch.translations import COPY, Kernel, Translation, load_translations, shares
from profet_core.profiles.record import HOST_IDLE, HOST_PREFIX, UNKNOWN
from profet_core.profiles.trace_events.nested_times import gaps_us, in_nesting_order, innermost, self_times

#: What no operation of the trace started.
NOBODY = -1


class Launches:
    """Which operation made each call of the CUDA runtime.

    Not by `External id`, which has been seen to name another operation.
    """

    def __init__(self, calls: Spans) -> None:
        self._begins = np.frombuffer(calls.begins_us, np.float64)
        self._links = np.frombuffer(calls.links, np.int64)
        threads = np.frombuffer(calls.threads, np.int32)
        self._by_thread = np.lexsort((self._begins, threads))
        self._sorted_threads = threads[self._by_thread]
        self._owners = np.full(len(self._begins), NOBODY, np.int64)

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
            self._owners[rows] = np.where(inner >= 0, owners[np.maximum(inner, 0)], NOBODY)

    def of(self, links: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Owner and time of the call for work with these correlations, which began then; nobody's keep their time.

        Correlations ascend: work below the first call's was started before the recording, and its time is NaN.
        """
        owners, launched = np.full(len(links), NOBODY, np.int64), begins.copy()
        if len(self._links):
            order = np.argsort(self._links, kind="stable")
            place = np.minimum(np.searchsorted(self._links[order], links), len(order) - 1)
            rows = order[place]
            linked = (self._links[rows] == links) & (links >= 0)
            owners[linked] = self._owners[rows[linked]]
            launched[linked] = self._begins[rows[linked]]
            launched[(links >= 0) & (links < self._links.min())] = np.nan
        return owners, launched


#: What loads a library when it is called for the first time.
_LOADS_LIBRARIES = ("Conv2D", "MatMul", "FusedBatchNorm", "DepthwiseConv2d")


class HostWork:
    """What the CPU's threads did: self times, and which operation started which work."""

    def __init__(self, events: PyTorchEvents, check_time: Callable[[], None]) -> None:
        self._check_time = check_time
        self._operations = list(events.operations)
        self._translations = [load_translations().find(name) for name, _ in self._operations]
        self._marks = np.array([name.startswith(OPTIMIZER_STEP) for name, _ in self._operations], bool)
        backward = np.array([bool(BACKWARD_NODE.match(name)) for name, _ in self._operations], bool)
        self._backward = _spans_of(events.host, backward)
        self.launches = Launches(events.calls)
        self.threads: list[_Thread] = []
        first_us, last_us = np.inf, -np.inf
        inside: dict[int, list[int]] = {}
        for rows, begins, durations in _threads(events.host):
            check_time()
            self_us = self_times(begins, durations)
            keys = np.frombuffer(events.host.keys, np.int32)[rows]
            optimizers = _updates(begins, durations, keys, self._marks, self._backward)
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

    def add_up(self, steps: StepBounds, kept: np.ndarray) -> HostTotals:
        """Totals of the mean of the steps kept, (steps,) of True and False."""
        totals = HostTotals()
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
            unique, inverse = np.unique(owners, return_inverse=True)
            for owner, us in zip(unique.tolist(), np.bincount(inverse, weights=self_us).tolist(), strict=True):
                found = self.shares(owner, None)
                if not found:
                    totals.dropped_us += us / count
                for kind, share in found.items():
                    totals.totals_us[HOST_PREFIX + kind] += us * share / count
            # As if each step had been recorded alone: a thread is idle between its operations of one step.
            same = np.diff(step[rows]) == 0
            idle_us = gaps_us(thread.begins[rows], thread.durations[rows])[same].sum()
            totals.totals_us[HOST_IDLE] += float(idle_us) / count
            heavy = self_us[loads[owners % len(self._operations)]]
            totals.longest_us = max(totals.longest_us, float(heavy.max(initial=0.0)))
        return totals


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
