"""The training that the pages are about, as the settings have it: one question, answered by the core."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from profet_core import InputError
from profet_core.answers.questions import AdviseQuestion
from profet_core.answers.training import (
    NO_BATCH,
    PredictedTraining,
    predicted_training,
    training_curves,
)
from profet_core.errors import OptionalInputError
from profet_core.latency import StepTime
from profet_core.prediction.sizes import TrainingSteps
from profet_core.profiles.record import ProfileMeta
from ui.predicted.outcome import PAGE, Outcome, context_of, slot_values, with_usable_latency
from ui.state.held import held_in
from ui.state.resources import Resources
from ui.state.settings import measured_key
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT, usable_latency_ms


@dataclass(frozen=True, slots=True)
class Network:
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
    def pixels(self) -> int | None:
        """The profile was recorded at; None where neither it nor the visitor says."""
        return self.training.pixels

    @property
    def sure_batch_size(self) -> int:
        """The batch size that the profile was recorded at; InputError if it is not known."""
        if self.batch_size is None:
            raise InputError(NO_BATCH)
        return self.batch_size

    @property
    def chosen_batch(self) -> int:
        """The batch size of the training."""
        return self.question.at_batch or self.sure_batch_size

    @property
    def chosen_pixels(self) -> int | None:
        """The pixel size of the training: as chosen, or as profiled."""
        return self.question.at_pixels or self.pixels

    def training_at(self, batch_size: int, pixels: int | None = None) -> PredictedTraining:
        """The training at another size; pixels None: as chosen.

        Raises
        ------
        InputError : the profile's batch size is not known, or a size is out of range.
        """
        wanted = pixels or self.chosen_pixels
        if (batch_size, wanted) == (self.training.steps.batch_size, self.chosen_pixels):
            return self.training
        question = replace(self.question, at_batch=batch_size, at_pixels=wanted if self.pixels else None)
        return predicted_training(context_of(self.resources), question, PAGE)

    def steps_of(self, batch_size: int) -> TrainingSteps:
        """Its step latencies at a batch size, and the chosen pixel size; raises as `training_at`."""
        return self.training_at(batch_size).steps

    def curves(
        self, axis: str, sizes: Sequence[int], other_size: int | None, instances: Collection[str]
    ) -> Mapping[str, tuple[StepTime, ...]]:
        """Instance -> its step at each size of an axis."""
        return training_curves(context_of(self.resources), self.training, axis, sizes, other_size, instances)


def current_network(resources: Resources) -> Network:
    """The training as the settings have it.

    Raises
    ------
    NoPredictionError : nothing can be predicted from its profile.
    """
    question, problems = training_question(resources), []
    while True:
        try:
            training, doubt, invalid = with_usable_latency(
                PROFILE_SLOT, question, partial(predicted_training, context_of(resources), field_names=PAGE)
            )
            break
        except OptionalInputError as error:
            problems.append(f"{error} It is not used.")
            question = replace(question, **_WITHOUT[error.field])
    held = replace(held_in(resources, PROFILE_SLOT), profile=training.profile)
    if doubt is None and invalid is None:
        latency_ms = usable_latency_ms(PROFILE_SLOT)
        question = replace(question, latency_ms=latency_ms, trust_latency=True)
    outcome = Outcome(held, training.prediction, doubt, invalid)
    return Network(resources, question, training, outcome, tuple(problems))


#: Field that can't be used -> what to ask without it.
_WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "second": {"second": None, "measured_trace": None, "measured_trace_latency_ms": None},
    "measured": {"measured": {}},
}


def training_question(resources: Resources) -> AdviseQuestion:
    """The settings of network and training as one question, but for the anchor's latency and the offers."""
    state = st.session_state
    profile = held_in(resources, PROFILE_SLOT).profile
    values = slot_values(resources, PROFILE_SLOT)
    recorded = _recorded(profile.meta, "profiled")
    batch_known = (profile.meta.batch_size or recorded["profiled_batch"]) is not None
    pixels_known = (profile.meta.pixels or recorded["profiled_pixels"]) is not None
    if batch_known:
        values |= {
            "images": state["images"],
            "validation_images": state["validation_images"],
            "epochs": state["epochs"],
            "at_batch": state["batch"],
        }
    else:
        # One step can be answered whatever its batch size.
        values |= {"images": None}
    if state["second"]:
        values |= _second_values(resources)
    measured = measured_ms(resources)
    if measured and state["second"] and state["measured_at"] == "other":
        values |= {"measured_trace": values["second"], "measured_trace_latency_ms": values["second_latency_ms"]}
    return AdviseQuestion(
        **values,
        **recorded,
        at_pixels=state["pixels"] if pixels_known else None,
        measured=measured,
        with_loading=state["loading"],
        deadline_hours=state["deadline_h"],
        budget_usd=state["budget_usd"],
        certainty=state["certainty"] / 100,
    )


def measured_ms(resources: Resources) -> dict[str, float]:
    """Target -> latency that was measured there; a field of what is now the anchor doesn't count."""
    given = {name: st.session_state.get(measured_key(name)) for name in resources.catalog}
    anchor = st.session_state["anchor"]
    return {name: value for name, value in given.items() if value is not None and name != anchor}


def _recorded(meta: ProfileMeta, which: str) -> dict[str, Any]:
    """The sizes that the visitor gives where the profile says none."""
    state = st.session_state
    return {
        f"{which}_batch": None if meta.batch_size else state[f"{which}_batch"],
        f"{which}_pixels": None if meta.pixels else state[f"{which}_pixels"],
    }


def _second_values(resources: Resources) -> dict[str, Any]:
    held = held_in(resources, SECOND_SLOT)
    return {
        "second": held.profile,
        "second_latency_ms": usable_latency_ms(SECOND_SLOT),
        **_recorded(held.profile.meta, "second"),
    }
