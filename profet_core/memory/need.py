"""Memory need of one step, with its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from profet_core.memory.device_times import DeviceTimes
from profet_core.memory.model import GIB_PER_VALUE, MemoryModel, PeakRelation
from profet_core.operations.optimisers import traffic_factor
from profet_core.profiles.record import ProfileMeta

#: Copies of the parameters in a recorded peak at any batch size: weights and gradients.
HELD_COPIES = 2.0
#: Bytes per parameter in half precision; mixed precision keeps weights and gradients of four bytes.
_HALF = ("fp16", "float16", "bf16", "bfloat16")
_MIB_PER_GIB = 1024
#: Lower bound of activations.
_SMALLEST_SHARE, _TINY_GIB = 0.01, 1e-6


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Memory of the recorded step: fixed part, part that grows with the batch, and uncertainty.

    Attributes
    ----------
    held_gib : context, weights, gradients, optimizer state. activation_gib : part that grows with the batch.
    log_scale, activation_log_scale : logistic scales of the log errors, of the total and of the activations.
    doubling_log_scale : increase for each doubling of the activations.
    source : its basis, in words.
    """

    held_gib: float
    activation_gib: float
    log_scale: float
    activation_log_scale: float
    doubling_log_scale: float
    source: str

    def needed_gib(self, growth: float) -> float:
        """Memory after the activations grow by a factor."""
        return self.held_gib + self.activation_gib * growth

    def probability(self, memory_gib: float, growth: float) -> float:
        """Probability that it fits after the activations grow by a factor; falls with growth, rises with memory."""
        return 1 / (1 + math.exp(min(math.log(self.needed_gib(growth) / memory_gib) / self._scale(memory_gib), 700.0)))

    def growth_at(self, memory_gib: float, probability: float) -> float:
        """Scale of the activations at which it fits with this probability; below 0 if none does."""
        needed = memory_gib * math.exp(self._scale(memory_gib) * math.log(1 / probability - 1))
        return (needed - self.held_gib) / self.activation_gib

    def _scale(self, memory_gib: float) -> float:
        """Combined error scale: the activations' error is weighted by their share of a memory that is just full."""
        spare = max(memory_gib - self.held_gib, 0.0)
        return math.hypot(
            self.log_scale,
            self.activation_log_scale * spare / memory_gib,
            self.doubling_log_scale * (math.log2(spare / self.activation_gib) if spare else 0.0),
        )

    def bounded(self, memory_gib: float) -> MemoryNeed:
        """The need, given that the step ran in this much memory."""
        held = min(self.held_gib, memory_gib * (1 - _SMALLEST_SHARE))
        return replace(self, held_gib=held, activation_gib=max(min(self.activation_gib, memory_gib - held), _TINY_GIB))


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """Known facts about a recorded step's memory.

    Attributes
    ----------
    times : result of `device_times` on the profile; None: no evidence.
    state_copies : copies of the parameters kept by the optimizer; plain SGD, used in the measurements, keeps none.
    second : of the same network at another size; its peak shows which part of the first one grows.
    """

    meta: ProfileMeta
    times: DeviceTimes | None = None
    state_copies: float = 0.0
    second: ProfileMeta | None = None


def memory_need(model: MemoryModel, step: RecordedStep) -> MemoryNeed | None:
    """Need of the recorded step from the best known source.

    None if unknown.

    A recorded peak comes first, then activations from the profile's times, then from batch and pixel size.
    """
    meta, times = step.meta, step.times
    parameters = _parameters(model, step)
    if meta.peak_memory_mib is not None:
        return _need_by_peak(model.peak, step, meta.peak_memory_mib / _MIB_PER_GIB, parameters)
    if parameters is None or _differs_from_data(meta):
        return None
    if times is not None:
        grows_gib = model.traffic.activation_gib(times.class_us, times.gpu_model, times.bandwidth_gb_per_s)
        scale, source = model.traffic.log_scale, "the profile's times"
    elif meta.batch_size is not None and meta.pixels is not None:
        grows_gib = model.images.activation_gib(meta.batch_size, meta.pixels)
        scale, source = model.images.log_scale, "its batch and image size"
    else:
        return None
    stays_gib = model.law.held_gib(parameters) + step.state_copies * parameters * GIB_PER_VALUE
    return MemoryNeed(stays_gib, grows_gib, model.law.log_scale, scale, 0.0, source)


def _parameters(model: MemoryModel, step: RecordedStep) -> float | None:
    """Number of parameters; None if unknown."""
    if step.meta.parameters is not None or step.times is None:
        return step.meta.parameters
    plain_us = step.times.class_us.get("weight update", 0.0) / traffic_factor(step.state_copies)
    return model.traffic.parameters(plain_us, step.times.bandwidth_gb_per_s)


def _need_by_peak(relation: PeakRelation, step: RecordedStep, peak_gib: float, parameters: float | None) -> MemoryNeed:
    meta = step.meta
    grows_gib, doubling = _growing_gib(step, peak_gib), relation.log_scale_a_doubling
    if grows_gib is None and parameters is None:
        grows_gib, doubling = peak_gib, relation.unsplit_log_scale_a_doubling
    elif grows_gib is None:
        gib_per_value = GIB_PER_VALUE / 2 if (meta.precision or "").lower() in _HALF else GIB_PER_VALUE
        grows_gib = peak_gib - (HELD_COPIES + step.state_copies) * (parameters or 0.0) * gib_per_value
    # At least a small part must grow, or any batch size would fit.
    grows_gib = min(max(grows_gib, _SMALLEST_SHARE * peak_gib), peak_gib)
    return MemoryNeed(
        held_gib=relation.base_gib(parameters or 0.0) + relation.per_peak * (peak_gib - grows_gib),
        activation_gib=relation.per_peak * grows_gib,
        log_scale=relation.log_scale,
        activation_log_scale=0.0,
        doubling_log_scale=doubling,
        source=_peak_words(step),
    )


def _peak_words(step: RecordedStep) -> str:
    """Describe the peak's source: 'the recorded peak (PyTorch, mixed fp16)'."""
    framework = (step.meta.framework or "").lower()
    name = next((name for name in ("PyTorch", "TensorFlow") if framework.startswith(name.lower())), None)
    known = ", ".join(word for word in (name, step.meta.precision) if word)
    return f"the recorded peak{'s' if _second_size(step) else ''}{f' ({known})' if known else ''}"


def _growing_gib(step: RecordedStep, peak_gib: float) -> float | None:
    """Part of the first of two peaks that grows with batch and image area; None without two."""
    times, second = _second_size(step), step.second
    if times is None or second is None or second.peak_memory_mib is None:
        return None
    return (second.peak_memory_mib / _MIB_PER_GIB - peak_gib) / (times - 1)


def _second_size(step: RecordedStep) -> float | None:
    """Batch times image area of the second step over the first's; None if their peaks can't be compared."""
    first, second = step.meta, step.second
    if second is None or second.peak_memory_mib is None or first.batch_size is None or second.batch_size is None:
        return None
    if any(getattr(first, name) != getattr(second, name) for name in ("parameters", "precision", "framework")):
        return None
    if (first.pixels is None) != (second.pixels is None):
        return None
    times = second.batch_size * (second.pixels or 1) ** 2 / (first.batch_size * (first.pixels or 1) ** 2)
    return times if times != 1 else None


def _differs_from_data(meta: ProfileMeta) -> bool:
    """Whether memory differs from the FP32 measurements: half precision or fused operations."""
    return bool(meta.compiled) or (meta.precision or "float32").lower() not in ("fp32", "float32", "tf32")
