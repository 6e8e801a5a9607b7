"""Whether a step fits in a GPU's memory, with what probability, and the largest batch that does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu, Gpus, gpu_model
from profet_core.errors import InputError
from profet_core.features.classes import load_operation_classes
from profet_core.features.operations import state_copies, traffic_factor
from profet_core.memory.model import GIB_PER_VALUE, MemoryModel, PeakRelation
from profet_core.profiles.record import Profile, ProfileMeta
from profet_core.units import US_PER_MS, positive_number, whole_number


@dataclass(frozen=True, slots=True)
class DeviceTimes:
    """Device time of one step by operation class, and the GPU it was recorded on.

    Attributes
    ----------
    class_us : device operation class -> microseconds of the step.
    """

    class_us: Mapping[str, float]
    gpu_model: str
    bandwidth_gb_per_s: float


def device_times(profile: Profile, catalog: Catalog, gpus: Gpus, anchor: str) -> DeviceTimes | None:
    """Times of a profile that indicate memory use; None if they don't.

    They don't for other frameworks, GPUs without specs, and profiles truncated by TensorFlow, which lack many of the
    relevant operations.
    """
    framework = (profile.meta.framework or "tensorflow").lower()
    gpu = anchor_sheet(catalog, gpus, anchor)
    if gpu is None or not framework.startswith("tensorflow"):
        return None
    classes = load_operation_classes()
    encoded = classes.encode([profile])[0]
    if encoded.truncated[0]:
        return None
    class_us = {name: US_PER_MS * float(ms) for name, ms in zip(classes.names, encoded.times_ms[0], strict=True)}
    return DeviceTimes(class_us, gpu_model(gpu.name), gpu.bandwidth_gb_per_s)


def anchor_sheet(catalog: Catalog, gpus: Gpus, anchor: str) -> Gpu | None:
    """Specs of the anchor, an instance or a GPU by name; None: no specs."""
    entry = catalog.get(anchor)
    try:
        return gpus.find(anchor) if entry is None else gpus.find(entry.gpu, entry.gpu_memory_gib)
    except InputError:
        return None


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


LARGEST_BATCH = 65_536
_SIZE_UNKNOWN = "the profile does not include the size it was recorded at"


class Verdict(StrEnum):
    """Verdicts on memory fit."""

    FITS = "fits"
    DOES_NOT_FIT = "does not fit"
    CANT_TELL = "can't tell"


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """Memory fit of a step.

    Attributes
    ----------
    probability : that it fits, 0 to 1; None if there is no basis for one.
    largest_batch : largest batch size that "fits" by the same rule; None: unknown.
    why : one short sentence.
    """

    verdict: Verdict
    probability: float | None
    largest_batch: int | None
    why: str


def verdict_of(model: MemoryModel, chance: float) -> Verdict:
    """What a probability that it fits means."""
    if chance >= model.certain:
        return Verdict.FITS
    return Verdict.DOES_NOT_FIT if chance <= 1 - model.certain else Verdict.CANT_TELL


def does_not_fit(answer: FitAnswer | None) -> bool:
    """Whether the step is known not to fit."""
    return answer is not None and answer.verdict is Verdict.DOES_NOT_FIT


def fits_by_instance(
    model: MemoryModel | None,
    catalog: Catalog,
    gpus: Gpus,
    profile: Profile,
    anchor: str,
    instances: Iterable[str],
    *,
    batch_size: int | None = None,
    pixels: int | None = None,
    second: Profile | None = None,
    precision_growth: float = 1.0,
) -> dict[str, FitAnswer]:
    """Instance, or GPU by name -> whether the profiled step fits there.

    On a multi-GPU node, the step runs on one of its GPUs.

    Parameters
    ----------
    model : None: there is no memory model, and the result is empty.
    anchor : instance the profile was recorded on, or GPU by name.
    batch_size, pixels : of the step in question; None: as recorded.
    second : the same network's step at another size.
    precision_growth : ratio of activations in the requested precision to those of the recorded step.

    Raises
    ------
    InputError : a name is neither.
    """
    if model is None:
        return {}
    times = device_times(profile, catalog, gpus, anchor)
    step = RecordedStep(profile.meta, times, state_copies(profile), None if second is None else second.meta)
    anchor_gib = _gpu_memory_gib(catalog, gpus, anchor)
    sizes_gib = {name: _gpu_memory_gib(catalog, gpus, name) for name in instances}
    # Only an instance's memory matters, and many have the same.
    answers = {
        target_gib: fit_answer(
            model, step, anchor_gib, target_gib, batch_size=batch_size, pixels=pixels, precision_growth=precision_growth
        )
        for target_gib in dict.fromkeys(sizes_gib.values())
    }
    return {name: answers[target_gib] for name, target_gib in sizes_gib.items()}


def _gpu_memory_gib(catalog: Catalog, gpus: Gpus, name: str) -> float:
    if name in catalog:
        return catalog[name].gpu_memory_gib
    gpu = anchor_sheet(catalog, gpus, name)
    if gpu is None:
        raise InputError(f"{name!r} is neither an instance of the catalog nor a known GPU.")
    return gpu.memory_gib


def fit_answer(
    model: MemoryModel,
    step: RecordedStep,
    anchor_gpu_memory_gib: float,
    target_gpu_memory_gib: float,
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
    anchor_gpu_memory_gib, target_gpu_memory_gib : nominal memory of one GPU.
    batch_size, pixels : requested; None: as recorded. precision_growth : as `fits_by_instance` takes it.

    Raises
    ------
    InputError : a batch size or a memory is not a positive number.
    """
    anchor_gib = positive_number("The anchor's GPU memory", anchor_gpu_memory_gib)
    target_gib = positive_number("The target's GPU memory", target_gpu_memory_gib)
    recorded = step.meta.batch_size
    wanted = recorded if batch_size is None else whole_number("The batch size", batch_size)
    if batch_size is not None and recorded is None:
        return FitAnswer(Verdict.CANT_TELL, None, None, _SIZE_UNKNOWN)
    area = _area_growth(pixels, step.meta.pixels)
    if area is None:
        return FitAnswer(Verdict.CANT_TELL, None, None, _SIZE_UNKNOWN)
    area *= precision_growth
    need = memory_need(model, step)
    known = _KnownStep(model, need and need.bounded(anchor_gib), anchor_gib, target_gib)
    if recorded is None or wanted is None:
        return known.answer(area)
    return replace(known.answer(area * wanted / recorded), largest_batch=known.largest_batch(recorded, area))


