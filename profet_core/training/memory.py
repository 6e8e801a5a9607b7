"""Whether a step fits in a GPU's memory, with what probability, and the largest batch that does: `memory.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, final

from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu, Gpus, gpu_model
from profet_core.ensemble.operations import load_operation_classes, state_copies, traffic_factor
from profet_core.errors import InputError
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder
from profet_profiles.record import Profile, ProfileMeta
from profet_profiles.units import US_PER_MS, format_certainty, positive_number, whole_number

MEMORY_NAME = "memory.json"
MEMORY_VERSION = 2

#: Bytes of one FP32 value over the bytes of a GiB: values -> GiB.
GIB_PER_VALUE = 4 / 2**30
#: Microseconds x (10^9 bytes per second) -> GiB.
_GIB_PER_US_GB_S = 1e3 / 2**30


class MemoryFormula(Struct, frozen=True):
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


class TrafficRelation(Struct, frozen=True):
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
        """Return the number of parameters from the time of plain SGD's update; too high if launches dominate it."""
        return self.parameters_per_update * update_us * bandwidth_gb_per_s * _GIB_PER_US_GB_S / GIB_PER_VALUE


class ImageRelation(Struct, frozen=True):
    """Activations estimated from batch and image size alone, with the full variation between architectures."""

    gib_per_megapixel: float
    log_scale: float

    def activation_gib(self, batch_size: float, pixels: float) -> float:
        """Activations of a batch of square images, GiB of FP32 values as `MemoryFormula` counts them."""
        return self.gib_per_megapixel * batch_size * pixels**2 / 1e6


class PeakRelation(Struct, frozen=True):
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


class MeasuredNetwork(Struct, frozen=True):
    """Workloads of one network that ran in the measurements: plain SGD in FP32 with TensorFlow.

    Attributes
    ----------
    parameters : pixels -> number of parameters, which also identifies the network.
    largest_batch : pixels -> memory of one GPU, GiB -> largest batch size that ran.
    """

    parameters: Mapping[int, int]
    largest_batch: Mapping[int, Mapping[float, int]]


class MemoryModel(Struct, frozen=True):
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
    measured = [
        MeasuredNetwork(
            parameters={int(pixels): int(count) for pixels, count in row["parameters"].items()},
            largest_batch={
                int(pixels): {float(gib): int(batch) for gib, batch in batches.items()}
                for pixels, batches in row["largest_batch"].items()
            },
        )
        for row in content["measured"]
    ]
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
        measured=tuple(measured),
        checksum=str(content["checksum"]),
    )


def _positive(kind: type[Struct], row: JsonObject) -> dict[str, float]:
    values = {name: finite_number(row[name]) for name in kind.__struct_fields__}
    if min(values.values()) <= 0:
        raise ValueError(f"{kind.__name__} holds a number that is not positive")
    return values


#: Maximum batch size.
MAX_BATCH = 65_536
_SIZE_UNKNOWN = "the profile does not include the size it was recorded at"
#: Copies of the parameters in a recorded peak at any batch size: weights and gradients.
HELD_COPIES = 2.0
#: Bytes per parameter in half precision; mixed precision keeps weights and gradients of four bytes.
_HALF = ("fp16", "float16", "bf16", "bfloat16")
_MIB_PER_GIB = 1024
#: Activations in half precision over those in FP32, from the batches that published tables ran in the same memory.
ACTIVATIONS_IN_HALF = 0.5
#: Lower bound of activations.
_MIN_ACTIVATION_SHARE, _TINY_GIB = 0.01, 1e-6


class DeviceTimes(Struct, frozen=True):
    """Microseconds of one step by device operation class, and the GPU it was recorded on."""

    class_us: Mapping[str, float]
    gpu_model: str
    bandwidth_gb_per_s: float


