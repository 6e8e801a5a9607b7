"""Step latencies of a training at the profiled or another size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from profet_core.answers.predict import corrected, memory_fits, predicted_profile, predicted_question, sized
from profet_core.answers.questions import Context
from profet_core.errors import InputError, NoPredictionError, OptionalInputError, ProfetError
from profet_core.fields.questions import FieldNames, TrainingQuestion
from profet_core.memory.fit import FitAnswer
from profet_core.messages import Code, Note
from profet_core.prediction.checks import read_as
from profet_core.prediction.records import Prediction
from profet_core.prediction.sizes import (
    KnownStep,
    TrainingSteps,
    joint_predictions,
    other_networks,
    steps_as_profiled,
    steps_at,
)
from profet_core.profiles import Profile

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
    warnings: tuple[Note, ...]
    known: tuple[KnownStep, ...]

    @property
    def pixels(self) -> int | None:
        """Pixel size the profile was recorded at; None if unknown."""
        return self.profile.meta.pixels

    @property
    def second(self) -> Profile | None:
        """The profile of the same network at another size; None without one."""
        return self.known[1].sized_profile if len(self.known) > 1 else None


def predicted_training(context: Context, question: TrainingQuestion, field_names: FieldNames) -> PredictedTraining:
    """Predict the profile, and scale its latencies to `at_batch` and `at_pixels` if these are given.

    Raises
    ------
    InputError : a size is out of range, unknown, or contradicts a profile.
    OptionalInputError : `second` or `measured` can't be used.
    """
    profile, prediction = predicted_question(context, question, field_names)
    prediction = corrected(context, question, field_names, profile, prediction)
    first = KnownStep(profile, prediction, profile.meta.batch_size, profile.meta.pixels)
    if first.batch_size is None and question.images is not None:
        raise InputError(NO_BATCH)
    if question.at_pixels is not None and first.pixels is None:
        raise InputError(f"Give the pixel size it was recorded at: {field_names.option('profiled_pixels')}.")
    known: tuple[KnownStep, ...] = (first,)
    warnings = list(first.prediction.warnings)
    if question.second is not None:
        second = _second_step(context, question, question.second, field_names, first)
        own = [note for note in second.prediction.warnings if note not in warnings]
        warnings += [Note(Code.SECOND_PROFILE, text=note) for note in own]
        known = joint_predictions((first, second))
    if question.at_pixels is not None and any(step.pixels != question.at_pixels for step in known):
        warnings.append(Note(Code.MORE_CLASSES))
    return PredictedTraining(profile, known[0].prediction, _steps(context, question, known), tuple(warnings), known)


def fits_in_training(
    context: Context, training: PredictedTraining, instances: Iterable[str], at: tuple[int, int | None] | None = None
) -> Mapping[str, FitAnswer]:
    """Instance -> whether a training step fits in its memory; empty without a memory model.

    Parameters
    ----------
    at : batch size and pixels, if not the training's.
    """
    recorded = training.profile.meta.batch_size
    batch_size, pixels = at or (training.steps.batch_size, training.steps.pixels or training.pixels)
    size = {"batch_size": None if recorded is None else batch_size, "pixels": pixels}
    return memory_fits(context, training.profile, training.prediction, instances, **size, second=training.second)


def _steps(context: Context, question: TrainingQuestion, known: Sequence[KnownStep]) -> TrainingSteps:
    first = known[0]
    batch_size = first.batch_size if question.at_batch is None else question.at_batch
    pixels = first.pixels if question.at_pixels is None else question.at_pixels
    if batch_size is None:
        return replace(steps_as_profiled(first.prediction, 1), pixels=pixels)
    if first.is_at(batch_size, pixels):
        # Sizes beyond the scaling range are valid if they were profiled.
        return replace(steps_as_profiled(first.prediction, batch_size), pixels=pixels)
    return steps_at(context.models, known, batch_size=batch_size, pixels=pixels)


class NoSecondPredictionError(OptionalInputError, NoPredictionError):
    """Nothing can be predicted from the second profile."""


def _second_step(
    context: Context, question: TrainingQuestion, second: Profile, field_names: FieldNames, first: KnownStep
) -> KnownStep:
    """`second` and its prediction.

    Raises
    ------
    OptionalInputError : it can't be combined with the first; the message says why.
    """
    try:
        profile = read_as(second, question.second_steps)
        profile = sized(profile, question.second_batch, question.second_pixels, field_names, "second")
        counted, prediction = predicted_profile(context, question, field_names, profile, question.second_latency_ms)
        found = KnownStep(counted, prediction, counted.meta.batch_size, counted.meta.pixels)
        _check_together(first, found, field_names)
    except ProfetError as error:
        text = str(error)
        name = field_names.option("second")
        kind = NoSecondPredictionError if isinstance(error, NoPredictionError) else OptionalInputError
        raise kind(text if text.startswith(name) else f"{name}: {text}", "second") from None
    return found


def _check_together(first: KnownStep, second: KnownStep, field_names: FieldNames) -> None:
    """Reject a second profile that is not another size of the first one's network."""
    if second.profile.operations == first.profile.operations:
        raise InputError("it is the same as the first profile: give a profile at another size.")
    if second.batch_size is None:
        raise InputError(f"give the batch size it was recorded at: {field_names.option('second_batch')}.")
    if first.pixels is not None and second.pixels is None:
        raise InputError(f"give the pixel size it was recorded at: {field_names.option('second_pixels')}.")
    if lines := other_networks(first.profile, second.profile):
        raise InputError(lines[0])
    if (first.batch_size, first.pixels) == (second.batch_size, second.pixels):
        raise InputError("it has the same batch and pixel size as the first: give a profile at another size.")