def _area_growth(pixels: int | None, recorded: int | None) -> float | None:
    """Factor of image area; None if unknown."""
    if pixels is None:
        return 1.0
    wanted = whole_number("The pixel size", pixels)
    return None if recorded is None else (wanted / recorded) ** 2


@dataclass(frozen=True, slots=True)
class _KnownStep:
    """A step that ran on one GPU and may run on another; `need` None: the profile doesn't indicate its need."""

    model: MemoryModel
    need: MemoryNeed | None
    anchor_gib: float
    target_gib: float

    def answer(self, growth: float) -> FitAnswer:
        """Memory fit after activations grow by a factor, without the largest batch."""
        if growth <= 1 and self.target_gib >= self.anchor_gib:
            why = f"it ran on a GPU with {self.anchor_gib:g} GiB"
            return FitAnswer(Verdict.FITS, self.model.ran_probability, None, why)
        if self.need is None:
            smaller = self.target_gib < self.anchor_gib
            beyond = "less memory than the GPU it ran on" if smaller else "a larger step than the recorded one"
            return FitAnswer(
                Verdict.CANT_TELL, None, None, f"{beyond}, and the profile does not show how much memory it needs"
            )
        # It ran on the anchor, so only needs that fit there remain possible.
        chance, ran = self.need.probability(self.target_gib, growth), self.need.probability(self.anchor_gib, 1.0)
        chance = min(chance / max(ran, chance), self.model.ran_probability)
        needed = f"needs about {self.need.needed_gib(growth):.2g} of {self.target_gib:g} GiB"
        return FitAnswer(verdict_of(self.model, chance), chance, None, f"{needed}, from {self.need.source}")

    def largest_batch(self, recorded: int, area: float) -> int | None:
        """Largest batch that fits after image area grows by `area`; None if none is known to."""
        known = self._known_to_fit(recorded / area)
        largest = max(known, math.floor(recorded / area)) if self.target_gib >= self.anchor_gib else known
        return min(largest, LARGEST_BATCH) if largest >= 1 else None

    def _known_to_fit(self, recorded: float) -> int:
        """Largest batch with a high enough probability; `answer` solved for the batch."""
        need, certain = self.need, self.model.certain
        if need is None or self.model.ran_probability < certain:
            return 0
        growth = need.growth_at(self.target_gib, certain * need.probability(self.anchor_gib, 1.0))
        # Rounding must not lose a whole batch.
        return math.floor(min(growth, LARGEST_BATCH) * recorded * (1 + 1e-12))
