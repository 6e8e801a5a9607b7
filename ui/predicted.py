"""Predict what a visitor's profiles and settings say: one question, answered by the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from profet_core import InputError, LatencyDoubtError, NoPredictionError, Prediction
from profet_core.answers.predict import predicted_question
from profet_core.answers.questions import Context
from profet_core.answers.training import (
    NO_BATCH,
    PredictedTraining,
    predicted_training,
)
from profet_core.errors import OptionalInputError
from profet_core.fields.questions import AdviseQuestion, FieldNames, PredictQuestion, ProfileQuestion
from profet_core.prediction.anchors import unknown_gpu
from profet_core.profiles.record import ProfileMeta
from ui.state.profiles import held_in
from ui.state.records import Held
from ui.state.resources import Resources
from ui.state.session import MEASURED, Slot, session

#: The box in which a visitor says where a profile was recorded.
ANCHOR_LABEL = "1 · Anchor"
_LABELS = {
    "anchor": ANCHOR_LABEL,
    "second": "Second profile",
    "profiled_batch": "Batch size of the profile",
    "profiled_pixels": "Image size of the profile",
    "second_batch": "its batch size",
    "second_pixels": "its image size",
}
#: How messages name what the pages ask.
PAGE = FieldNames("The profile", lambda name: _LABELS.get(name, name.replace("_", " ").capitalize()))

Question = TypeVar("Question", bound=ProfileQuestion)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A prediction, and the reason if the latency that was typed could not be used for it.

    Attributes
    ----------
    held : its profile with the sizes and the number of steps that was predicted from.
    doubt : the latency makes no sense beside the profile and the visitor has not said yet what to do.
    invalid : one line on a latency that is no latency at all.
    """

    held: Held
    prediction: Prediction
    doubt: LatencyDoubtError | None = None
    invalid: str | None = None


def context_of(resources: Resources) -> Context:
    """What the core answers from."""
    return Context(resources.models, resources.catalog, resources.gpus)


def predict_slot(resources: Resources, slot: Slot) -> Outcome:
    """Predict the profile in `slot` with its latency, or without it while the latency is in doubt.

    Raises
    ------
    NoPredictionError : nothing can be predicted from the profile.
    """
    held = held_in(resources, slot)
    question = PredictQuestion(**slot_values(resources, slot))
    (profile, prediction), doubt, invalid = with_usable_latency(
        slot, question, lambda asked: predicted_question(context_of(resources), asked, PAGE)
    )
    return Outcome(replace(held, profile=profile), prediction, doubt, invalid)


def slot_values(resources: Resources, slot: Slot) -> dict[str, Any]:
    """Fields of a question about the profile in `slot`, but for its latency.

    Raises
    ------
    NoPredictionError : nobody has said where it was recorded.
    """
    held = held_in(resources, slot)
    anchor = session.network.anchor
    if held.sample is not None and held.sample.anchor not in resources.anchors:
        # Beside models of other machines alone, the anchor that stands there recorded something else.
        raise NoPredictionError(
            f"No sample was recorded on {', '.join(resources.anchors[:3])}: upload a profile of yours."
        )
    if anchor is None:
        raise NoPredictionError(_no_anchor(resources, held.profile.meta.gpu))
    return {
        "profile": held.profile,
        "anchor": anchor,
        "without_latency": True,
        "method": session.network.method,
        "precision": session.network.precision,
    }


def with_usable_latency(
    slot: Slot, question: Question, answer: Callable[[Question], Answer]
) -> tuple[Answer, LatencyDoubtError | None, str | None]:
    """Answer with the latency typed in `slot`, or without it where it can't be used; returns also why."""
    try:
        latency_ms = slot.typed_ms
    except InputError as error:
        return answer(question), None, str(error)
    trusted = slot.trusted == _trust(question, latency_ms)
    try:
        return answer(replace(question, latency_ms=latency_ms, trust_latency=trusted)), None, None
    except LatencyDoubtError as doubt:
        return answer(question), doubt, None


def _no_anchor(resources: Resources, recorded: str | None) -> str:
    """Why a profile has no anchor yet, and what to do."""
    if recorded is not None and (reason := unknown_gpu(resources.models, recorded)):
        return reason
    says = "the file doesn't say" if recorded is None else f"{recorded} may be more than one GPU"
    return f'Choose the GPU that this profile was recorded on, under "{ANCHOR_LABEL}": {says}.'


