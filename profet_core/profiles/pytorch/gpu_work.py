"""Adds up what ran on one GPU: computing by operation, communication between GPUs, and idle time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.profiles.pytorch.events import PyTorchEvents, Spans
from profet_core.profiles.pytorch.host_work import NOBODY, Launches
from profet_core.profiles.pytorch.step_bounds import StepBounds
from profet_core.profiles.pytorch.step_totals import GpuTotals
from profet_core.profiles.pytorch.translations import Kernel
from profet_core.profiles.record import DEVICE_IDLE, DEVICE_PREFIX
from profet_core.profiles.trace_events.kernel_names import COLLECTIVE
from profet_core.profiles.trace_events.nested_times import covered_us, covered_within_us

#: A first step that took longer than this many of the others is one of start-up: libraries load and try their kernels.
COLD_RATIO = 2.0
#: A step whose GPU is idle for less than this share of it is bound by the GPU.
_BOUND_IDLE_SHARE = 0.1


class Owners(Protocol):
    """What started work on the GPU."""

    def shares(self, owner: int, kernel: Kernel) -> Mapping[str, float]:
        """TensorFlow's types of a kernel that `owner` (`NOBODY` if none) started, each with its share."""


def busiest_gpu(events: PyTorchEvents) -> tuple[Spans, int | None, int]:
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


class GpuWork:
    """One GPU's work, each piece with the operation and the step that started it."""

    def __init__(self, kernels: Spans, launches: Launches, steps: StepBounds) -> None:
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

    def add_up(self, kept: np.ndarray, alone_us: FloatArray, kernels: Sequence[Kernel], owners: Owners) -> GpuTotals:
        """Totals of the mean of the steps kept.

        Parameters
        ----------
        kept : (steps,), which steps count.
        alone_us : (steps,), length of each on the host, for steps that follow no other one.
        kernels : what the names of `keys` tell.
        owners : what the numbers of owners stand for.
        """
        totals = GpuTotals()
        inside = (self.steps >= 0) & kept[np.maximum(self.steps, 0)]
        if not inside.any():
            return totals
        count = int(kept.sum())
        totals.kernels_us = self._kernels_us(inside, kernels)
        totals.queued_us = float(self.durations[self._queued].sum())
        computes = inside & ~np.array([kernel.operation == COLLECTIVE for kernel in kernels])[self.keys]
        self._add_operations(totals, computes, count, kernels, owners)
        computed_us, busy_us = self._covered_us(computes), self._covered_us(inside)
        if computes.sum() < inside.sum():
            # What runs beside computing on another stream keeps nothing up.
            totals.communication_us = (busy_us - computed_us) / count
            totals.totals_us[DEVICE_PREFIX + COLLECTIVE] += totals.communication_us
        windows = self._windows(self._follows & kept)
        if len(windows):
            idle_us = windows[:, 1] - windows[:, 0] - covered_within_us(self.begins, self.durations, windows)
            totals.window_us = float((windows[:, 1] - windows[:, 0]).mean())
            totals.totals_us[DEVICE_IDLE] = max(0.0, float(idle_us.mean()))
        else:
            steps = self.steps[inside]
            spans = _spans(self.begins[inside], self.durations[inside], steps)
            totals.window_us = float(np.maximum(spans, alone_us[np.unique(steps)]).sum()) / count
            totals.totals_us[DEVICE_IDLE] = max(0.0, totals.window_us - busy_us / count)
        if totals.idle_us < _BOUND_IDLE_SHARE * totals.window_us:
            # Kernels of several streams share a GPU that hardly waits: each has its part of the time in which any ran.
            totals.share_time(computed_us / count)
        return totals

    def _kernels_us(self, inside: np.ndarray, kernels: Sequence[Kernel]) -> dict[str, float]:
        sums = np.bincount(self.keys[inside], weights=self.durations[inside], minlength=len(kernels))
        return {kernel.name: us for kernel, us in zip(kernels, sums.tolist(), strict=True) if us}

    def _add_operations(
        self, totals: GpuTotals, computes: np.ndarray, steps: int, kernels: Sequence[Kernel], owners: Owners
    ) -> None:
        pairs = (self.owners[computes] + 1) * len(kernels) + self.keys[computes]
        for pair, us in zip(*_summed(pairs, self.durations[computes]), strict=True):
            owner, key = divmod(pair, len(kernels))
            if owner - 1 == NOBODY:
                totals.unlinked_us += us / steps
            for kind, share in owners.shares(owner - 1, kernels[key]).items():
                totals.totals_us[DEVICE_PREFIX + kind] += us * share / steps

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
