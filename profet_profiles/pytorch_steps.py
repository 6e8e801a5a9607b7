"""Finds the training steps of a PyTorch trace: by the profiler's marks, the optimizers' updates, or what repeats.

Steps that are not like the others, such as a smaller last batch, are left out of the mean.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from profet_profiles.intervals import FloatArray, nesting_order, usual_work
from profet_profiles.kernel_names import operation_of_kernel
from profet_profiles.limits import Spans
from profet_profiles.pytorch_events import (
    BACKWARD_NODE,
    OPTIMIZER_STEP,
    RGB,
    ZERO_GRAD,
    PyTorchEvents,
    translate,
)
from profet_profiles.record import StepsBasis, is_forward

#: The last ProfilerStep was cut off if it has fewer operations than this share of any other: the profiler opens one
#: more at the end.
COMPLETE_SHARE = 0.5
#: What follows the last step found is a part of another one if it has this share of a step's operations.
_PARTIAL_SHARE = 0.3
#: Steps that follow each other leave less than this share of a step between them.
_ADJACENT_SHARE = 0.5
#: A sequence that repeats within fewer kernels may be layers that follow each other.
_MIN_KERNELS = 8
#: Types that begin so do a network's work.
HEAVY = ("Conv", "DepthwiseConv", "MatMul")


class Rows(NamedTuple):
    """`Spans` as arrays, each (events,)."""

    begins: FloatArray
    durations: FloatArray
    keys: np.ndarray
    threads: np.ndarray
    links: np.ndarray

    @classmethod
    def from_spans(cls, spans: Spans) -> Rows:
        """Return the numbers without a copy."""
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
    """Start and end of each step of a trace.

    Attributes
    ----------
    bounds_us : (steps, 2), start and end, ascending; (-inf, inf) if all of the trace is one.
    ends_us : (steps,), a place within or at the end of each step that is the same one in all.
    follows : (steps,), True where the step before it is the one that ran before it.
    basis : how the number is known.
    on_device : the times are those of kernels, as the trace holds no operation of the host.
    partial, untrained, split : incomplete steps and marks without a backward pass, which are ignored; marks that hold
        several steps.
    """

    bounds_us: np.ndarray
    ends_us: np.ndarray
    follows: np.ndarray
    basis: StepsBasis
    on_device: bool = False
    partial: int = 0
    untrained: int = 0
    split: int = 0

    def step_of(self, times_us: np.ndarray) -> np.ndarray:
        """Index of the step that each time lies in, -1 where it lies in none."""
        step = np.searchsorted(self.bounds_us[:, 0], times_us, side="right") - 1
        return np.where((step >= 0) & (times_us < self.bounds_us[np.maximum(step, 0), 1]), step, -1)


def find_steps(events: PyTorchEvents, host: Rows, kernels: Rows, loop: Loop) -> StepBounds:
    """Return the steps of a trace; `kernels` is what ran on one GPU."""
    if marked := _profiler_steps(events, host, loop):
        return marked
    for ends_us in (loop.step_ends(), _gradient_ends(events, host)):
        if ends_us is not None:
            return _counted(ends_us, host.begins, host.ends)
    # What repeats is not an optimizer alone, which does the same for each weight. The first step may differ, as
    # libraries try their kernels in it.
    heavy = np.array([(operation_of_kernel(name) or "").startswith(HEAVY) for name in events.kernels], bool)
    ends_us = _repeated_ends(kernels, np.arange(len(kernels.keys)), _MIN_KERNELS, heavy)
    if ends_us is not None:
        return _counted(ends_us, kernels.begins, kernels.ends, on_device=True)
    whole, last = np.array([[-np.inf, np.inf]]), np.array([np.inf])
    return StepBounds(whole, last, np.array([False]), "assumed", on_device=not len(host.keys))


def _profiler_steps(events: PyTorchEvents, host: Rows, loop: Loop) -> StepBounds | None:
    """Each complete ProfilerStep that trains; one that holds several updates of the same optimizer is several steps."""
    if not events.steps:
        return None
    bounds = np.array(sorted(events.steps.values()))
    order = np.argsort(host.begins, kind="stable")
    begins = host.begins[order]
    counts = np.searchsorted(begins, bounds[:, 1]) - np.searchsorted(begins, bounds[:, 0])
    bounds, counts = bounds[counts > 0], counts[counts > 0]
    trains = np.array([loop.trains_between(*bound) for bound in bounds.tolist()], bool)
    untrained = int((~trains).sum()) if trains.any() else 0
    if untrained:
        bounds, counts = bounds[trains], counts[trains]
    # Steps differ, as where a critic is trained more often than its generator: only the last one may be cut off.
    partial = int(len(counts) > 1 and counts[-1] < COMPLETE_SHARE * counts[:-1].min())
    bounds = bounds[: len(bounds) - partial]
    if not len(bounds):
        return None
    lengths = bounds[:, 1] - bounds[:, 0]
    follows = np.zeros(len(bounds), bool)
    follows[1:] = bounds[1:, 0] - bounds[:-1, 1] < _ADJACENT_SHARE * lengths[1:]
    steps = StepBounds(bounds, bounds[:, 1], follows, "marked", partial=partial, untrained=untrained)
    inside = [loop.step_ends_between(*bound) for bound in bounds.tolist()]
    if all(len(ends) < 2 for ends in inside):
        return steps
    parts, ends = [], host.ends[order]
    for (begin, end), ends_us, is_next in zip(bounds.tolist(), inside, follows.tolist(), strict=True):
        loop.check_time()
        rows = slice(*np.searchsorted(begins, [begin, end]).tolist())
        part = _counted(ends_us if len(ends_us) else np.array([end]), begins[rows], ends[rows])
        part.bounds_us[0, 0], part.bounds_us[-1, 1] = begin, min(end, part.bounds_us[-1, 1])
        part.follows[0] = is_next
        parts.append(part)
    columns = ((part.bounds_us, part.ends_us, part.follows) for part in parts)
    bounds, step_ends, follows = (np.concatenate(column) for column in zip(*columns, strict=True))
    cut = partial + sum(part.partial for part in parts)
    split = sum(len(ends_us) > 1 for ends_us in inside)
    return StepBounds(bounds, step_ends, follows, "counted", partial=cut, untrained=untrained, split=split)


def _counted(ends_us: np.ndarray, begins: FloatArray, ends: FloatArray, on_device: bool = False) -> StepBounds:
    """Return the steps that end, but for what follows the last one, at `ends_us`; the events tell where that ends."""
    count, partial, tail_us, last_end = len(ends_us), 0, 0.0, np.inf
    if count > 1:
        # What a person's loop does behind the optimizer belongs to its step, in every step as in the last one.
        before = np.searchsorted(np.sort(begins), ends_us, side="right")
        if len(begins) - before[-1] > _PARTIAL_SHARE * np.median(np.diff(before)):
            partial, last_end = 1, ends_us[-1]
        else:
            tail_us = max(float(ends.max() - ends_us[-1]), 0.0)
            tail_us = tail_us if tail_us < np.diff(ends_us).min() else 0.0
    cuts = ends_us[:-1] + tail_us
    bounds = np.column_stack([np.concatenate([[-np.inf], cuts]), np.concatenate([cuts, [last_end]])])
    return StepBounds(bounds, ends_us, np.arange(count) > 0, "counted", on_device, partial)


# --- what the loop does -----------------------------------------------------------------------------------------------

#: The forward work of a network, autograd's nodes, what sums a gradient, what clears them, and an optimizer's update.
_FORWARD, _NODE, _ACCUMULATE, _ZERO, _UPDATE = range(1, 6)
_ACCUMULATES = "torch::autograd::AccumulateGrad"
#: Updates before which autograd's nodes are the same ones by this share are of the same optimizer.
_ALIKE_SHARE = 0.95
#: More kinds of updates are no cycle of optimizers, longer cycles are not looked for, and so many networks at most are
#: trained in turn in a trace of one step.
_MAX_KINDS, _MAX_CYCLE, _MAX_ONCE = 50, 100, 3
#: A forward pass has at least this share of another one's operations; a loss may run a few of its own.
_PASS_SHARE = 0.5


class Loop:
    """Turns of one process: forward and backward passes, cleared gradients and updates.

    Attributes
    ----------
    check_time : raises where reading takes too long.
    ends_us : (updates,), ends of the optimizers' marks, ascending; those inside of others are none.
    kinds : (updates,), numbers of the optimizers: by class, and by the backward pass before the update.
    """

    def __init__(self, events: PyTorchEvents, host: Rows, check_time: Callable[[], None]) -> None:
        self.check_time = check_time
        names = [name for name, _ in events.operations]
        codes = np.array([_phase(name) for name in names], np.int8)[host.keys] if names else np.zeros(0, np.int8)
        # Traces of several processes may be merged into one; the others' updates are not this one's.
        numbers = {process: number for number, (process, _) in enumerate(events.threads)}
        processes = np.array([numbers[process] for process, _ in events.threads], int)[host.threads]
        rows = np.flatnonzero(codes == _UPDATE)
        rows = rows if len(rows) else np.flatnonzero(codes == _NODE)
        if len(rows):
            codes = np.where(processes == Counter(processes[rows].tolist()).most_common(1)[0][0], codes, 0)
        codes = _without_recomputed(host, codes, check_time)
        ends, labels = list[float](), list[int]()
        for row in host.nested(np.flatnonzero(codes == _UPDATE)).tolist():
            if not ends or host.begins[row] >= ends[-1]:
                ends.append(float(host.begins[row] + host.durations[row]))
                labels.append(int(host.keys[row]))
        self.ends_us, self._labels = np.array(ends), [names[label] for label in labels]
        rows = np.flatnonzero((codes > 0) & (codes < _UPDATE))
        rows = rows[np.argsort(host.begins[rows], kind="stable")]
        self._begins, self._codes = host.begins[rows], codes[rows]
        self._nodes = np.sort(host.begins[codes == _NODE])
        #: Whether each update follows a backward pass of its own.
        self._is_own = np.ones(len(ends), bool)
        self.kinds = np.array(self._find_kinds(host.keys[rows]), int)

    def trains_between(self, begin_us: float, end_us: float) -> bool:
        """Return True if a backward pass begins in this time."""
        return bool(np.diff(np.searchsorted(self._nodes, [begin_us, end_us]))[0] > 0)

    def step_ends_between(self, begin_us: float, end_us: float) -> np.ndarray:
        """Find the ends of the steps in this time: one or none, or each repetition of the same updates."""
        self.check_time()
        first, last = np.searchsorted(self.ends_us, [begin_us, end_us])
        ends, kinds = self.ends_us[first:last], self.kinds[first:last]
        for period in range(1, min(len(ends) // 2, _MAX_CYCLE) + 1):
            if len(ends) % period == 0 and (kinds[period:] == kinds[:-period]).all():
                return ends[period - 1 :: period]
        return ends[-1:]

    def step_ends(self) -> np.ndarray | None:
        """Find the ends of the steps of a trace without marks; None if it holds no update."""
        ends, kinds = self.ends_us, self.kinds
        alike = [
            float((kinds[period:] == kinds[:-period]).mean())
            for period in range(1, min(len(ends) // 2, _MAX_CYCLE) + 1)
        ]
        periods = [period for period, share in enumerate(alike, 1) if share == 1] or [
            period for period, share in enumerate(alike, 1) if share > 0.5
        ]
        if periods:
            return ends[periods[0] - 1 :: periods[0]]
        counts = Counter(self._labels)
        if len(counts) < 2:
            # Of few updates that differ, each is of another network's optimizer.
            return (ends if len(ends) > _MAX_ONCE else ends[-1:]) if len(ends) else None
        # Two optimizers a step are as many each; one that runs several times a step has a multiple of the other's.
        steps = math.gcd(*counts.values())
        steps = steps if steps == min(counts.values()) else max(counts.values())
        label = next(label for label, count in counts.items() if count == steps)
        return ends[[own == label for own in self._labels]]

    def updates_in(self, steps: StepBounds) -> tuple[np.ndarray, np.ndarray]:
        """Count the updates with backward passes of their own in each step, and the most of one kind, (steps,)."""
        step = steps.step_of(np.nextafter(self.ends_us, -np.inf))
        counted = (step >= 0) & (self._is_own | ~self._is_own.any())
        pairs, counts = np.unique(step[counted] * (_MAX_KINDS + 1) + self.kinds[counted], return_counts=True)
        updates, most = np.zeros((2, len(steps.bounds_us)), int)
        np.add.at(updates, pairs // (_MAX_KINDS + 1), counts)
        np.maximum.at(most, pairs // (_MAX_KINDS + 1), counts)
        return updates, most

    def passes_in(self, steps: StepBounds) -> np.ndarray:
        """Count the backward passes before an update of each step, each of a forward pass of its own, (steps,)."""
        times = np.concatenate([self._begins, self.ends_us])
        codes = np.concatenate([self._codes, np.full(len(self.ends_us), _UPDATE, np.int8)])
        order = np.argsort(times, kind="stable")
        times, codes = times[order], codes[order]
        # Gradients that only are passed on, as to a penalty of their size, are not summed.
        backward = _ACCUMULATE if (codes == _ACCUMULATE).any() else _NODE
        counts = np.isin(codes, [_FORWARD, backward, _ZERO, _UPDATE])
        times, codes = times[counts], codes[counts]
        starts = np.flatnonzero(np.diff(codes, prepend=0))
        lengths = np.diff(np.append(starts, len(codes)))
        passes = np.zeros(len(steps.bounds_us), int)
        summed, forward = list[tuple[int, int]](), 0
        runs = (starts, codes[starts], lengths, steps.step_of(np.nextafter(times[starts], -np.inf)))
        for _, code, length, step in zip(*(column.tolist() for column in runs), strict=True):
            if code == _FORWARD:
                forward += length
            elif code == backward:
                summed.append((step, forward))
                forward = 0
            else:
                lengths_here = [length for own, length in summed if own == step and length]
                if code == _UPDATE and step >= 0 and lengths_here:
                    number = sum(length >= _PASS_SHARE * max(lengths_here) for length in lengths_here)
                    passes[step] = max(passes[step], number)
                summed = []
        return passes

    def _find_kinds(self, keys: np.ndarray) -> list[int]:
        """Return the number of each update's optimizer."""
        cuts = np.searchsorted(self._begins, self.ends_us, side="right")
        kinds: list[tuple[str, bool, Counter[int]]] = []
        numbers = list[int]()
        for label, first, last in zip(self._labels, [0, *cuts.tolist()], cuts.tolist(), strict=False):
            self.check_time()
            codes = self._codes[first:last]
            nodes = Counter(keys[first:last][(codes == _NODE) | (codes == _ACCUMULATE)].tolist())
            work = label, bool((codes == _FORWARD).any()), nodes
            kind = next((number for number, other in enumerate(kinds) if _is_alike(work, other)), len(kinds))
            if kind == len(kinds) < _MAX_KINDS:
                kinds.append(work)
            self._is_own[len(numbers)] = bool(nodes)
            numbers.append(kind)
        if len(numbers) > 2 and numbers[0] != numbers[1] == numbers[2] and kinds[numbers[0]][2] < kinds[numbers[1]][2]:
            # The recording began within the first step.
            numbers[0] = numbers[1]
        return numbers


