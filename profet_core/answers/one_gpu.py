"""One GPU's step at a batch size, predicted or measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from profet_core.answers.questions import Context
from profet_core.answers.training import PredictedTraining, fits_in_training, predicted_training
from profet_core.errors import InputError
from profet_core.fields.questions import FieldNames, TrainingQuestion
from profet_core.latency import Basis, StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.prediction.sizes import BATCH_SIZES
from profet_core.profiles.record import ProfileMeta
from profet_core.units import positive_number, whole_number


@dataclass(frozen=True)
class PredictedOneGpu:
    """A step predicted from a profile and scaled to other batch sizes.

    Properties: the source GPU and instance, the batch and pixel size, the instances with a known step, and warnings.
    """

    context: Context
    question: TrainingQuestion
    field_names: FieldNames
    _trainings: dict[int, PredictedTraining] = field(default_factory=dict)

    @cached_property
    def _first(self) -> PredictedTraining:
        return predicted_training(self.context, self.question, self.field_names)

    @property
    def gpu(self) -> str:
        """GPU of the anchor."""
        anchor = self._first.prediction.anchor
        found = self.context.catalog.get(anchor)
        return anchor if found is None else found.gpu

    @property
    def instance(self) -> str:
        """The anchor."""
        return self._first.prediction.anchor

    @property
    def meta(self) -> ProfileMeta:
        """Metadata of the profile."""
        return self._first.profile.meta

    @property
    def batch_size(self) -> int:
        """Batch size of the training."""
        return self._first.steps.batch_size

    @property
    def pixels(self) -> int | None:
        """Pixels of the training, if the profile or the question gives them."""
        return self._first.steps.pixels or self._first.pixels

    @property
    def known(self) -> Collection[str]:
        """Instances with a latency."""
        return self._first.steps.latencies_ms.keys()

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings of the prediction and of scaling."""
        return [text for training in (self._first, *self._trainings.values()) for text in training.warnings]

    def tells(self, batch_size: int) -> bool:
        """Whether steps can be scaled to that batch size."""
        return batch_size == self.batch_size or BATCH_SIZES[0] <= batch_size <= BATCH_SIZES[1]

    def step_at(self, instance: str, batch_size: int) -> StepTime:
        """Step predicted and scaled to another batch size.

        For a GPU anchor, it is taken from offers with that GPU.

        Raises
        ------
        InputError : the anchor's latency is missing, or scaling would need an offer with the GPU.
        """
        given_ms = self._first.prediction.anchor_latency_ms
        is_a_gpu = instance == self.instance and instance not in self.context.catalog
        steps = self._at(batch_size).steps
        if is_a_gpu and given_ms is not None and not steps.carried:
            return StepTime(instance=instance, latency_ms=given_ms, basis=Basis.GIVEN)
        names = self._offers_with(instance) if is_a_gpu else [instance]
        rows = {row.instance: row for row in steps.step_times if row.latency_ms is not None}
        found = next((rows[name] for name in names if name in rows), None)
        if found is None:
            raise InputError(self._not_known(instance, batch_size, given_ms))
        return found

    def _offers_with(self, gpu: str) -> list[str]:
        """Instances with this GPU, fewest GPUs first."""
        having = [offer for offer in self.context.catalog.values() if offer.gpu == gpu]
        return [offer.name for offer in sorted(having, key=lambda offer: offer.gpu_count)]

    def _not_known(self, instance: str, batch_size: int, given_ms: float | None) -> str:
        option = self.field_names.option
        if given_ms is None:
            return (
                f"The step latency on {instance} is unknown: give it ({option('latency_ms')}) or name another instance."
            )
        return (
            f"The step latency on {instance} at batch {batch_size} is unknown: name an instance ({option('instance')})."
        )

    def fit_at(self, instance: str, batch_size: int) -> FitAnswer | None:
        """Whether the step fits in the memory of one GPU there; None without a memory model."""
        return fits_in_training(self.context, self._at(batch_size), [instance]).get(instance)

    def _at(self, batch_size: int) -> PredictedTraining:
        if batch_size == self.batch_size:
            return self._first
        if batch_size not in self._trainings:
            question = replace(self.question, at_batch=batch_size)
            self._trainings[batch_size] = predicted_training(self.context, question, self.field_names)
        return self._trainings[batch_size]


@dataclass(frozen=True, slots=True)
class MeasuredOneGpu:
    """A measured step on one GPU: known on instances with that GPU, at that batch size.

    Fields match the properties of `PredictedOneGpu`; `instance` is "" for any instance with the GPU.
    """

    latency_ms: float
    batch_size: int
    gpu: str
    known: Collection[str]
    instance: str = ""
    pixels: int | None = None
    warnings: Sequence[str] = ()
    meta: ProfileMeta = field(default_factory=ProfileMeta)

    def tells(self, batch_size: int) -> bool:
        """Whether it is the measured batch size."""
        return batch_size == self.batch_size

    def step_at(self, instance: str, batch_size: int) -> StepTime:
        """The measured step.

        Raises
        ------
        InputError : another GPU, or another batch size than the measured one.
        """
        if instance and instance not in self.known:
            raise InputError(f"The step was measured on {self.gpu}, but {instance} has another GPU.")
        if batch_size != self.batch_size:
            raise InputError(
                f"The measured step is for batch {self.batch_size} per GPU, not {batch_size}: another batch "
                "size needs a profile."
            )
        return StepTime(instance=instance, latency_ms=self.latency_ms, basis=Basis.GIVEN)

    def fit_at(self, instance: str, batch_size: int) -> FitAnswer | None:
        """Always fits: it ran."""
        return None


#: Source of one GPU's step.
OneGpu: TypeAlias = PredictedOneGpu | MeasuredOneGpu


def measured_one_gpu(
    context: Context, gpus: str | Sequence[str], latency_ms: float, batch_size: int | None, field_names: FieldNames
) -> MeasuredOneGpu:
    """A step measured on one named GPU.

    Raises
    ------
    InputError : the GPU is missing, ambiguous or one of several, the batch size is missing, or the latency is invalid.
    """
    gpus = [gpus] if isinstance(gpus, str) else gpus
    if len(gpus) != 1:
        raise InputError(f"Give the GPU that the step was measured on: {field_names.option('gpu')} V100.")
    if batch_size is None:
        raise InputError(f"Give the batch size that the step was measured at: {field_names.option('batch')} 64.")
    # Parse the name like an anchor's: "A100" is ambiguous, and PCIe and SXM4 steps differ.
    gpu = context.gpus.find(gpus[0]).name
    return MeasuredOneGpu(
        latency_ms=positive_number("The step latency", latency_ms),
        batch_size=whole_number("The batch size", batch_size),
        gpu=gpu,
        known=frozenset(name for name, offer in context.catalog.items() if offer.gpu == gpu),
    )