def device_times(profile: Profile, catalog: Catalog, gpus: Gpus, anchor: str) -> DeviceTimes | None:
    """Return the times of a profile that indicate memory use; None if they don't.

    They don't for other frameworks, GPUs without specs, and profiles truncated by TensorFlow, which lack many of the
    relevant operations.
    """
    framework = (profile.meta.framework or "tensorflow").lower()
    gpu = _anchor_sheet(catalog, gpus, anchor)
    if gpu is None or not framework.startswith("tensorflow"):
        return None
    classes = load_operation_classes()
    encoded = classes.encode([profile])[0]
    if encoded.truncated[0]:
        return None
    class_us = {name: US_PER_MS * float(ms) for name, ms in zip(classes.names, encoded.times_ms[0], strict=True)}
    return DeviceTimes(class_us, gpu_model(gpu.name), gpu.bandwidth_gb_per_s)


def _anchor_sheet(catalog: Catalog, gpus: Gpus, anchor: str) -> Gpu | None:
    """Specs of the anchor, an instance or a GPU by name; None: no specs."""
    entry = catalog.get(anchor)
    try:
        return gpus.find(anchor) if entry is None else gpus.find(entry.gpu, entry.gpu_memory_gib)
    except InputError:
        return None


class Checkpointing(NamedTuple):
    """Effects of activation checkpointing, where each block keeps its input alone and computes the rest again.

    Attributes
    ----------
    memory_share : activations that stay, the largest block's among them; and the error of its logarithm.
    time_factor : of a step with one more forward pass, a third of its work at most; and the same.
    """

    memory_share: float
    memory_log_scale: float
    time_factor: float = 1.3
    time_log_sd: float = 0.05


#: Whether a network is a transformer -> the above; of the tensors that PyTorch saves these shares stayed: ViT 0.14,
#: Swin-T 0.27; ResNet-50 0.42, VGG16 by its stages 0.54.
CHECKPOINTING = {True: Checkpointing(0.2, 0.25), False: Checkpointing(0.47, 0.15)}


class MemoryNeed(Struct, frozen=True):
    """Memory of the recorded step: fixed part, part that grows with the batch, and uncertainty.

    Attributes
    ----------
    held_gib : context, weights, gradients, optimizer state.
    activation_gib : part that grows with the batch.
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

    def checkpointed(self, *, is_transformer: bool) -> MemoryNeed:
        """Return a copy with activation checkpointing."""
        left = CHECKPOINTING[is_transformer]
        scale = math.hypot(self.activation_log_scale, left.memory_log_scale)
        return replace(self, activation_gib=left.memory_share * self.activation_gib, activation_log_scale=scale)

    def probability(self, memory_gib: float, growth: float) -> float:
        """Probability that it fits after the activations grow by a factor; falls with growth, rises with memory."""
        log_over = math.log((self.held_gib + self.activation_gib * growth) / memory_gib)
        return 1 / (1 + math.exp(min(log_over / self._scale(memory_gib), 700.0)))

    def growth_at(self, memory_gib: float, probability: float) -> float:
        """Scale of the activations at which it fits with this probability; below 0 if none does."""
        needed = memory_gib * math.exp(self._scale(memory_gib) * math.log(1 / probability - 1))
        return (needed - self.held_gib) / self.activation_gib

    def _scale(self, memory_gib: float) -> float:
        """Combine the error scales: the activations' error counts by their share of a memory that is just full."""
        spare = max(memory_gib - self.held_gib, 0.0)
        return math.hypot(
            self.log_scale,
            self.activation_log_scale * spare / memory_gib,
            self.doubling_log_scale * (math.log2(spare / self.activation_gib) if spare else 0.0),
        )


class StepMemory(Struct, frozen=True):
    """Known facts about a recorded step's memory.

    Attributes
    ----------
    times : result of `device_times` on the profile; None: no evidence.
    state_copies : copies of the parameters kept by the optimizer; plain SGD, used in the measurements, keeps none.
    second : of the same network at another size; its peak shows which part of the first one grows.
    ran_gib : smallest nominal memory of one GPU that it ran on.
    checkpointing : whether activations are to be computed again, which they were not.
    """

    meta: ProfileMeta
    times: DeviceTimes | None = None
    state_copies: float = 0.0
    second: ProfileMeta | None = None
    ran_gib: float = math.inf
    checkpointing: bool = False


