"""Tells the training steps of a PyTorch trace apart: by the profiler's marks, the optimizer's, or what comes again."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from profet_recorder.profiles.intervals import FloatArray, nesting_order
from profet_recorder.profiles.kernel_names import operation_of_kernel
from profet_recorder.profiles.pytorch.events import BACKWARD_NODE, OPTIMIZER_STEP, PyTorchEvents, Spans
from profet_recorder.profiles.record import StepsBasis

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
        kept = (spans.begins_us, spans.durations_us, spans.keys, spans.threads, spans.links)
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
    partial : steps that were left out because they are not complete.
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
    ends_us = _kernel_ends(events, kernels)
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


def _kernel_ends(events: PyTorchEvents, kernels: Rows) -> np.ndarray | None:
    """Ends of the repetitions of a GPU's kernels; the first step may differ, as libraries try their kernels in it."""
    # Not an optimizer alone, which does the same for each weight.
    heavy = np.array([(operation_of_kernel(name) or "").startswith(_HEAVY) for name in events.kernels], bool)
    return _repeated_ends(kernels, np.arange(len(kernels.keys)), _MIN_KERNELS, heavy)


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
