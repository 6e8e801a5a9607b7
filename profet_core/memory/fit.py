"""Does it fit? Whether a training step at some batch size fits in a GPU's memory, and the largest batch that does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpus, gpu_model
from profet_core.errors import InputError
from profet_core.memory.model import GIB_PER_VALUE, MemoryModel
from profet_core.operations.classes import load_operation_classes
from profet_core.operations.optimisers import state_copies, traffic_factor
from profet_core.profiles.record import Profile, ProfileMeta
from profet_core.units import US_PER_MS, positive_number, whole_number

FITS, DOES_NOT_FIT, CANT_TELL = "fits", "does not fit", "can't tell"

#: Of what a GPU's name says, a program gets at least this: T4 92 %, A10G 93 %, V100 and P100 99 % (the GPU table).
USABLE_SHARE = 0.92
#: How far a recorded peak is from the memory another GPU needs for the same step (libraries choose their workspace by
#: what is free), and more for each doubling of its activations: logistic scales of the logarithm. Assumed: the
#: measurements hold no recorded peak.
PEAK_LOG_SCALE, PEAK_LOG_SCALE_A_DOUBLING = 0.04, 0.04
#: The same where nothing tells which part of a peak grows with the batch.
PEAK_LOG_SCALE_UNSPLIT = 0.15
LARGEST_BATCH = 65_536
#: Activations are never nothing.
_SMALLEST_SHARE, _TINY_GIB = 0.01, 1e-6


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """Whether a step fits.

    Attributes
    ----------
    verdict : "fits", "does not fit" or "can't tell".
    probability : that it fits, 0 to 1; None where nothing is known to compute one from.
    largest_batch : largest batch size that "fits" by the same rule; None: not known.
    why : one short sentence.
    """

    verdict: str
    probability: float | None
    largest_batch: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Activity:
    """What a profile's times say of memory.

    Attributes
    ----------
    class_us : device operation class -> microseconds of the step.
    gpu_model, bandwidth_gb_per_s : of the GPU it was recorded on.
    state_copies : of the parameters, kept by the optimiser; plain SGD, which the measurements are of, keeps none.
    """

    class_us: Mapping[str, float]
    gpu_model: str
    bandwidth_gb_per_s: float
    state_copies: float = 0.0


@dataclass(frozen=True, slots=True)
class _Need:
    """Memory of the recorded step: what stays and what grows with batch and pixels, and how sure that is."""

    held_gib: float
    activation_gib: float
    log_scale: float
    activation_log_scale: float
    usable: float
    doubling_log_scale: float
    source: str

    def probability(self, memory_gib: float, growth: float) -> float:
        """That it fits once the activations have grown by a factor; less for a larger one, more for more memory."""
        memory = self.usable * memory_gib
        room = max(memory - self.held_gib, 0.0)
        # The error of the activations counts by their share of a memory that is just full.
        scale = math.hypot(
            self.log_scale,
            self.activation_log_scale * room / memory,
            self.doubling_log_scale * (math.log2(room / self.activation_gib) if room else 0.0),
        )
        return 1 / (1 + math.exp(min(math.log(self.needed_gib(growth) / memory) / scale, 700.0)))

    def bounded(self, memory_gib: float) -> _Need:
        """The need after it is known to be no more than some memory, in which it ran."""
        memory = self.usable * memory_gib
        held = min(self.held_gib, memory * (1 - _SMALLEST_SHARE))
        return replace(self, held_gib=held, activation_gib=max(min(self.activation_gib, memory - held), _TINY_GIB))

    def needed_gib(self, growth: float) -> float:
        return self.held_gib + self.activation_gib * growth


def fit_answer(
    model: MemoryModel,
    profile_meta: ProfileMeta,
    anchor_gpu_memory_gib: float,
    target_gpu_memory_gib: float,
    *,
    batch_size: int | None = None,
    pixels: int | None = None,
    activity: Activity | None = None,
) -> FitAnswer:
    """Whether the profiled network fits on another GPU (or on the same one at another size).

    In this order: what ran on the anchor runs on a GPU with as much memory; a recorded peak is scaled to the batch;
    else the activations are estimated from the times of `activity`, else from batch and pixel size. That the step ran
    on the anchor bounds every estimate.

    Parameters
    ----------
    profile_meta : what the recorder knew: batch size, pixels, parameters, peak memory; each may be missing.
    anchor_gpu_memory_gib, target_gpu_memory_gib : of one GPU, as its name says.
    batch_size, pixels : what to ask for; None: as recorded.
    activity : what `profile_activity` says of the profile.

    Raises
    ------
    InputError : a size or a memory is not a positive number.
    """
    anchor_gib = positive_number("The anchor's GPU memory", anchor_gpu_memory_gib)
    target_gib = positive_number("The target's GPU memory", target_gpu_memory_gib)
    if batch_size is not None:
        batch_size = whole_number("The batch size", batch_size)
    growth = _growth(profile_meta, batch_size, pixels)
    if growth is None:
        return FitAnswer(CANT_TELL, None, None, "the profile does not say the size it was recorded at")
    need = _need(model, profile_meta, activity)
    need = need and need.bounded(anchor_gib)
    answer = _at_size(model, need, anchor_gib, target_gib, growth)
    return replace(
        answer, largest_batch=_largest(model, need, profile_meta, anchor_gib, target_gib, growth, batch_size)
    )


def largest_batch(
    model: MemoryModel,
    profile_meta: ProfileMeta,
    anchor_gpu_memory_gib: float,
    target_gpu_memory_gib: float,
    *,
    pixels: int | None = None,
    activity: Activity | None = None,
) -> int | None:
    """The largest batch size that "fits" by the rule of `fit_answer`; None where it can't be told."""
    return fit_answer(
        model, profile_meta, anchor_gpu_memory_gib, target_gpu_memory_gib, pixels=pixels, activity=activity
    ).largest_batch


