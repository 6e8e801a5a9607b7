"""Memory model of a training step: coefficients of `memory.json` and their arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder

MEMORY_NAME = "memory.json"
MEMORY_VERSION = 2

#: Bytes of one FP32 value over the bytes of a GiB: values -> GiB.
GIB_PER_VALUE = 4 / 2**30
#: Microseconds x (10^9 bytes per second) -> GiB.
_GIB_PER_US_GB_S = 1e3 / 2**30


@dataclass(frozen=True, slots=True)
class MemoryFormula:
    """Memory of a step, relative to the GPU's nominal memory.

    needed = fixed_gib + per_parameter x parameters + per_convolution x batch x outputs of convolutions
    + per_other x batch x outputs of other layers, all in GiB of FP32 values. `log_scale` is the logistic scale of
    log(memory / needed): its error on held-out architectures.
    """

    fixed_gib: float
    per_parameter: float
    per_convolution: float
    per_other: float
    log_scale: float

    def held_gib(self, parameters: float) -> float:
        """Part that does not grow with the batch: context, weights, gradients."""
        return self.fixed_gib + self.per_parameter * parameters * GIB_PER_VALUE

    def activation_gib(self, batch_size: float, convolution_values: float, other_values: float) -> float:
        """Part that grows with the batch; values are one image's layer outputs."""
        values = self.per_convolution * convolution_values + self.per_other * other_values
        return values * batch_size * GIB_PER_VALUE


@dataclass(frozen=True, slots=True)
class TrafficRelation:
    """Activations estimated from a profile: bandwidth-bound operations move them a few times.

    Attributes
    ----------
    weights : operation class -> GiB of activations per GiB moved at the specified bandwidth.
    log_offset : GPU model -> offset of its profiles; 0 for others.
    log_scale : logistic scale of the error on held-out architectures.
    parameters_per_update : GiB of parameters per GiB moved at full bandwidth by the weight update of plain SGD.
    """

    weights: Mapping[str, float]
    log_offset: Mapping[str, float]
    log_scale: float
    parameters_per_update: float

    def activation_gib(self, class_us: Mapping[str, float], gpu_model: str, bandwidth_gb_per_s: float) -> float:
        """Activations of the profiled step, GiB of FP32 values as `MemoryFormula` counts them."""
        moved = sum(weight * class_us.get(name, 0.0) for name, weight in self.weights.items())
        offset = math.exp(self.log_offset.get(gpu_model, 0.0))
        return offset * moved * bandwidth_gb_per_s * _GIB_PER_US_GB_S

    def parameters(self, update_us: float, bandwidth_gb_per_s: float) -> float:
        """Number of parameters from the time of plain SGD's update; too high if launches dominate it."""
        return self.parameters_per_update * update_us * bandwidth_gb_per_s * _GIB_PER_US_GB_S / GIB_PER_VALUE


@dataclass(frozen=True, slots=True)
class ImageRelation:
    """Activations estimated from batch and image size alone, with the full variation between architectures."""

    gib_per_megapixel: float
    log_scale: float

    def activation_gib(self, batch_size: float, pixels: float) -> float:
        """Activations of a batch of square images, GiB of FP32 values as `MemoryFormula` counts them."""
        return self.gib_per_megapixel * batch_size * pixels**2 / 1e6


@dataclass(frozen=True, slots=True)
class PeakRelation:
    """Memory of a step, from the peak of its tensors at another size.

    needed = fixed_gib + per_parameter x parameters + per_peak x peak, on the scale of `MemoryFormula`. Within the peak,
    weights, gradients and the optimizer's state stay constant as the batch grows.

    Attributes
    ----------
    log_scale, log_scale_a_doubling : logistic scale of the logarithm's error on held-out architectures, and its
        increase for each doubling of the activations.
    unsplit_log_scale_a_doubling : the same if the number of parameters, and thus the constant part, is unknown.
    """

    fixed_gib: float
    per_parameter: float
    per_peak: float
    log_scale: float
    log_scale_a_doubling: float
    unsplit_log_scale_a_doubling: float

    def base_gib(self, parameters: float) -> float:
        """Part outside the peak: the context, and workspace for the weights."""
        return self.fixed_gib + self.per_parameter * parameters * GIB_PER_VALUE


@dataclass(frozen=True, slots=True)
class MeasuredNetwork:
    """What ran of one network in the measurements: plain SGD in FP32 with TensorFlow.

    Attributes
    ----------
    parameters : pixels -> number of parameters, which also identifies the network.
    largest_batch : pixels -> memory of one GPU, GiB -> largest batch size that ran.
    """

    parameters: Mapping[int, int]
    largest_batch: Mapping[int, Mapping[float, int]]

    def ran(self, pixels: int, memory_gib: float) -> int:
        """Largest batch size that ran in at most this much memory; 0: none did."""
        batches = self.largest_batch.get(pixels, {})
        return max((batch for gib, batch in batches.items() if gib <= memory_gib), default=0)


@dataclass(frozen=True)
class MemoryModel:
    """All coefficients.

    Attributes
    ----------
    certain : a step "fits" from this probability on, and "does not fit" below 1 minus it.
    ran_probability : that a step that ran on a GPU runs on another with as much memory; from the measurements, by the
        rule of succession.
    measured : what ran of the measured networks.
    """

    formula: MemoryFormula
    traffic: TrafficRelation
    images: ImageRelation
    certain: float
    ran_probability: float
    fitted_on: Mapping[str, str]
    peak: PeakRelation
    measured: tuple[MeasuredNetwork, ...] = ()
    checksum: str = ""


def load_memory(folder: Path | str | None = None) -> MemoryModel:
    """Load `memory.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    return load_coefficients(models_folder(folder) / MEMORY_NAME, MEMORY_VERSION, memory_model)


def memory_model(content: JsonObject) -> MemoryModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    traffic = content["traffic"]
    return MemoryModel(
        formula=MemoryFormula(**_positive(MemoryFormula, content["law"])),
        traffic=TrafficRelation(
            weights={str(name): finite_number(value) for name, value in traffic["weights"].items()},
            log_offset={str(name): finite_number(value) for name, value in traffic["log_offset"].items()},
            log_scale=finite_number(traffic["log_scale"]),
            parameters_per_update=finite_number(traffic["parameters_per_update"]),
        ),
        images=ImageRelation(**_positive(ImageRelation, content["images"])),
        certain=finite_number(content["certain"]),
        ran_probability=finite_number(content["ran_probability"]),
        fitted_on={str(name): str(value) for name, value in content["fitted_on"].items()},
        peak=PeakRelation(**_positive(PeakRelation, content["peak"])),
        measured=tuple(map(_measured, content["measured"])),
        checksum=str(content["checksum"]),
    )


def _measured(row: JsonObject) -> MeasuredNetwork:
    return MeasuredNetwork(
        parameters={int(pixels): int(count) for pixels, count in row["parameters"].items()},
        largest_batch={
            int(pixels): {float(gib): int(batch) for gib, batch in batches.items()}
            for pixels, batches in row["largest_batch"].items()
        },
    )


def _positive(kind: type, row: JsonObject) -> dict[str, float]:
    values = {field.name: finite_number(row[field.name]) for field in fields(kind)}
    if min(values.values()) <= 0:
        raise ValueError(f"{kind.__name__} holds a number that is not positive")
    return values