def recorded_step(
    profile: Profile,
    catalog: Catalog,
    gpus: Gpus,
    ran_on: Sequence[str],
    second: Profile | None = None,
    *,
    checkpointing: bool = False,
) -> StepMemory:
    """Return the known facts about a profiled step's memory.

    Parameters
    ----------
    ran_on : instances, or GPUs by name, that it ran on; the first is where it was recorded.
    """
    return StepMemory(
        meta=profile.meta,
        times=device_times(profile, catalog, gpus, ran_on[0]),
        state_copies=state_copies(profile),
        second=None if second is None else second.meta,
        ran_gib=min(gpu_memory_gib(catalog, gpus, name) for name in ran_on),
        checkpointing=checkpointing,
    )


def gpu_memory_gib(catalog: Catalog, gpus: Gpus, name: str) -> float:
    """Nominal memory of one GPU of an instance, or of a GPU by its name; InputError if the name is neither."""
    if name in catalog:
        return catalog[name].gpu_memory_gib
    gpu = _anchor_sheet(catalog, gpus, name)
    if gpu is None:
        raise InputError(f"{name!r} is neither an instance of the catalog nor a known GPU.")
    return gpu.memory_gib


def _memory_need(model: MemoryModel, step: StepMemory) -> MemoryNeed | None:
    """Need of the recorded step from the best known source: its peak, its times, its sizes; None if unknown."""
    meta, times = step.meta, step.times
    parameters: float | None = meta.parameters
    if parameters is None and times is not None:
        plain_us = times.class_us.get("weight update", 0.0) / traffic_factor(step.state_copies)
        parameters = model.traffic.parameters(plain_us, times.bandwidth_gb_per_s)
    if meta.peak_memory_mib is not None:
        return _need_by_peak(model.peak, step, meta.peak_memory_mib / _MIB_PER_GIB, parameters)
    if parameters is None or not _is_plain_fp32(meta):
        return None
    if times is not None:
        grows_gib = model.traffic.activation_gib(times.class_us, times.gpu_model, times.bandwidth_gb_per_s)
        scale, source = model.traffic.log_scale, "the profile's times"
    elif meta.batch_size is not None and meta.pixels is not None:
        grows_gib = model.images.activation_gib(meta.batch_size, meta.pixels)
        scale, source = model.images.log_scale, "its batch and image size"
    else:
        return None
    stays_gib = model.formula.held_gib(parameters) + step.state_copies * parameters * GIB_PER_VALUE
    return MemoryNeed(stays_gib, grows_gib, model.formula.log_scale, scale, 0.0, source)


def _need_by_peak(relation: PeakRelation, step: StepMemory, peak_gib: float, parameters: float | None) -> MemoryNeed:
    meta, second, times = step.meta, step.second, _second_size(step)
    doubling = relation.log_scale_a_doubling
    if times is not None and second is not None and second.peak_memory_mib is not None:
        # The part of the first of two peaks that grows with batch and image area.
        grows_gib = (second.peak_memory_mib / _MIB_PER_GIB - peak_gib) / (times - 1)
    elif parameters is None:
        grows_gib, doubling = peak_gib, relation.unsplit_log_scale_a_doubling
    else:
        gib_per_value = GIB_PER_VALUE / 2 if (meta.precision or "").lower() in _HALF else GIB_PER_VALUE
        grows_gib = peak_gib - (HELD_COPIES + step.state_copies) * parameters * gib_per_value
    # At least a small part must grow, or any batch size would fit.
    grows_gib = min(max(grows_gib, _MIN_ACTIVATION_SHARE * peak_gib), peak_gib)
    # Such as "the recorded peak (PyTorch, mixed fp16)".
    framework = (meta.framework or "").lower()
    name = next((name for name in ("PyTorch", "TensorFlow") if framework.startswith(name.lower())), None)
    words = ", ".join(word for word in (name, meta.precision) if word)
    # Outside the peak: the context, and workspace for the weights.
    base_gib = relation.fixed_gib + relation.per_parameter * (parameters or 0.0) * GIB_PER_VALUE
    return MemoryNeed(
        held_gib=base_gib + relation.per_peak * (peak_gib - grows_gib),
        activation_gib=relation.per_peak * grows_gib,
        log_scale=relation.log_scale,
        activation_log_scale=0.0,
        doubling_log_scale=doubling,
        source=f"the recorded peak{'s' if times else ''}{f' ({words})' if words else ''}",
    )


