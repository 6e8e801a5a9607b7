"""Speedup of a step in another precision.

It depends on two factors per GPU, the compute share, and launches. A share s of the GPU's work, convolutions and
products, speeds up by exp(log k), the rest by exp(log m). Launch time does not change, so a launch-bound step gains
nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from profet_core.catalog.gpus import Gpu

#: Exponent for combining work and launches.
LAUNCH_POWER = 4.0
#: Ratio of half-precision peak to default peak at which the fitted `log_k` holds.
USUAL_PEAK_RATIO = 6.0
#: Bandwidth-bound work moves at best half the bytes.
MOST_LOG_M = math.log(2)
#: Maximum slowdown by AMP on tensor cores: casts and launches of a small network.
MOST_SLOWER = 1.1


@dataclass(frozen=True, slots=True)
class Factors:
    """Speedups on one GPU, natural logarithms.

    Attributes
    ----------
    curves : log k and log m from each of several tables; the step's speedup is their geometric mean.
    bound : upper bound of log k for any kernel. log_sd : standard deviation of the step's log speedup.
    log_offset : added to the log speedup of the curves' mean.
    """

    curves: tuple[tuple[float, float], ...]
    bound: float
    log_sd: float
    log_offset: float = 0.0

    @property
    def by_class(self) -> tuple[float, float]:
        """Log k and log m, each the mean of the bounded tables, to distinguish classes of operations."""
        log_k, log_m = (sum(curve[place] for curve in self.curves) / len(self.curves) for place in (0, 1))
        return min(max(log_k, 0.0), self.bound), min(max(log_m, 0.0), min(MOST_LOG_M, self.bound))

    def log_speedup(self, share: float, launch_share: float = 0.0) -> float:
        """Log speedup of a step.

        Parameters
        ----------
        share : of convolutions and products in the GPU's FP32 work. launch_share : of launch time in the step.

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


#: No speedup: no curve, and no gain from AMP.
SAME_SPEED = ((0.0, 0.0),)


def peak_ratio(gpu: Gpu) -> float:
    """Half-precision peak over the peak of the GPU's default precision, TF32 or FP32; 1 without tensor cores."""
    return (gpu.fp16_tensor_dense_tflops or gpu.fp32_tflops) / (gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops)


def peak_bound(gpu: Gpu) -> float:
    """Log ratio of tensor core peak to FP32 peak, the upper bound of a step's gain."""
    return math.log(max((gpu.fp16_tensor_dense_tflops or gpu.fp32_tflops) / gpu.fp32_tflops, 1.0))


def tf32_bound(gpu: Gpu) -> float:
    """Upper bound of the gain from TF32, in the logarithm."""
    return math.log(max((gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops) / gpu.fp32_tflops, 1.0))
