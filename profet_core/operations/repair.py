"""Repairs profiles that TensorFlow cut short, from the profile itself and without any fitted number.

TensorFlow's statistics keep the 500 costliest operations. In a complete profile the device rows, idle included, add up
to the step. Each host thread's rows add up to the steps it took part in, so that those of a profile of two steps are a
whole number of halves of a step. A profile in which operations are absent that every classifier's training step has
(matrix product, softmax, arg max), and every cheap one too, was cut; its host rows still tell the step, once the number
of threads is guessed, and so by how much its device rows fall short.
"""

from __future__ import annotations

import numpy as np

#: Host threads that are tried (a thread may take part in one of two steps), and by how much the host rows exceed
#: threads x step in complete profiles.
THREADS = np.arange(2, 8) / 2
HOST_EXCESS = 1.03
#: The share of the device time that was kept is taken to lie near 1 with this probability (mildly and severely cut
#: profiles), else anywhere between the bounds.
NEAR_COMPLETE = {"mild": 0.85, "severe": 0.15}
KEPT_NEAR, KEPT_CUT = (0.93, 1.01), (0.50, 0.93)
#: A profiled step takes a little longer than an unprofiled one: mean and deviation of the log ratio.
PROFILING_LOG, PROFILING_LOG_SD = 0.05, 0.10
MAX_PROFILED_OVER_LATENCY = 1.35
MAX_FACTOR = 2.0


def repair_factor(
    device_total_ms: np.ndarray,
    idle_ms: np.ndarray,
    host_total_ms: np.ndarray,
    truncated: np.ndarray,
    severely: np.ndarray,
    latency_ms: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """By how much each profile's busy device time should be multiplied, and how doubtful that is.

    Returns
    -------
    factor : (profiles,), 1 for complete profiles.
    doubt : (profiles,), standard deviation of the logarithm of the step over the thread counts, 0 for complete ones.

    All arguments have shape (profiles,), times are of one step. `latency_ms` is the anchor's measured latency, None if
    it is not known.
    """
    if not truncated.any():
        return np.ones(len(truncated)), np.zeros(len(truncated))
    step_ms = host_total_ms[:, None] / THREADS / HOST_EXCESS
    kept = np.divide(device_total_ms[:, None], step_ms, out=np.full(step_ms.shape, np.inf), where=step_ms > 0)
    near = np.where(severely, NEAR_COMPLETE["severe"], NEAR_COMPLETE["mild"])[:, None]
    weight = (
        near / np.ptp(KEPT_NEAR) * ((kept > KEPT_NEAR[0]) & (kept <= KEPT_NEAR[1]))
        + (1 - near) / np.ptp(KEPT_CUT) * ((kept > KEPT_CUT[0]) & (kept <= KEPT_CUT[1]))
        + 1e-9
    )
    log_step = np.log(np.maximum(step_ms, 1e-9))
    if latency_ms is not None:
        deviation = (log_step - np.log(latency_ms)[:, None] - PROFILING_LOG) / PROFILING_LOG_SD
        weight = weight * (np.exp(-(deviation**2) / 2) + 1e-6)
    weight /= weight.sum(axis=1, keepdims=True)
    mean = (weight * log_step).sum(axis=1)
    doubt = np.sqrt((weight * (log_step - mean[:, None]) ** 2).sum(axis=1))
    step = np.exp(mean)
    if latency_ms is not None:
        step = np.clip(step, latency_ms, MAX_PROFILED_OVER_LATENCY * latency_ms)
    busy_ms = np.maximum(device_total_ms - idle_ms, 1e-9)
    factor = np.clip((step - idle_ms) / busy_ms, 1.0, MAX_FACTOR)
    repaired = truncated & (host_total_ms > 0) & (device_total_ms > idle_ms)
    return np.where(repaired, factor, 1.0), np.where(repaired, doubt, 0.0)
