"""Predict what a visitor's profiles and settings say: one question, answered by the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from profet_core import InputError, LatencyDoubtError, NoPredictionError, ProfetError
from profet_core.answers.predict import PredictedTraining, predicted_question, predicted_training
from profet_core.catalog.instance import gpu_words
from profet_core.errors import OptionalInputError
from profet_core.prediction.checks import check_profile
from profet_core.questions import AdviseQuestion, ProfileQuestion, ask, fields_of
from ui.custom import profile_in_slot, profile_to_predict
from ui.resources import Held, Resources
from ui.session import LINKED, session
from ui.words import error_words

#: Input that can't be used -> the fields that go with it.
_WITHOUT: dict[str, Any] = {
    "second": {
        **dict.fromkeys(("second", "second_batch", "second_pixels", "second_latency_ms", "second_steps")),
        **dict.fromkeys(("measured_trace", "measured_trace_latency_ms")),
    },
    "measured": {"measured": {}, **dict.fromkeys(("measured_trace", "measured_trace_latency_ms"))},
}
#: Key of the last question and its prediction.
_LAST = "predicted:last"


class MissingAnchorError(NoPredictionError):
    """It is not known where the profile was recorded."""


class Predicted(Struct, frozen=True):
    """The training as predicted, and what of the visitor's input could not be used for it.

    The question is without these inputs, of which `problems` has a line each that says why. `doubt`: the latency makes
    no sense beside the profile, and the visitor has not decided yet.
    """

    question: AdviseQuestion
    training: PredictedTraining
    held: Held
    doubt: LatencyDoubtError | None
    problems: tuple[str, ...]

    @property
    def batch_size(self) -> int | None:
        """The profile was recorded at; None where neither it nor the visitor says."""
        return self.training.profile.meta.batch_size

    @property
    def chosen_pixels(self) -> int | None:
        """The pixel size of the training: as chosen, or as profiled."""
        return self.question.at_pixels or self.training.pixels

    def trust_latency(self) -> None:
        """Use the latency in doubt as typed from now on."""
        if self.doubt is not None:
            session.profile.trusted = _trust(self.question, self.doubt.latency_ms)


def current_network(resources: Resources) -> Predicted:
    """Predict the settings' training without inputs that can't be used; NoPredictionError: none is left."""
    slot, doubt, problems = session.profile, None, []
    held = profile_to_predict(resources)
    question = _training_question(resources, held)
    try:
        _ = slot.typed_ms
    except InputError as error:
        problems.append(f"{error_words(error)} The numbers below are predicted without it.")
    trusted = slot.trusted == _trust(question, held.latency_ms)
    question = replace(question, latency_ms=held.latency_ms, trust_latency=trusted)
    while True:
        try:
            training = _predicted(resources, question)
            break
        except LatencyDoubtError as error:
            doubt, question = error, replace(question, latency_ms=None)
        except OptionalInputError as error:
            problems.append(f"{error_words(error)} It is not used.")
            question = replace(question, **_WITHOUT["second" if error.field == "second" else "measured"])
    # Whoever asks again gets the same answer.
    question = replace(question, trust_latency=question.latency_ms is not None)
    return Predicted(question, training, held, doubt, tuple(problems))


def shown_network(resources: Resources) -> Predicted | None:
    """Return what Predict shows now; None if it has no number."""
    try:
        return current_network(resources)
    except ProfetError:
        return None


def _predicted(resources: Resources, question: AdviseQuestion) -> PredictedTraining:
    """Predict the training; the last prediction holds while only sizes, images or limits change."""
    # All else that it is predicted from is the same for every visitor.
    inputs = [getattr(question, name) for name in ProfileQuestion.__struct_fields__]
    inputs += [session.custom.gpus, session.custom.instances]
    before, last = st.session_state.get(_LAST, (None, None))
    prediction = last if before == inputs else predicted_question(resources, question)
    st.session_state[_LAST] = inputs, prediction
    return predicted_training(resources, question, prediction)


def shown_words(resources: Resources, network: Predicted) -> str:
    """Say what the numbers are for: 'ResNet50 · 224 px · batch 64 · profiled on T4 · 90 epochs × 1,281,167 images'."""
    sample, anchor = network.held.sample, network.training.prediction.anchor
    batch_size, pixels = network.question.at_batch or network.batch_size, network.chosen_pixels
    precision = _unusual(network.question, "precision")
    code = _unusual(network.question, "training_code").lower()
    offer, how = resources.catalog.get(anchor), "profiled on"
    if network.held.is_network:
        how = "measured on" if network.question.latency_ms is not None and anchor else ""
    elif sample is not None and not sample.measured_ms:
        how = "layer counts for"
    parts = (
        network.held.name if sample is None else sample.model,
        f"{pixels} px" if pixels else "",
        f"batch {batch_size:,}" if batch_size else "",
        f"{how} {anchor if offer is None else gpu_words(offer)}" if how else "",
        precision,
        "checkpointing" if network.question.checkpointing else "",
        code,
        f"{network.question.epochs:,} epoch{'s' * (network.question.epochs > 1)} × {network.question.images:,} images"
        if network.question.images
        else "",
        f"{network.question.runs:,} runs" if network.question.runs > 1 else "",
    )
    return " · ".join(filter(None, parts))


def _unusual(question: AdviseQuestion, name: str) -> str:
    """Return how an option reads; empty for the one that is chosen until another is."""
    chosen, options = getattr(question, name), LINKED[name]
    return "" if chosen == options.default else options.options[chosen]


def _trust(question: ProfileQuestion, latency_ms: float | None) -> tuple[object, ...]:
    """Return what a visitor trusts: that number beside that profile, read as so many steps."""
    return tuple(question.profile.operations.items()), question.profile.steps, question.anchor, latency_ms


def _training_question(resources: Resources, held: Held) -> AdviseQuestion:
    """Return the settings of network and training, but for the latency; NoPredictionError: there is no anchor."""
    network, training, meta = session.network, session.training, held.profile.meta
    if held.sample is not None and held.anchor not in resources.anchors:
        # Beside models of other machines alone, the anchor that stands there recorded something else.
        raise NoPredictionError(
            f"No sample was recorded on {', '.join(resources.anchors[:3])}: upload a profile of yours."
        )
    if held.is_network and held.profile.refusal:
        raise InputError(held.profile.refusal)
    if not held.is_network:
        check_profile(resources.models, held.profile)
    anchor = held.anchor
    if anchor is None and not held.is_network:
        raise MissingAnchorError("Which GPU was this recorded on?")
    given = {
        **session.how.answers(AdviseQuestion),
        **training.answers(AdviseQuestion),
        # Asked with the offers.
        "whole_nodes": False,
        "profile": held.profile,
        "anchor": anchor,
        "without_latency": True,
        # A field of what is now the anchor doesn't count.
        "measured": {
            name: number for name, number in network.measured.items() if name in resources.catalog and name != anchor
        },
    }
    if meta.batch_size is None:
        # One step can be answered whatever its batch size.
        given |= {"images": None, "at_batch": None}
    if meta.pixels is None:
        given["at_pixels"] = None
    if network.second and not held.is_network:
        second = profile_in_slot(resources, session.second)
        given |= {"second": second.profile, "second_latency_ms": session.second.usable_ms}
        if network.measured_at == "other":
            given |= {"measured_trace": second.profile, "measured_trace_latency_ms": session.second.usable_ms}
    return ask(AdviseQuestion, _with_meaning(given))


def _with_meaning(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a question's fields without those that need another one, which is empty."""
    declared = fields_of(AdviseQuestion)
    needs = {name: [other for other in declared[name].needs if other in values] for name in values}
    empty = [name for name, value in values.items() if value is None or value == {}]
    return {name: values[name] for name in values if not needs[name] or not {*needs[name]} <= {*empty}}