def fit_answers(
    model: MemoryModel,
    catalog: Catalog,
    gpus: Gpus,
    profile: Profile,
    anchor: str,
    targets: Iterable[str],
    *,
    batch_size: int | None = None,
    pixels: int | None = None,
) -> dict[str, FitAnswer]:
    """`fit_answer` for instances of the catalogue, by name; of a node of several GPUs for one of them."""
    known = profile_activity(profile, catalog, gpus, anchor)
    memory_gib = catalog[anchor].gpu_memory_gib
    return {
        name: fit_answer(
            model,
            profile.meta,
            memory_gib,
            catalog[name].gpu_memory_gib,
            batch_size=batch_size,
            pixels=pixels,
            activity=known,
        )
        for name in targets
    }


def profile_activity(profile: Profile, catalog: Catalog, gpus: Gpus, anchor: str) -> Activity | None:
    """The times of a profile that tell of memory; None where they don't: another framework, no data sheet, or a
    profile that TensorFlow cut, which lacks many of the operations that count here."""
    framework = (profile.meta.framework or "tensorflow").lower()
    try:
        gpu = gpus.find(catalog[anchor].gpu, catalog[anchor].gpu_memory_gib)
    except InputError:
        return None
    if not framework.startswith("tensorflow"):
        return None
    classes = load_operation_classes()
    encoded = classes.encode([profile])[0]
    if encoded.truncated[0]:
        return None
    class_us = {name: US_PER_MS * float(ms) for name, ms in zip(classes.names, encoded.times_ms[0], strict=True)}
    return Activity(class_us, gpu_model(gpu.name), gpu.bandwidth_gb_per_s, state_copies(profile))


def _growth(meta: ProfileMeta, batch_size: int | None, pixels: int | None) -> float | None:
    """By what the activations grow from the recorded step to the one asked for; None if a size is missing."""
    growth = 1.0
    for recorded, wanted, power in ((meta.batch_size, batch_size, 1), (meta.pixels, pixels, 2)):
        if wanted is None:
            continue
        if recorded is None:
            return None
        growth *= (positive_number("A size", wanted) / recorded) ** power
    return growth