def _phase(name: str) -> int:
    """Classify an operation of the host as part of a loop's turn; 0 for most."""
    if name.startswith(OPTIMIZER_STEP):
        return _UPDATE
    if name == ZERO_GRAD:
        return _ZERO
    if name == _ACCUMULATES:
        return _ACCUMULATE
    if BACKWARD_NODE.match(name):
        return _NODE
    return _FORWARD if any(map(is_forward, translate(name).types)) else 0


def _without_recomputed(host: Rows, codes: np.ndarray, check_time: Callable[[], None]) -> np.ndarray:
    """`codes` without forward work inside of autograd's nodes: gradients' products, and what checkpointing repeats."""
    codes, rows = codes.copy(), np.flatnonzero((codes == _FORWARD) | (codes == _NODE))
    rows = rows[np.lexsort((host.begins[rows], host.threads[rows]))]
    for block in np.split(rows, np.flatnonzero(np.diff(host.threads[rows])) + 1):
        check_time()
        # The latest end of a node so far, when each of these begins.
        ends = np.maximum.accumulate(np.where(codes[block] == _NODE, host.ends[block], -np.inf))
        codes[block[(codes[block] == _FORWARD) & (host.begins[block] < ends)]] = 0
    return codes


def _is_alike(first: tuple[str, bool, Counter[int]], other: tuple[str, bool, Counter[int]]) -> bool:
    """Return True for work before two updates that is of the same kind, of more or fewer passes."""
    if first[:2] != other[:2]:
        return False
    totals = first[2].total(), other[2].total()
    if not all(totals):
        return totals[0] == totals[1]
    common = sum(min(count / totals[0], other[2][key] / totals[1]) for key, count in first[2].items())
    return common >= _ALIKE_SHARE


