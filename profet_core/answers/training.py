"""The training that cost and advice are about: its step latencies, at the profiled batch size or at another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from profet_core.answers.predict import predicted_profile, predicted_question
from profet_core.answers.questions import Knowledge, Spelling, TrainingQuestion
from profet_core.cost import check_profiled_batch
from profet_core.errors import InputError, NoPredictionError
from profet_core.memory.fit import FitAnswer, fits_by_instance
from profet_core.prediction.records import Prediction
from profet_core.profiles import Profile
from profet_core.training.ends import other_networks
from profet_core.training.sizes import KnownStep, steps_at
from profet_core.training.steps import TrainingSteps, steps_as_profiled

#: What pixels change beside the images, wherever latencies are carried to other pixels.
CLASSES_GROW = (
    "The measured networks have more classes at more pixels (10 at 32; 100 at 64 and 128; 1,000 at 224 and 256), "
    "and so has this estimate: a network that keeps its classes changes less."
)


@dataclass(frozen=True, slots=True)
class PredictedTraining:
    """The profile, what is predicted from it, and the step latencies of the training.

    Attributes
    ----------
    warnings : of the prediction, of that of `second`, and of carrying.
    pixels : the profile was recorded at; None: not known.
    second : the profile of the same network at another size, with its sizes; None where none is given.
    """

    profile: Profile
    prediction: Prediction
    steps: TrainingSteps
    warnings: tuple[str, ...]
    pixels: int | None = None
    second: Profile | None = None


def predicted_training(knowledge: Knowledge, question: TrainingQuestion, spelling: Spelling) -> PredictedTraining:
    """Predict the profile, and carry its latencies to `at_batch` and `at_pixels` if these are given.

    Raises
    ------
    InputError : a size that is out of range, not known, or contradicts what a profile says.
    """
    profile, prediction = predicted_question(knowledge, question, spelling)
    batch_size = check_profiled_batch(question.profiled_batch, profile.meta.batch_size)
    pixels = _recorded("pixels", question.profiled_pixels, profile.meta.pixels, spelling.option("profiled_pixels"))
    if question.at_batch is None and question.at_pixels is None:
        if question.second is not None:
            raise second_alone(spelling)
        steps = steps_as_profiled(prediction, batch_size)
        return PredictedTraining(profile, prediction, steps, prediction.warnings, pixels)
    if question.at_pixels is not None and pixels is None:
        raise InputError(f"Say at which pixel size it was recorded: {spelling.option('profiled_pixels')}.")
    known = [KnownStep(profile, prediction, batch_size, pixels)]
    second_profile = None
    warnings = list(prediction.warnings)
    if question.second is not None:
        second = _second_step(knowledge, question, spelling)
        known.append(second)
        second_profile = second.sized_profile
        name = spelling.option("second")
        told = (*second.prediction.warnings, *other_networks(profile, second.profile))
        warnings += [f"{name}: {text}" for text in told]
    wanted = batch_size if question.at_batch is None else question.at_batch
    steps = steps_at(knowledge.models, known, batch_size=wanted, pixels=question.at_pixels)
    if question.at_pixels is not None and any(step.pixels != question.at_pixels for step in known):
        warnings.append(CLASSES_GROW)
    return PredictedTraining(profile, prediction, steps, tuple(warnings), pixels, second_profile)


def fits_in_training(
    knowledge: Knowledge, training: PredictedTraining, instances: Iterable[str]
) -> Mapping[str, FitAnswer]:
    """Instance -> whether a step of the training fits in its memory; empty if the models have no memory law."""
    # What a step holds grows with its pixels as with its images.
    area = 1.0 if None in (training.pixels, training.steps.pixels) else _area(training)
    found = fits_by_instance(
        knowledge.models.memory,
        knowledge.catalog,
        knowledge.gpus,
        training.profile,
        training.prediction.anchor,
        instances,
        batch_size=max(1, round(training.steps.batch_size * area)),
        second=training.second,
    )
    if area == 1:
        return found
    return {
        name: replace(fit, largest_batch=None if fit.largest_batch is None else int(fit.largest_batch / area) or None)
        for name, fit in found.items()
    }


def second_alone(spelling: Spelling) -> InputError:
    """What to raise where `second` comes without another size."""
    at_batch, at_pixels, second = (spelling.option(name) for name in ("at_batch", "at_pixels", "second"))
    return InputError(f"{second} is for another size: name it with {at_batch} or {at_pixels}.")


def _area(training: PredictedTraining) -> float:
    """Area of an image over that of the profiled step."""
    return ((training.steps.pixels or 1) / (training.pixels or 1)) ** 2


def _recorded(what: str, given: int | None, told: int | None, option: str) -> int | None:
    """The size a profile was recorded at, as somebody gave it or as it tells."""
    if None not in (given, told) and given != told:
        raise InputError(f"The profile says it was recorded at {told} {what}, not {given}: leave {option} out.")
    return told if given is None else given


def _second_step(knowledge: Knowledge, question: TrainingQuestion, spelling: Spelling) -> KnownStep:
    """`second`, and what is predicted from it."""
    name, profile = spelling.option("second"), question.second
    if profile is None:
        raise InputError(f"{name} is missing.")
    batch_size = _recorded(
        "images a step", question.second_batch, profile.meta.batch_size, spelling.option("second_batch")
    )
    pixels = _recorded("pixels", question.second_pixels, profile.meta.pixels, spelling.option("second_pixels"))
    try:
        counted, prediction = predicted_profile(knowledge, question, spelling, profile, question.second_latency_ms)
    except NoPredictionError as error:
        raise NoPredictionError(f"{name}: {error}") from None
    if batch_size is None:
        raise InputError(f"{name}: say at which batch size it was recorded: {spelling.option('second_batch')}.")
    if question.at_pixels is not None and pixels is None:
        raise InputError(f"{name}: say at which pixel size it was recorded: {spelling.option('second_pixels')}.")
    return KnownStep(counted, prediction, batch_size, pixels)
