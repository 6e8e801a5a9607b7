"""The law applied to one step: the memory it needs, from the best that is known of it, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from profet_core.memory.device_times import DeviceTimes
from profet_core.memory.model import GIB_PER_VALUE, MemoryModel
from profet_core.operations.optimisers import traffic_factor
from profet_core.profiles.record import ProfileMeta

#: Of what a GPU's name says, a program gets at least this: T4 92 %, A10G 93 %, V100 and P100 99 % (the GPU table).
USABLE_SHARE = 0.92
#: How far a recorded peak is from the memory another GPU needs for the same step (libraries choose their workspace by
#: what is free), and more for each doubling of its activations: logistic scales of the logarithm. Assumed: the
#: measurements hold no recorded peak.
PEAK_LOG_SCALE, PEAK_LOG_SCALE_A_DOUBLING = 0.04, 0.04
#: The same where nothing tells which part of a peak grows with the batch.
PEAK_LOG_SCALE_UNSPLIT = 0.15
_MIB_PER_GIB = 1024
#: Activations are never nothing.
_SMALLEST_SHARE, _TINY_GIB = 0.01, 1e-6


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Memory of the recorded step: what stays and what grows with the batch, and how sure that is.

    Attributes
    ----------
    held_gib : context, weights, gradients, state of the optimiser. activation_gib : what grows with the batch.
    log_scale, activation_log_scale : logistic scales of the errors' logarithm, of all and of the activations.
    doubling_log_scale : the same, more for each doubling of the activations.
    usable : share of what the GPU's name says that the need is held against.
    source : what the activations were judged by, in words.
    """

    held_gib: float
    activation_gib: float
    log_scale: float
    activation_log_scale: float
    doubling_log_scale: float
    usable: float
    source: str

    def needed_gib(self, growth: float) -> float:
        """Memory once the activations have grown by a factor."""
        return self.held_gib + self.activation_gib * growth

    def probability(self, memory_gib: float, growth: float) -> float:
        """That it fits once the activations have grown by a factor; less for a larger one, more for more memory."""
        memory = self.usable * memory_gib
        return 1 / (1 + math.exp(min(math.log(self.needed_gib(growth) / memory) / self._scale(memory), 700.0)))

    def growth_at(self, memory_gib: float, probability: float) -> float:
        """The growth of the activations at which it fits with this probability; below 0 where none is small enough."""
        memory = self.usable * memory_gib
        needed = memory * math.exp(self._scale(memory) * math.log(1 / probability - 1))
        return (needed - self.held_gib) / self.activation_gib

    def _scale(self, memory: float) -> float:
        """The error of the activations counts by their share of a memory that is just full."""
        spare = max(memory - self.held_gib, 0.0)
        return math.hypot(
            self.log_scale,
            self.activation_log_scale * spare / memory,
            self.doubling_log_scale * (math.log2(spare / self.activation_gib) if spare else 0.0),
        )

    def bounded(self, memory_gib: float) -> MemoryNeed:
        """The need after it is known to be no more than some memory, in which it ran."""
        memory = self.usable * memory_gib
        held = min(self.held_gib, memory * (1 - _SMALLEST_SHARE))
        return replace(self, held_gib=held, activation_gib=max(min(self.activation_gib, memory - held), _TINY_GIB))


def memory_need(model: MemoryModel, meta: ProfileMeta, times: DeviceTimes | None) -> MemoryNeed | None:
    """What the recorded step needs, from the best that is known; None if nothing is.

    A recorded peak comes first, else the activations by the times of the profile, else by batch and pixel size.
    """
    stays_gib = _stays_gib(model, meta, times)
    if meta.peak_memory_mib is not None:
        return _need_by_peak(model, meta.peak_memory_mib / _MIB_PER_GIB, stays_gib)
    if stays_gib is None or _unlike_the_data(meta):
        return None
    if times is not None:
        grows_gib = model.traffic.activation_gib(times.class_us, times.gpu_model, times.bandwidth_gb_per_s)
        scale, source = model.traffic.log_scale, "what its operations move"
    elif meta.batch_size is not None and meta.pixels is not None:
        grows_gib = model.images.activation_gib(meta.batch_size, meta.pixels)
        scale, source = model.images.log_scale, "networks of its batch and image size"
    else:
        return None
    return MemoryNeed(stays_gib, grows_gib, model.law.log_scale, scale, 0.0, 1.0, source)


def _stays_gib(model: MemoryModel, meta: ProfileMeta, times: DeviceTimes | None) -> float | None:
    """What does not grow with the batch; None if nothing tells the number of parameters."""
    parameters: float | None = meta.parameters
    copies = 0.0 if times is None else times.state_copies
    if parameters is None and times is not None:
        plain_us = times.class_us.get("weight update", 0.0) / traffic_factor(copies)
        parameters = model.traffic.parameters(plain_us, times.bandwidth_gb_per_s)
    return None if parameters is None else model.law.held_gib(parameters) + copies * parameters * GIB_PER_VALUE


def _need_by_peak(model: MemoryModel, recorded_gib: float, stays_gib: float | None) -> MemoryNeed:
    peak_gib = recorded_gib + model.law.fixed_gib
    held_gib = model.law.fixed_gib if stays_gib is None else min(stays_gib, peak_gib)
    doubling = PEAK_LOG_SCALE_UNSPLIT if stays_gib is None else PEAK_LOG_SCALE_A_DOUBLING
    return MemoryNeed(held_gib, peak_gib - held_gib, PEAK_LOG_SCALE, 0.0, doubling, USABLE_SHARE, "its recorded peak")


def _unlike_the_data(meta: ProfileMeta) -> bool:
    """Half-precision values and joined operations need other memory than the measurements tell of."""
    return bool(meta.compiled) or (meta.precision or "float32").lower() not in ("fp32", "float32", "tf32")
