"""Step latencies of a training at the profiled or another size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from profet_core.answers.predict import corrected, predicted_profile, predicted_question, sized
from profet_core.answers.questions import Knowledge, Spelling, TrainingQuestion
from profet_core.errors import InputError, NoPredictionError, OptionalInputError, ProfetError
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer, fits_by_instance
from profet_core.prediction.in_precision import activation_growth
from profet_core.prediction.records import Prediction
from profet_core.prediction.steps import read_as
from profet_core.profiles import Profile
from profet_core.training.ends import other_networks
from profet_core.training.sizes import KnownStep, curves_at, joint_predictions, steps_at
from profet_core.training.steps import TrainingSteps, steps_as_profiled

#: Caveat where latencies are scaled to other pixel sizes: what changes besides the images.
CLASSES_GROW = (
    "The measured networks have more classes at larger image sizes (10 at 32 pixels; 100 at 64 and 128; 1,000 at "
    "224 and 256), and this estimate assumes the same. A network with a fixed number of classes changes less."
)
NO_BATCH = "The profile doesn't include its batch size: give the batch size it was recorded at."


@dataclass(frozen=True, slots=True)
class PredictedTraining:
    """The profile, its prediction, and the step latencies of the training.

    Attributes
    ----------
    profile : with the known sizes and number of steps.
    warnings : of the prediction, of that of `second`, and of scaling to another size.
    known : the profiled reference steps for scaling; the second one belongs to the second profile.
    """

    profile: Profile
    prediction: Prediction
    steps: TrainingSteps
    warnings: tuple[str, ...]
    known: tuple[KnownStep, ...]

    @property
    def pixels(self) -> int | None:
        """Pixel size the profile was recorded at; None if unknown."""
        return self.profile.meta.pixels

    @property
    def second(self) -> Profile | None:
        """The profile of the same network at another size; None without one."""
        return self.known[1].sized_profile if len(self.known) > 1 else None


def predicted_training(knowledge: Knowledge, question: TrainingQuestion, spelling: Spelling) -> PredictedTraining:
    """Predict the profile, and scale its latencies to `at_batch` and `at_pixels` if these are given.

    Raises
    ------
    InputError : a size is out of range, unknown, or contradicts a profile.
    OptionalInputError : `second` or `measured` can't be used.
    """
    profile, prediction = predicted_question(knowledge, question, spelling)
    prediction = corrected(knowledge, question, spelling, profile, prediction)
    first = KnownStep(profile, prediction, profile.meta.batch_size, profile.meta.pixels)
    if first.batch_size is None and question.images is not None:
        raise InputError(NO_BATCH)
    if question.at_pixels is not None and first.pixels is None:
        raise InputError(f"Give the pixel size it was recorded at: {spelling.option('profiled_pixels')}.")
    known: tuple[KnownStep, ...] = (first,)
    warnings = list(first.prediction.warnings)
    if question.second is not None:
        second = _second_step(knowledge, question, spelling, first)
        warnings += [f"Second profile: {text}" for text in second.prediction.warnings if text not in warnings]
        known = joint_predictions((first, second))
    if question.at_pixels is not None and any(step.pixels != question.at_pixels for step in known):
        warnings.append(CLASSES_GROW)
    return PredictedTraining(profile, known[0].prediction, _steps(knowledge, question, known), tuple(warnings), known)


def training_curves(
    knowledge: Knowledge,
    training: PredictedTraining,
    axis: str,
    sizes: Sequence[int],
    other_size: int | None,
    instances: Collection[str],
) -> Mapping[str, tuple[StepTime, ...]]:
    """Instance -> its step at each size of an axis, "batch" or "pixels", as in `predicted_training`.

    Raises
    ------
    InputError : a size is out of range or unknown.
    """
    return curves_at(knowledge.models, training.known, axis, sizes, other_size, instances=instances)


def fits_in_training(
    knowledge: Knowledge, training: PredictedTraining, instances: Iterable[str]
) -> Mapping[str, FitAnswer]:
    """Instance -> whether a training step fits in its memory; empty without a memory model."""
    batch_size = None if training.profile.meta.batch_size is None else training.steps.batch_size
    return fits_at(knowledge, training, instances, batch_size, training.steps.pixels or training.pixels)


def fits_at(
    knowledge: Knowledge,
    training: PredictedTraining,
    instances: Iterable[str],
    batch_size: int | None,
    pixels: int | None,
) -> Mapping[str, FitAnswer]:
    """As `fits_in_training`, at another size."""
    return fits_by_instance(
        knowledge.models.memory,
        knowledge.catalog,
        knowledge.gpus,
        training.profile,
        training.prediction.anchor,
        instances,
        batch_size=batch_size,
        pixels=pixels,
        second=training.second,
        precision_growth=activation_growth(knowledge.models, training.profile, training.prediction.precision),
    )


def _steps(knowledge: Knowledge, question: TrainingQuestion, known: Sequence[KnownStep]) -> TrainingSteps:
    first = known[0]
    batch_size = first.batch_size if question.at_batch is None else question.at_batch
    pixels = first.pixels if question.at_pixels is None else question.at_pixels
    if batch_size is None:
        return replace(steps_as_profiled(first.prediction, 1), pixels=pixels)
    if first.is_at(batch_size, pixels):
        # Sizes beyond the scaling range are valid if they were profiled.
        return replace(steps_as_profiled(first.prediction, batch_size), pixels=pixels)
    return steps_at(knowledge.models, known, batch_size=batch_size, pixels=pixels)


def _second_step(knowledge: Knowledge, question: TrainingQuestion, spelling: Spelling, first: KnownStep) -> KnownStep:
    """`second` and its prediction.

    Raises
    ------
    OptionalInputError : it can't be combined with the first; the message says why.
    """
    try:
        found = _predicted_second(knowledge, question, spelling)
        _check_together(first, found, spelling)
    except ProfetError as error:
        text = str(error)
        name = spelling.option("second")
        kind = NoSecondPredictionError if isinstance(error, NoPredictionError) else OptionalInputError
        raise kind(text if text.startswith(name) else f"{name}: {text}", "second") from None
    return found


class NoSecondPredictionError(OptionalInputError, NoPredictionError):
    """Nothing can be predicted from the second profile."""


def _predicted_second(knowledge: Knowledge, question: TrainingQuestion, spelling: Spelling) -> KnownStep:
    if question.second is None:
        raise InputError("it is missing.")
    profile = read_as(question.second, question.second_steps)
    profile = sized(profile, question.second_batch, question.second_pixels, spelling, "second")
    counted, prediction = predicted_profile(knowledge, question, spelling, profile, question.second_latency_ms)
    return KnownStep(counted, prediction, counted.meta.batch_size, counted.meta.pixels)


def _check_together(first: KnownStep, second: KnownStep, spelling: Spelling) -> None:
    """Reject a second profile that is not another size of the first one's network."""
    if second.profile.operations == first.profile.operations:
        raise InputError("it is the same as the first profile: give a profile at another size.")
    if second.batch_size is None:
        raise InputError(f"give the batch size it was recorded at: {spelling.option('second_batch')}.")
    if first.pixels is not None and second.pixels is None:
        raise InputError(f"give the pixel size it was recorded at: {spelling.option('second_pixels')}.")
    if lines := other_networks(first.profile, second.profile):
        raise InputError(lines[0])
    if (first.batch_size, first.pixels) == (second.batch_size, second.pixels):
        raise InputError("it has the same batch and pixel size as the first: give a profile at another size.")
