"""How much faster a step is in another precision: two factors per GPU, the step's own share, and its launches.

A share s of the GPU's work, convolutions and products, runs exp(log k) times as fast, the rest exp(log m) times.
Launches stay: a step that is bound by them gains nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from profet_core.catalog.gpus import Gpu

#: Power in which work and launches add up.
LAUNCH_POWER = 4.0
#: The ratio of half precision's peak to the peak without it at which the fitted `log_k` holds.
USUAL_PEAK_RATIO = 6.0
#: Work bound by bandwidth moves half the bytes at best.
MOST_LOG_M = math.log(2)
#: On tensor cores AMP takes at most this many times as long: casts and launches of a small network.
MOST_SLOWER = 1.1


@dataclass(frozen=True, slots=True)
class Factors:
    """Speed-ups on one GPU, natural logarithms.

    Attributes
    ----------
    curves : log k and log m as each of several tables has them; the step's speed-up is their geometric mean.
    bound : log k that no kernel exceeds. log_sd : of the step's log speed-up.
    log_offset : added to the log speed-up of the curves' mean.
    """

    curves: tuple[tuple[float, float], ...]
    bound: float
    log_sd: float
    log_offset: float = 0.0

    @property
    def by_class(self) -> tuple[float, float]:
        """Log k and log m, each the tables' mean within its bound: to tell classes of operations apart."""
        log_k, log_m = (sum(curve[place] for curve in self.curves) / len(self.curves) for place in (0, 1))
        return min(max(log_k, 0.0), self.bound), min(max(log_m, 0.0), min(MOST_LOG_M, self.bound))

    def log_speedup(self, share: float, launch_share: float = 0.0) -> float:
        """Speed-up of a step, in the logarithm.

        Parameters
        ----------
        share : convolutions and products, of the GPU's work in FP32. launch_share : what launches alone take, of the
            step.

        >>> factors = Factors(((math.log(4), math.log(2)),), math.log(8), 0.1)
        >>> round(math.exp(factors.log_speedup(0.5)), 3), factors.log_speedup(0.5, 1.0) <= 0
        (2.667, True)
        """
        if self.curves == SAME_SPEED:
            return 0.0
        logs = [math.log(share * math.exp(-log_k) + (1 - share) * math.exp(-log_m)) for log_k, log_m in self.curves]
        least = share * math.exp(-self.bound) + (1 - share) * math.exp(-min(MOST_LOG_M, self.bound))
        left = max(math.exp(sum(logs) / len(logs) - self.log_offset), least)
        launches = min(max(launch_share, 0.0), 1.0)
        joined = (left**LAUNCH_POWER + launches**LAUNCH_POWER) ** (1 / LAUNCH_POWER)
        return -math.log(min(joined, max(MOST_SLOWER, left)))


#: The same speed: no curve, and nothing that AMP could add.
SAME_SPEED = ((0.0, 0.0),)


def peak_ratio(gpu: Gpu) -> float:
    """Peak of half precision over that of what the GPU does unasked, TF32 or FP32; 1 without tensor cores."""
    return (gpu.fp16_tensor_dense_tflops or gpu.fp32_tflops) / (gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops)


def peak_bound(gpu: Gpu) -> float:
    """Log ratio of tensor cores' peak to FP32's: no step gains more."""
    return math.log(max((gpu.fp16_tensor_dense_tflops or gpu.fp32_tflops) / gpu.fp32_tflops, 1.0))


def tf32_bound(gpu: Gpu) -> float:
    """The same of TF32."""
    return math.log(max((gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops) / gpu.fp32_tflops, 1.0))