def trust_latency(resources: Resources, slot: Slot, latency_ms: float) -> None:
    """Use the latency as typed from now on."""
    slot.trusted = _trust(PredictQuestion(**slot_values(resources, slot)), latency_ms)


def _trust(question: ProfileQuestion, latency_ms: float | None) -> tuple[object, ...]:
    """What a visitor trusts: that number beside that profile, read as so many steps."""
    return tuple(question.profile.operations.items()), question.profile.steps, question.anchor, latency_ms


@dataclass(frozen=True, slots=True)
class Predicted:
    """The training, and what of the visitor's input could not be used for it.

    Attributes
    ----------
    question : what was asked, without what could not be used.
    outcome : of its profile.
    problems : one line for each optional input that is not used, and why.
    """

    resources: Resources
    question: AdviseQuestion
    training: PredictedTraining
    outcome: Outcome
    problems: tuple[str, ...]

    @property
    def batch_size(self) -> int | None:
        """The profile was recorded at; None where neither it nor the visitor says."""
        return self.training.profile.meta.batch_size

    @property
    def chosen_batch(self) -> int:
        """The batch size of the training; InputError if it is not known."""
        batch_size = self.question.at_batch or self.batch_size
        if batch_size is None:
            raise InputError(NO_BATCH)
        return batch_size

    @property
    def chosen_pixels(self) -> int | None:
        """The pixel size of the training: as chosen, or as profiled."""
        return self.question.at_pixels or self.training.pixels


def current_network(resources: Resources) -> Predicted:
    """The training as the settings have it.

    Raises
    ------
    NoPredictionError : nothing can be predicted from its profile.
    """
    question, problems = training_question(resources), []
    while True:
        try:
            training, doubt, invalid = with_usable_latency(
                session.profile, question, partial(predicted_training, context_of(resources), field_names=PAGE)
            )
            break
        except OptionalInputError as error:
            problems.append(f"{error} It is not used.")
            question = replace(question, **_WITHOUT[error.field])
    held = replace(held_in(resources, session.profile), profile=training.profile)
    if doubt is None and invalid is None:
        question = replace(question, latency_ms=session.profile.usable_ms, trust_latency=True)
    outcome = Outcome(held, training.prediction, doubt, invalid)
    return Predicted(resources, question, training, outcome, tuple(problems))


#: Field that can't be used -> what to ask without it.
_WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "second": {"second": None, "measured_trace": None, "measured_trace_latency_ms": None},
    "measured": {"measured": {}},
}


def training_question(resources: Resources) -> AdviseQuestion:
    """The settings of network and training as one question, but for the anchor's latency and the offers."""
    network, training, limits = session.network, session.training, session.limits
    profile = held_in(resources, session.profile).profile
    values = slot_values(resources, session.profile)
    recorded = _recorded(profile.meta, "profiled")
    batch_known = (profile.meta.batch_size or recorded["profiled_batch"]) is not None
    pixels_known = (profile.meta.pixels or recorded["profiled_pixels"]) is not None
    if batch_known:
        values |= {
            "images": training.images,
            "validation_images": training.validation_images,
            "epochs": training.epochs,
            "at_batch": training.batch,
        }
    else:
        # One step can be answered whatever its batch size.
        values |= {"images": None}
    if network.second:
        values |= _second_values(resources)
    # A field of what is now the anchor doesn't count.
    measured = {name: value for name, value in MEASURED.given(resources).items() if name != network.anchor}
    if measured and network.second and network.measured_at == "other":
        values |= {"measured_trace": values["second"], "measured_trace_latency_ms": values["second_latency_ms"]}
    return AdviseQuestion(
        **values,
        **recorded,
        at_pixels=training.pixels if pixels_known else None,
        measured=measured,
        with_loading=training.loading,
        deadline_hours=limits.deadline_h,
        budget_usd=limits.budget_usd,
        certainty=limits.certainty / 100,
    )


def _recorded(meta: ProfileMeta, which: str) -> dict[str, Any]:
    """The sizes that the visitor gives where the profile says none."""
    return {
        f"{which}_batch": None if meta.batch_size else getattr(session.network, f"{which}_batch"),
        f"{which}_pixels": None if meta.pixels else getattr(session.network, f"{which}_pixels"),
    }


def _second_values(resources: Resources) -> dict[str, Any]:
    held = held_in(resources, session.second)
    return {
        "second": held.profile,
        "second_latency_ms": session.second.usable_ms,
        **_recorded(held.profile.meta, "second"),
    }