# --- steps that are like each other -----------------------------------------------------------------------------------

#: Batch, channels, height and width.
Image = tuple[int, int, int, int]
#: How a step that is left out differs from the others.
Difference = Literal["batch", "size", "work"]


def images_of(events: PyTorchEvents, steps: StepBounds) -> list[Image | None]:
    """Find the input of each step's first convolution, the first one of images with three channels if there is any."""
    begins, shapes = np.frombuffer(events.inputs), np.frombuffer(events.shapes, np.int32).reshape(-1, 4)
    order = np.lexsort((begins, shapes[:, 1] != RGB))
    step = steps.step_of(begins[order])
    with_images, first = np.unique(step, return_index=True)
    first_shapes: dict[int, Image] = dict(
        zip(with_images.tolist(), map(tuple, shapes[order][first].tolist()), strict=True)
    )
    return [first_shapes.get(number) for number in range(len(steps.bounds_us))]


def usual_steps(
    images: Sequence[Image | None], updates: np.ndarray, work: FloatArray, kernels: FloatArray
) -> tuple[np.ndarray, dict[Difference, int]]:
    """Which steps are like most others, and how many of the rest differ in what.

    Of as many steps of each kind the larger ones count: a batch is smaller where the images end.

    Parameters
    ----------
    images : of each step; None if it is not known.
    updates, work, kernels : (steps,), how many updates each holds, what it did beside these, by time, and how many
        kernels did it.
    """
    kept, differ = np.ones(len(work), bool), dict[Difference, int]()

    def keep(rows: np.ndarray, usual: np.ndarray, difference: Difference) -> None:
        kept[rows[~usual]] = False
        if not usual.all():
            differ[difference] = differ.get(difference, 0) + int((~usual).sum())

    batches = np.array([image[0] if image else 0 for image in images])
    # What repeats without images are layers, such as a transformer's blocks.
    if any(images) and _most_common(batches):
        keep(np.arange(len(kept)), batches == _most_common(batches), "batch")
        rows = np.flatnonzero(kept)
        areas = np.array([image[2] * image[3] for image in images if image and image[0] == batches[rows[0]]])
        usual = areas == _most_common(areas)
        if 2 * usual.sum() > len(rows) or 2 * len(np.unique(areas)) <= len(rows):
            keep(rows, usual, "size")
        else:
            return kept, differ  # each has another size, as where a batch is padded to its largest image
    # Where one optimizer has its turn less often, or one update follows several passes with a mark each, steps differ.
    for number in np.unique(updates[kept]).tolist():
        rows = np.flatnonzero(kept & (updates == number))
        keep(rows, usual_work(work[rows], kernels[rows]), "work")
    return kept, differ


def _most_common(values: np.ndarray) -> int:
    distinct, counts = np.unique(values, return_counts=True)
    return int(distinct[counts == counts.max()][-1])


# --- what repeats -----------------------------------------------------------------------------------------------------


def _gradient_ends(events: PyTorchEvents, host: Rows) -> np.ndarray | None:
    """Return the ends of the repetitions of autograd's nodes, on the thread that has most of them."""
    nodes = [key for key, (name, _) in enumerate(events.operations) if BACKWARD_NODE.match(name)]
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
