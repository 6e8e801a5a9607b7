"""Predicts the profile of a slot, without its latency while that is in doubt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from profet_core import InputError, LatencyDoubtError, NoPredictionError, Prediction
from profet_core.answers.predict import predicted_question
from profet_core.answers.questions import Context, FieldNames, PredictQuestion, ProfileQuestion
from profet_core.prediction.anchors import unknown_gpu
from ui.state.held import held_in
from ui.state.records import Held
from ui.state.resources import Resources
from ui.state.session import Slot, session

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