def _second_size(step: StepMemory) -> float | None:
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


class Verdict(StrEnum):
    """Verdicts on memory fit."""

    FITS = "fits"
    DOES_NOT_FIT = "does not fit"
    CANT_TELL = "can't tell"


@final
class FitAnswer(Struct, frozen=True):
    """Memory fit of a step.

    Attributes
    ----------
    probability : that it fits, 0 to 1; None if there is no basis for one.
    largest_batch : largest batch size that "fits" by the same rule; None: unknown.
    """

    verdict: Verdict
    probability: float | None
    largest_batch: int | None
    why: str

    @property
    def description(self) -> str:
        """Return 'fits (up to batch 512)' or 'may not fit in memory (78% likely to fit); batch 109 fits'."""
        largest, chance = self.largest_batch, self.probability
        if self.verdict is Verdict.CANT_TELL:
            likely = "" if chance is None else f" ({format_certainty(chance)} likely to fit)"
            return f"may not fit in memory{likely}" + (f"; batch {largest:,} fits" if largest else "")
        verdict = "fits" if self.verdict is Verdict.FITS else "doesn't fit" if largest else "doesn't fit in memory"
        return f"{verdict} (up to batch {largest:,})" if largest else verdict


def verdict_of(model: MemoryModel, chance: float) -> Verdict:
    """Return the verdict for a probability that it fits."""
    if chance >= model.certain:
        return Verdict.FITS
    return Verdict.DOES_NOT_FIT if chance <= 1 - model.certain else Verdict.CANT_TELL


def does_not_fit(answer: FitAnswer | None) -> bool:
    """Whether the step is known not to fit."""
    return answer is not None and answer.verdict is Verdict.DOES_NOT_FIT


