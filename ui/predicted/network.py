"""The training that the pages are about, as the settings have it: one question, answered by the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from profet_core import InputError
from profet_core.answers.questions import AdviseQuestion
from profet_core.answers.training import (
    NO_BATCH,
    PredictedTraining,
    predicted_training,
)
from profet_core.errors import OptionalInputError
from profet_core.profiles.record import ProfileMeta
from ui.predicted.outcome import PAGE, Outcome, context_of, slot_values, with_usable_latency
from ui.state.held import held_in
from ui.state.resources import Resources
from ui.state.session import MEASURED, session


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
    return Network(resources, question, training, outcome, tuple(problems))


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
