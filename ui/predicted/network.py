"""The network that the pages are about: its profile, perhaps one of another size, and its steps at any size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from profet_core import InputError, NoPredictionError
from profet_core.training.ends import different_networks
from profet_core.training.sizes import KnownStep, joint_predictions, steps_at
from profet_core.training.steps import TrainingSteps, steps_as_profiled
from ui.predicted.measured import corrected_by_measured
from ui.predicted.outcome import Outcome, predict_slot
from ui.state.resources import Resources
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT


@dataclass(frozen=True, slots=True)
class Network:
    """What is known of one network.

    Attributes
    ----------
    outcome : of its profile.
    second : of the profile of another size; None where none is given, or it can't be used. What both say agrees.
    batch_size, pixels : that the profile was recorded at; None where neither it nor the visitor tells.
    problem : one line on why the second profile is not used; empty if it is, or there is none.
    """

    outcome: Outcome
    second: Outcome | None
    batch_size: int | None
    pixels: int | None
    problem: str = ""

    @property
    def known(self) -> tuple[KnownStep, ...]:
        """The steps that were profiled, the shown one first.

        Raises
        ------
        InputError : of a size that no step is carried from.
        """
        return tuple(_known(outcome) for outcome in (self.outcome, self.second) if outcome is not None)

    @property
    def sure_batch_size(self) -> int:
        """The batch size that the profile was recorded at; InputError if it is not known."""
        if self.batch_size is None:
            raise InputError("The profile doesn't say its batch size: give the batch size it was recorded at.")
        return self.batch_size

    @property
    def chosen_pixels(self) -> int | None:
        """The pixel size of the training: as chosen, or as profiled."""
        return st.session_state["pixels"] or self.pixels

    def steps(self, resources: Resources) -> TrainingSteps:
        """Its step latencies at the chosen size.

        Raises
        ------
        InputError : the profile's batch size is not known, or the chosen size is out of range.
        """
        return self.steps_of(resources, st.session_state["batch"] or self.sure_batch_size)

    def steps_of(self, resources: Resources, batch_size: int) -> TrainingSteps:
        """Its step latencies at a batch size, and the chosen pixel size.

        Raises
        ------
        InputError : the profile's batch size is not known, or a size is out of range.
        """
        if self.second is None and (batch_size, self.chosen_pixels) == (self.sure_batch_size, self.pixels):
            return steps_as_profiled(self.outcome.prediction, batch_size)
        return steps_at(resources.models, self.known, batch_size=batch_size, pixels=self.chosen_pixels)


def current_network(resources: Resources) -> Network:
    """The network as the settings have it.

    Raises
    ------
    NoPredictionError : nothing can be predicted from its profile.
    """
    first = _as_told(predict_slot(resources, PROFILE_SLOT), "profiled")
    second, problem = _second(resources, first)
    outcome = corrected_by_measured(resources, first, second)
    meta = first.held.profile.meta
    network = Network(outcome, second, meta.batch_size, meta.pixels, problem)
    return network if second is None else _agreed(network, second)


def _as_told(outcome: Outcome, which: str) -> Outcome:
    """The outcome with the sizes that the visitor gives where the profile says none: memory asks for them too."""
    profile = outcome.held.profile
    told = replace(
        profile.meta,
        batch_size=profile.meta.batch_size or st.session_state[f"{which}_batch"],
        pixels=profile.meta.pixels or st.session_state[f"{which}_pixels"],
    )
    return replace(outcome, held=replace(outcome.held, profile=replace(profile, meta=told)))


def _second(resources: Resources, first: Outcome) -> tuple[Outcome | None, str]:
    """What is predicted from the profile of another size, or why it isn't used."""
    if not st.session_state["second"]:
        return None, ""
    try:
        second = _as_told(predict_slot(resources, SECOND_SLOT), "second")
    except NoPredictionError as error:
        return None, f"The second profile: {error}"
    problem = _why_not_together(first, second)
    return (None, problem) if problem else (second, "")


def _agreed(network: Network, second: Outcome) -> Network:
    """The network with predictions of both profiles that don't contradict each other."""
    if network.batch_size is None:
        return network
    try:
        first, other = joint_predictions(network.known)
    except InputError as error:
        return replace(network, second=None, problem=f"The second profile is not used: {error}")
    return replace(
        network,
        outcome=replace(network.outcome, prediction=first.prediction),
        second=replace(second, prediction=other.prediction),
    )


def _known(outcome: Outcome) -> KnownStep:
    profile = outcome.held.profile
    return KnownStep(profile, outcome.prediction, profile.meta.batch_size, profile.meta.pixels)


def _why_not_together(first: Outcome, second: Outcome) -> str:
    """Why two profiles can't be two sizes of one network; empty if they can."""
    if first.held.identity == second.held.identity:
        return "The second profile is the same as the first: give one of another size."
    ours, theirs = (outcome.held.profile.meta for outcome in (first, second))
    if second.held.sample is not None and second.held.sample.anchor != first.prediction.anchor:
        return f"The second profile is from {second.held.sample.anchor}, not {first.prediction.anchor}: it is not used."
    networks = [outcome.held.sample.model for outcome in (first, second) if outcome.held.sample is not None]
    if len(set(networks)) > 1:
        return f"The second profile is of {networks[1]}, not {networks[0]}: it is not used."
    if theirs.batch_size is None:
        return "The second profile doesn't say its batch size: give the one it was recorded at."
    apart_from = "batch_size" if ours.pixels == theirs.pixels else "pixels"
    lines = different_networks(first.held.profile, second.held.profile, apart_from=apart_from)
    if lines:
        return f"{lines[0]} The second one is not used."
    if (ours.batch_size, ours.pixels) == (theirs.batch_size, theirs.pixels):
        return "Both profiles are of the same size: the second one is not used."
    return ""
