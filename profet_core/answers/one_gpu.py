"""One GPU's step at a batch size, predicted or measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from profet_core.answers.questions import Context
from profet_core.answers.training import PredictedTraining, fits_in_training, predicted_training
from profet_core.errors import InputError
from profet_core.fields.questions import TrainingQuestion
from profet_core.latency import Basis, Estimate, StepTime
from profet_core.messages import Note
from profet_core.prediction.sizes import BATCH_SIZES
from profet_core.training.memory import FitAnswer
from profet_core.units import positive_number, whole_number
from profet_recorder.profiles.record import ProfileMeta


@dataclass(frozen=True, slots=True)
class OneGpu:
    """Source of one GPU's step.

    Attributes
    ----------
    gpu, instance : where it ran; the instance is empty if the step was measured on any with this GPU.
    batch_size, pixels, meta : of the training, and the profile's metadata; empty if measured.
    known : instances with a step. supports_batch : whether steps are known at a batch size.
    step_at : step of an instance at a batch size; InputError if unknown.
    fit_at : whether it fits in the memory of one GPU there; None if unknown, or if it ran.
    warnings : of the predictions so far.
    """

    gpu: str
    instance: str
    batch_size: int
    known: Collection[str]
    supports_batch: Callable[[int], bool]
    step_at: Callable[[str, int], StepTime]
    fit_at: Callable[[str, int], FitAnswer | None]
    pixels: int | None = None
    meta: ProfileMeta = field(default_factory=ProfileMeta)
    warnings: Sequence[Note] = ()


def predicted_one_gpu(context: Context, question: TrainingQuestion) -> OneGpu:
    """A step predicted from a profile and scaled to other batch sizes.

    For a GPU anchor, another batch size is taken from offers with that GPU.
    """
    first = predicted_training(context, question)
    anchor, given_ms, batch = first.prediction.anchor, first.prediction.anchor_latency_ms, first.steps.batch_size
    catalog, trainings, warnings = context.catalog, {batch: first}, list(first.warnings)

    def at(batch_size: int) -> PredictedTraining:
        if batch_size not in trainings:
            trainings[batch_size] = predicted_training(context, replace(question, at_batch=batch_size))
            warnings.extend(trainings[batch_size].warnings)
        return trainings[batch_size]

    def step_at(instance: str, batch_size: int) -> StepTime:
        steps, names = at(batch_size).steps, [instance]
        if instance == anchor and instance not in catalog:
            if given_ms is not None and not steps.scaled:
                return StepTime(instance, Estimate(latency_ms=given_ms, basis=Basis.GIVEN))
            having = [offer for offer in catalog.values() if offer.gpu == instance]
            names = [offer.name for offer in sorted(having, key=lambda offer: offer.gpu_count)]
        rows = {row.instance: row for row in steps.step_times if row.latency_ms is not None}
        found = next((rows[name] for name in names if name in rows), None)
        if found is None:
            way = "give it ({latency_ms}) or " if given_ms is None else ""
            raise InputError(
                f"The step latency on {instance} at batch {batch_size} is unknown: {way}name another instance "
                "({instance}).",
                "latency_ms",
                "instance",
            )
        return found

    return OneGpu(
        gpu=catalog[anchor].gpu if anchor in catalog else anchor,
        instance=anchor,
        batch_size=batch,
        known=first.steps.latencies_ms.keys(),
        supports_batch=lambda size: size == batch or BATCH_SIZES[0] <= size <= BATCH_SIZES[1],
        step_at=step_at,
        fit_at=lambda instance, size: fits_in_training(context, at(size), [instance]).get(instance),
        pixels=first.steps.pixels or first.pixels,
        meta=first.profile.meta,
        warnings=warnings,
    )


def measured_one_gpu(context: Context, gpus: str | Sequence[str], latency_ms: float, batch_size: int | None) -> OneGpu:
    """A step measured on one named GPU: known on instances with that GPU, at that batch size."""
    gpus = [gpus] if isinstance(gpus, str) else gpus
    if len(gpus) != 1:
        raise InputError("Give the GPU that the step was measured on: {gpu} V100.", "gpu")
    if batch_size is None:
        raise InputError("Give the batch size that the step was measured at: {batch} 64.", "batch")
    # Parse the name like an anchor's: "A100" is ambiguous, and PCIe and SXM4 steps differ.
    gpu = context.gpus.find(gpus[0]).name
    known = frozenset(name for name, offer in context.catalog.items() if offer.gpu == gpu)
    latency_ms, batch = positive_number("The step latency", latency_ms), whole_number("The batch size", batch_size)

    def step_at(instance: str, batch_size: int) -> StepTime:
        if instance and instance not in known:
            raise InputError(f"The step was measured on {gpu}, but {instance} has another GPU.")
        if batch_size != batch:
            raise InputError(
                f"The measured step is for batch {batch} per GPU, not {batch_size}: another batch size needs a profile."
            )
        return StepTime(instance, Estimate(latency_ms=latency_ms, basis=Basis.GIVEN))

    return OneGpu(gpu, "", batch, known, lambda size: size == batch, step_at, lambda *_: None)
