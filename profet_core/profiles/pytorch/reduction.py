"""Reduces the events of a PyTorch trace to the time per TensorFlow operation type of the mean step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from profet_core.profiles.pytorch.events import PyTorchEvents
from profet_core.profiles.pytorch.gpu_work import GpuWork, busiest_gpu
from profet_core.profiles.pytorch.host_work import HostWork
from profet_core.profiles.pytorch.step_bounds import find_steps
from profet_core.profiles.pytorch.step_totals import GpuTotals, StepTotals
from profet_core.profiles.pytorch.translations import kernel_of


def reduce_events(events: PyTorchEvents, check_time: Callable[[], None] = lambda: None) -> StepTotals:
    """Self time per operation on the CPU's threads, kernels by the operation that started them, and idle times.

    Parameters
    ----------
    check_time : called now and then, raises what ends a reading that takes too long.
    """
    device, gpu_number, gpus = busiest_gpu(events)
    steps = find_steps(events, device)
    check_time()
    host = HostWork(events, check_time)
    gpu = GpuWork(device, host.launches, steps)
    bounds = _closed(steps.bounds_us, host.span_us if host.threads else gpu.span_us)
    lengths_us = bounds[:, 1] - bounds[:, 0]
    cold_us = gpu.first_is_cold(bounds[0, 0])
    kept = np.ones(len(steps), bool)
    kept[0] = cold_us is None
    kernels = [kernel_of(name) for name in events.kernels]
    return StepTotals(
        host=host.add_up(steps, kept),
        gpu=gpu.add_up(kept, lengths_us, kernels, host) if len(device.keys) else GpuTotals(),
        gpu_number=gpu_number,
        gpus=gpus,
        steps=len(steps),
        basis=steps.basis,
        partial=steps.partial,
        cold_us=cold_us,
        step_us=float(np.median(lengths_us[kept])) if steps.basis == "marked" else None,
    )


def _closed(bounds_us: np.ndarray, span_us: tuple[float, float]) -> np.ndarray:
    """Bounds of steps; where they are open, those of `span_us`."""
    return np.column_stack(
        [np.where(np.isinf(bounds_us[:, side]), span_us[side], bounds_us[:, side]) for side in (0, 1)]
    )
