"""Predict memory fit of a training step and the largest batch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpus
from profet_core.errors import InputError
from profet_core.memory.device_times import anchor_sheet, device_times
from profet_core.memory.model import MemoryModel
from profet_core.memory.need import MemoryNeed, RecordedStep, memory_need
from profet_core.operations.optimisers import state_copies
from profet_core.profiles.record import Profile
from profet_core.units import positive_number, whole_number

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
        chance = self._chance(self.need, growth, self.need.probability(self.anchor_gib, 1.0))
        needed = f"needs about {self.need.needed_gib(growth):.2g} of {self.target_gib:g} GiB"
        return FitAnswer(self._verdict(chance), chance, None, f"{needed}, from {self.need.source}")

    def _chance(self, need: MemoryNeed, growth: float, ran: float) -> float:
        """Probability that it fits; `ran`: the probability for the anchor from the need alone."""
        chance = need.probability(self.target_gib, growth)
        # It ran on the anchor, so only needs that fit there remain possible.
        return min(chance / max(ran, chance), self.model.ran_probability)

    def _verdict(self, chance: float) -> Verdict:
        if chance >= self.model.certain:
            return Verdict.FITS
        return Verdict.DOES_NOT_FIT if chance <= 1 - self.model.certain else Verdict.CANT_TELL

    def largest_batch(self, recorded: int, area: float) -> int | None:
        """Largest batch that fits after image area grows by `area`; None if none is known to."""
        known = self._known_to_fit(recorded / area)
        largest = max(known, math.floor(recorded / area)) if self.target_gib >= self.anchor_gib else known
        return min(largest, LARGEST_BATCH) if largest >= 1 else None

    def _known_to_fit(self, recorded: float) -> int:
        """Largest batch with a high enough probability; `_chance` solved for the batch."""
        need, certain = self.need, self.model.certain
        if need is None or self.model.ran_probability < certain:
            return 0
        growth = need.growth_at(self.target_gib, certain * need.probability(self.anchor_gib, 1.0))
        # Rounding must not lose a whole batch.
        return math.floor(min(growth, LARGEST_BATCH) * recorded * (1 + 1e-12))