def _need(model: MemoryModel, meta: ProfileMeta, activity: Activity | None) -> _Need | None:
    """What the recorded step needs, from the best that is known; None if nothing is."""
    law, parameters = model.law, meta.parameters
    copies = 0.0 if activity is None else activity.state_copies
    if parameters is None and activity is not None:
        plain_us = activity.class_us.get("weight update", 0.0) / traffic_factor(copies)
        parameters = model.traffic.parameters(plain_us, activity.bandwidth_gb_per_s)
    stays_gib = None if parameters is None else law.held_gib(parameters) + copies * parameters * GIB_PER_VALUE
    if meta.peak_memory_mib is not None:
        peak_gib = meta.peak_memory_mib / 1024 + law.fixed_gib
        held = law.fixed_gib if stays_gib is None else min(stays_gib, peak_gib)
        unsplit = PEAK_LOG_SCALE_UNSPLIT if stays_gib is None else PEAK_LOG_SCALE_A_DOUBLING
        return _Need(held, peak_gib - held, PEAK_LOG_SCALE, 0.0, USABLE_SHARE, unsplit, "its recorded peak")
    if stays_gib is None or _unlike_the_data(meta):
        return None
    if activity is not None:
        grows = model.traffic.activation_gib(activity.class_us, activity.gpu_model, activity.bandwidth_gb_per_s)
        scale, source = model.traffic.log_scale, "what its operations move"
    elif meta.batch_size is not None and meta.pixels is not None:
        grows = model.images.activation_gib(meta.batch_size, meta.pixels)
        scale, source = model.images.log_scale, "networks of its batch and image size"
    else:
        return None
    return _Need(stays_gib, grows, law.log_scale, scale, 1.0, 0.0, source)


def _unlike_the_data(meta: ProfileMeta) -> bool:
    """Half-precision values and joined operations need other memory than the measurements tell of."""
    return bool(meta.compiled) or (meta.precision or "float32").lower() not in ("fp32", "float32", "tf32")


def _at_size(model: MemoryModel, need: _Need | None, anchor_gib: float, target_gib: float, growth: float) -> FitAnswer:
    if growth <= 1 and target_gib >= anchor_gib:
        return FitAnswer(FITS, model.ran_probability, None, f"it ran on a GPU with {anchor_gib:g} GiB")
    if need is None:
        smaller = "less memory than the GPU it ran on" if target_gib < anchor_gib else "a larger step than ran"
        return FitAnswer(CANT_TELL, None, None, f"{smaller}, and the profile does not tell what it needs")
    chance = need.probability(target_gib, growth)
    # It ran on the anchor: of all that the step may need, only what fits there is still possible.
    chance = min(chance / max(need.probability(anchor_gib, 1.0), chance), model.ran_probability)
    why = f"needs about {need.needed_gib(growth):.2g} of {target_gib:g} GiB, judged by {need.source}"
    if chance >= model.certain:
        return FitAnswer(FITS, chance, None, why)
    return FitAnswer(DOES_NOT_FIT if chance <= 1 - model.certain else CANT_TELL, chance, None, why)


def _largest(
    model: MemoryModel,
    need: _Need | None,
    meta: ProfileMeta,
    anchor_gib: float,
    target_gib: float,
    growth: float,
    batch_size: int | None,
) -> int | None:
    """The largest batch at the asked pixel size that fits, by halving: a larger batch never fits better."""
    if meta.batch_size is None:
        return None
    at_recorded = growth * meta.batch_size / (batch_size or meta.batch_size)

    def fits(batch: int) -> bool:
        grown = at_recorded * batch / meta.batch_size
        return _at_size(model, need, anchor_gib, target_gib, grown).verdict == FITS

    if not fits(1):
        return None
    low, high = 1, LARGEST_BATCH + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
