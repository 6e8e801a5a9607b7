"""Speed of a GPU from its specs: FP32 peak, memory bandwidth and generation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.catalog.gpus import Gpu, Gpus

#: TF32 makes a step faster by this power of the ratio of the TF32 to the FP32 peak: A100's published steps in both give
#: 0.27. Networks gain far less than the peak suggests.
TF32_POWER = 0.25


def log_tf32_gain(gpus: Gpus, gpu: Gpu) -> float:
    """Log speedup of a step by TF32: 0 without it.

    The ratio of peaks is the median of the GPU's generation, because the law's TF32 speed doesn't depend on the TF32
    peak either: a GPU is then never slower in FP32 than a smaller one of its generation.
    """
    if gpu.tf32_tensor_dense_tflops is None:
        return 0.0
    same = [one for one in {**gpus, gpu.name: gpu}.values() if one.compute_capability == gpu.compute_capability]
    ratios = [one.tf32_tensor_dense_tflops / one.fp32_tflops for one in same if one.tf32_tensor_dense_tflops]
    return TF32_POWER * math.log(max(float(np.median(ratios)), 1.0))


@dataclass(frozen=True)
class SpecsLaw:
    """log speed = intercept + a * log FP32 peak + b * log bandwidth + generation, all relative to the reference GPU.

    Fitted on published ResNet-50 speeds as a Bayesian linear model, so that its standard deviation grows with the
    distance from the GPUs that it was fitted on. GPUs share all its factors; speeds of GPUs with TF32 are TF32.

    Attributes
    ----------
    coefficients : intercept, a, b, then one per generation, (3 + generations,).
    covariance : of the coefficients. generations : compute capabilities.
    generation_log_sd : of an unknown generation's effect. own_log_sd : of a GPU around the law.
    gpus : number of GPUs it was fitted on.
    """

    coefficients: FloatArray
    covariance: FloatArray
    generations: tuple[float, ...]
    generation_log_sd: float
    own_log_sd: float
    gpus: int

    def columns(self, gpu: Gpu, reference: Gpu) -> FloatArray:
        """The law's inputs, (3 + generations,)."""
        peak, bandwidth = gpu.fp32_tflops / reference.fp32_tflops, gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s
        generation = [float(one == gpu.compute_capability) for one in self.generations]
        return np.array([1.0, math.log(peak), math.log(bandwidth), *generation])

    def knows(self, gpu: Gpu) -> bool:
        """Whether it was fitted on a GPU of the same generation."""
        return gpu.compute_capability in self.generations

    def log_speed(self, gpu: Gpu, reference: Gpu) -> float:
        """Log speed of the benchmark's work over the reference's, in TF32 where the GPU has it."""
        return float(self.columns(gpu, reference) @ self.coefficients)

    def log_sd(self, gpu: Gpu, reference: Gpu) -> float:
        """Standard deviation of `log_speed`."""
        columns = self.columns(gpu, reference)
        variance = columns @ self.covariance @ columns + self.own_log_sd**2
        return math.sqrt(variance if self.knows(gpu) else variance + self.generation_log_sd**2)
