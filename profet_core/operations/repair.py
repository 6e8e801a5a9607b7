"""Impute profiles that TensorFlow truncated, without fitted numbers.

TensorFlow's statistics keep the 500 costliest operations. In a complete profile the device rows, including idle, add up
to the step. The rows of each host thread add up to the steps it took part in, so in a profile of two steps they are a
multiple of half a step. A profile is truncated if it lacks the operations of every classifier's training step (matrix
product, softmax, arg max) and every cheap one. Its host rows still give the step duration for a guessed number of
threads, and thus the missing device time.
"""

from __future__ import annotations

import numpy as np

#: Candidate numbers of host threads (a thread may take part in one of two steps), and the excess of host rows over
#: threads x step in complete profiles.
THREADS = np.arange(2, 8) / 2
HOST_EXCESS = 1.03
#: Prior probability that the retained share of device time is near 1 (mildly and severely truncated profiles);
#: otherwise it is anywhere between the bounds.
NEAR_COMPLETE = {"mild": 0.85, "severe": 0.15}
KEPT_NEAR, KEPT_CUT = (0.93, 1.01), (0.50, 0.93)
#: A profiled step takes slightly longer than an unprofiled one: mean and standard deviation of the log ratio.
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
    """Factor for each profile's busy device time, with its uncertainty.

    Returns
    -------
    factor : (profiles,), 1 for complete profiles.
    doubt : (profiles,), standard deviation of the logarithm of the step over the thread counts, 0 for complete ones.

    All arguments have shape (profiles,); times are per step. `latency_ms` is the anchor's measured latency, None if
    unknown.
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