def fit_answer(
    model: MemoryModel,
    step: StepMemory,
    target_gib: float,
    *,
    batch_size: int | None = None,
    pixels: int | None = None,
    precision_growth: float = 1.0,
) -> FitAnswer:
    """Whether the profiled network fits on another GPU, or on the same one at another size.

    The sources, in this order: a step that ran on the anchor runs on a GPU with as much memory. A recorded peak is
    scaled to the size, because activations grow with the batch and with image area. Otherwise, activations are
    estimated from the profile's times, or from batch and pixel size. The successful run on the anchor bounds every
    estimate.

    Parameters
    ----------
    step : known facts: batch size, pixels, parameters, peak memory, times; each may be missing.
    target_gib : nominal memory of one GPU.
    batch_size, pixels : requested; None: as recorded.
    precision_growth : ratio of activations in the requested precision to those of the recorded step.

    Raises
    ------
    InputError : a batch size or a memory is not a positive number.
    """
    anchor_gib = positive_number("The anchor's GPU memory", step.ran_gib)
    target_gib = positive_number("The target's GPU memory", target_gib)
    recorded = step.meta.batch_size
    wanted = recorded if batch_size is None else whole_number("The batch size", batch_size)
    if batch_size is not None and recorded is None:
        return FitAnswer(Verdict.CANT_TELL, None, None, _SIZE_UNKNOWN)
    area = precision_growth
    if pixels is not None:
        wanted_pixels = whole_number("The pixel size", pixels)
        if step.meta.pixels is None:
            return FitAnswer(Verdict.CANT_TELL, None, None, _SIZE_UNKNOWN)
        area *= (wanted_pixels / step.meta.pixels) ** 2
    need = _memory_need(model, step)
    if need is not None:
        held_gib = min(need.held_gib, anchor_gib * (1 - _MIN_ACTIVATION_SHARE))
        grows_gib = max(min(need.activation_gib, anchor_gib - held_gib), _TINY_GIB)
        need = replace(need, held_gib=held_gib, activation_gib=grows_gib)
        need = need.checkpointed(is_transformer=False) if step.checkpointing else need
    growth = area if recorded is None or wanted is None else area * wanted / recorded
    largest = None if recorded is None else _largest_batch(model, need, recorded / area, anchor_gib, target_gib)
    measured = _measured_batch(model, step, pixels or step.meta.pixels, target_gib) if precision_growth <= 1 else 0
    largest = max(largest or 0, measured) or None
    if growth <= 1 and target_gib >= anchor_gib:
        return FitAnswer(Verdict.FITS, model.ran_probability, largest, f"it ran on a GPU with {anchor_gib:g} GiB")
    if wanted is not None and wanted <= measured:
        why = f"this network was measured at batch {measured:,} on a GPU with at most {target_gib:g} GiB"
        return FitAnswer(Verdict.FITS, model.ran_probability, largest, why)
    if need is None:
        smaller = target_gib < anchor_gib
        beyond = "less memory than the GPU it ran on" if smaller else "a larger step than the recorded one"
        why = f"{beyond}, and the profile does not show how much memory it needs"
        return FitAnswer(Verdict.CANT_TELL, None, largest, why)
    # It ran on the anchor, so only needs that fit there remain possible.
    chance, ran = need.probability(target_gib, growth), need.probability(anchor_gib, 1.0)
    chance = min(chance / max(ran, chance), model.ran_probability)
    why = f"needs about {need.held_gib + need.activation_gib * growth:.2g} of {target_gib:g} GiB, from {need.source}"
    return FitAnswer(verdict_of(model, chance), chance, largest, why)


def _measured_batch(model: MemoryModel, step: StepMemory, pixels: int | None, memory_gib: float) -> int:
    """Largest batch at which the recorded network was measured in this memory; 0: it is none of the measured ones."""
    meta = step.meta
    if pixels is None or meta.pixels is None or step.state_copies or not _is_plain_fp32(meta):
        return 0
    if not (meta.framework or "").lower().startswith("tensorflow"):
        return 0
    same = (network for network in model.measured if network.parameters.get(meta.pixels) == meta.parameters)
    ran = (sizes for network in same for sizes in network.largest_batch.get(pixels, {}).items())
    return max((batch for gib, batch in ran if gib <= memory_gib), default=0)


def _is_plain_fp32(meta: ProfileMeta) -> bool:
    """Half precision and fused operations take other memory than the FP32 measurements."""
    return (meta.precision or "float32").lower() in ("fp32", "float32", "tf32") and not meta.compiled


def _largest_batch(
    model: MemoryModel, need: MemoryNeed | None, recorded: float, anchor_gib: float, target_gib: float
) -> int | None:
    """Largest batch that "fits", where so many images of the size in question ran on the anchor; None: none is known.

    It is the rule of `fit_answer` solved for the batch.
    """
    largest = math.floor(recorded) if target_gib >= anchor_gib else 0
    if need is not None and model.ran_probability >= model.certain:
        growth = need.growth_at(target_gib, model.certain * need.probability(anchor_gib, 1.0))
        # Rounding must not lose a whole batch.
        largest = max(largest, math.floor(min(growth, MAX_BATCH) * recorded * (1 + 1e-12)))
    return min(largest, MAX_BATCH) if largest >= 1 else None
