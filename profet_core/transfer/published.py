"""Compare a GPU's training throughput with the reference GPU's steps."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np

from profet_core.catalog.own_gpus import ThroughputPoint
from profet_core.errors import InputError
from profet_core.transfer.model import TransferModel
from profet_core.transfer.step import StepLaw, gpu_time_ms

REFERENCE_STEPS_NAME = "reference_steps.csv"
#: Network that defines a GPU's speed.
BENCHMARK = "ResNet50"
_BENCHMARK_SIZE = (224, 64)
#: Minimum batch size: smaller ones wait for the host, which differs. Beyond the largest measured batch (128 or 256), a
#: step is assumed proportional to its batch.
BATCH_RANGE = (16, 4096)
#: Between 128, 224 and 256 pixels a step scales as a power of its area; above, with its area (Inception v3 has 299
#: pixels).
PIXEL_RANGE = (128, 320)
#: Deviation between others' published throughputs of the reference GPU and its steps here (framework, input and batch),
#: and between the speeds that another network and ResNet-50 give for the same GPU at the same source
#: (`python -m profet_lab.transfer.reference_steps` prints both).
THROUGHPUT_LOG_SD, OTHER_NETWORK_LOG_SD = 0.13, 0.17


@dataclass(frozen=True, slots=True)
class ReferenceStep:
    """A step measured on the reference GPU (V100, TensorFlow 2.5, FP32; median of nine runs).

    Attributes
    ----------
    copy_ms : batch copy in its profile.
    gflop_per_image : 10^9 operations of a training step, forward and backward; a multiply-add counts as two.
    """

    network: str
    pixels: int
    batch_size: int
    latency_ms: float
    copy_ms: float
    gflop_per_image: float


class ReferenceSteps:
    """The reference's steps by network, pixel and batch size."""

    def __init__(self, steps: Iterable[ReferenceStep]) -> None:
        self._steps: dict[str, dict[int, list[ReferenceStep]]] = {}
        for step in steps:
            self._steps.setdefault(step.network, {}).setdefault(step.pixels, []).append(step)

    @property
    def networks(self) -> tuple[str, ...]:
        """Networks that throughputs can refer to."""
        return tuple(self._steps)

    def gpu_ms(self, law: StepLaw, network: str, pixels: int, batch_size: int) -> float:
        """GPU time of a step, milliseconds."""
        by_pixels = [
            (size, self._at_batch(law, steps, batch_size)) for size, steps in sorted(self._steps[network].items())
        ]
        largest, largest_ms = by_pixels[-1]
        if pixels > largest:
            return largest_ms * (pixels / largest) ** 2
        sizes, times_ms = zip(*by_pixels, strict=True)
        return math.exp(np.interp(math.log(pixels), np.log(sizes), np.log(times_ms)))

    def gflop_per_image(self, network: str, pixels: int) -> float:
        """Operations of a training step per image."""
        steps = self._steps[network]
        nearest = min(steps, key=lambda size: abs(size - pixels))
        return steps[nearest][0].gflop_per_image * (pixels / nearest) ** 2

    def _at_batch(self, law: StepLaw, steps: list[ReferenceStep], batch_size: int) -> float:
        ordered = sorted(steps, key=lambda step: step.batch_size)
        # Copy and start are relative to the reference's host.
        fixed_ms = np.array([law.copy_factor * step.copy_ms + law.start_ms for step in ordered])
        times_ms = gpu_time_ms(np.array([step.latency_ms for step in ordered]), fixed_ms)
        largest = ordered[-1].batch_size
        if batch_size > largest:
            return float(times_ms[-1]) * batch_size / largest
        return math.exp(
            np.interp(math.log(batch_size), np.log([step.batch_size for step in ordered]), np.log(times_ms))
        )


@lru_cache(maxsize=1)
def load_reference_steps() -> ReferenceSteps:
    """Load the shipped steps."""
    text = resources.files("profet_core.transfer").joinpath(REFERENCE_STEPS_NAME).read_text(encoding="utf-8")
    return ReferenceSteps(
        ReferenceStep(
            network=row["network"],
            pixels=int(row["pixels"]),
            batch_size=int(row["batch_size"]),
            latency_ms=float(row["latency_ms"]),
            copy_ms=float(row["copy_ms"]),
            gflop_per_image=float(row["gflop_per_image"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


def check_size(steps: ReferenceSteps, point: ThroughputPoint) -> None:
    """Reject a throughput without a comparable step.

    Raises
    ------
    InputError : another network, or a size out of range.
    """
    if point.network not in steps.networks:
        raise InputError(f"network must be one of {', '.join(steps.networks)}, not {point.network!r}.")
    for what, value, (least, most) in (
        ("batch_size", point.batch_size, BATCH_RANGE),
        ("pixels", point.pixels, PIXEL_RANGE),
    ):
        if not least <= value <= most:
            raise InputError(
                f"{what} must be {least} to {most}, not {value}: there are no measurements to compare with."
            )


def throughput_log_sd(point: ThroughputPoint) -> float:
    """Log standard deviation of the speed that a throughput gives."""
    return THROUGHPUT_LOG_SD if point.network == BENCHMARK else math.hypot(THROUGHPUT_LOG_SD, OTHER_NETWORK_LOG_SD)


def work_log_speed_of_gpu_time(
    steps: ReferenceSteps, model: TransferModel, multiprocessors: int, log_times: float
) -> float:
    """Log speed of the benchmark's work over the reference's, from the ratio of their GPU times.

    GPU time includes no copy and no launch on either side (see `log_times_reference`). Tables of published speeds
    compare whole steps instead, and don't say whether these waited for copies. `work_log_speed_of_step` in
    `profet_lab.transfer.benchmark_points` derives the shipped points from those.

    Kernel tails are not work: they grow with the GPU's multiprocessors.

    Parameters
    ----------
    multiprocessors : of the GPU. log_times : log speedup of its GPU time.
    """
    reference = model.step.instances[model.reference]
    gpu_ms, work_ms = steps.gpu_ms(model.step, BENCHMARK, *_BENCHMARK_SIZE), reference.benchmark_work_ms
    tails_ms = max(gpu_ms - work_ms, 0.0) * multiprocessors / reference.multiprocessors
    return math.log(work_ms / float(gpu_time_ms(np.array(gpu_ms * math.exp(-log_times)), np.array(tails_ms))))


def log_times_reference(steps: ReferenceSteps, law: StepLaw, point: ThroughputPoint) -> float:
    """Log speedup of a throughput over the reference GPU.

    Published throughputs use images that are already in GPU memory, so a step is GPU time.

    Raises
    ------
    InputError : there is no comparable step.
    """
    check_size(steps, point)
    return math.log(steps.gpu_ms(law, point.network, point.pixels, point.batch_size) / point.step_ms)
