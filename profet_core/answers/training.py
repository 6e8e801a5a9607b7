"""The training that cost and advice are about: its step latencies, at the profiled batch size or at another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from profet_core.answers.predict import predicted_profile, predicted_question
from profet_core.answers.questions import Knowledge, Spelling, TrainingQuestion
from profet_core.cost import check_profiled_batch
from profet_core.errors import InputError, NoPredictionError
from profet_core.memory.fit import FitAnswer, fits_by_instance
from profet_core.prediction.records import Prediction
from profet_core.profiles import Profile
from profet_core.scaling.axes import axis_range
from profet_core.training.ends import AxisEnds, EndProfiles, contradictions
from profet_core.training.steps import TrainingSteps, on_shared_curve, steps_as_profiled, steps_carried


@dataclass(frozen=True, slots=True)
class PredictedTraining:
    """The profile, what is predicted from it, and the step latencies of the training.

    Attributes
    ----------
    warnings : of the prediction, of that of `largest`, and of carrying.
    """

    profile: Profile
    prediction: Prediction
    steps: TrainingSteps
    warnings: tuple[str, ...]


def predicted_training(knowledge: Knowledge, question: TrainingQuestion, spelling: Spelling) -> PredictedTraining:
    """Predict the profile, and carry its latencies to `at_batch` if that is given.

    Raises
    ------
    InputError : the profiles are not those of both ends, or an instance's latency can't be carried.
    """
    models = knowledge.models
    profile, prediction = predicted_question(knowledge, question, spelling)
    batch_size = check_profiled_batch(question.profiled_batch, profile.meta.batch_size)
    if question.at_batch is None:
        if question.largest is not None:
            raise largest_alone(spelling)
        return PredictedTraining(profile, prediction, steps_as_profiled(prediction, batch_size), prediction.warnings)
    largest_profile, largest = _predicted_largest(knowledge, question, spelling, batch_size)
    ends = AxisEnds(
        "batch",
        prediction.latencies_ms,
        largest.latencies_ms,
        EndProfiles(profile, largest_profile, prediction.anchor),
    )
    steps = steps_carried(models, ends, question.at_batch, prediction.predictions)
    if steps.problems:
        raise InputError(next(iter(steps.problems.values())))
    name = spelling.option("largest")
    warnings = [*prediction.warnings, *(f"{name}: {text}" for text in (*largest.warnings, *contradictions(ends)))]
    shared = on_shared_curve(models, steps)
    if shared:
        warnings.append(
            f"Nobody measured how {', '.join(shared)} grow with the batch size: they follow the curve that the "
            "measured instances share."
        )
    return PredictedTraining(profile, prediction, steps, tuple(warnings))


def fits_in_training(
    knowledge: Knowledge, training: PredictedTraining, instances: Iterable[str]
) -> Mapping[str, FitAnswer]:
    """Instance -> whether a step of the training fits in its memory; empty if the models have no memory law."""
    return fits_by_instance(
        knowledge.models.memory,
        knowledge.catalog,
        knowledge.gpus,
        training.profile,
        training.prediction.anchor,
        instances,
        batch_size=training.steps.batch_size,
    )


def largest_alone(spelling: Spelling) -> InputError:
    """What to raise where `largest` comes without `at_batch`."""
    at_batch, largest = spelling.option("at_batch"), spelling.option("largest")
    return InputError(f"{largest} is for another batch size: name it with {at_batch}.")


def _predicted_largest(
    knowledge: Knowledge, question: TrainingQuestion, spelling: Spelling, profiled_batch: int
) -> tuple[Profile, Prediction]:
    """`largest`, the profile at the other end of the batch axis, and what is predicted from it."""
    low, high = axis_range("batch")
    at_batch, largest, trace = spelling.option("at_batch"), spelling.option("largest"), spelling.profile
    if question.largest is None:
        raise InputError(f"{at_batch} needs both ends: {trace} at batch {low} and {largest} {trace} at batch {high}.")
    if profiled_batch != low:
        raise InputError(f"{at_batch} needs {trace} recorded at batch {low}, not {profiled_batch}.")
    profile = question.largest
    if profile.meta.batch_size not in (None, high):
        raise InputError(f"{largest} must be recorded at batch {high}, not {profile.meta.batch_size}.")
    try:
        return predicted_profile(knowledge, question, spelling, profile, question.largest_latency_ms)
    except NoPredictionError as error:
        raise NoPredictionError(f"{largest}: {error}") from None
