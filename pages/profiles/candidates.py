"""The profiles on the list, the visitor's own and samples, and what is predicted from each: as Answer predicts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from profet_core import NoPredictionError, Prediction, Profile
from profet_core.prediction.predict_each import EachPrediction, RecordedProfile, predict_each
from ui.inputs.steps import besides_steps
from ui.predicted.network import current_network
from ui.predicted.outcome import Outcome
from ui.state.held import held_in
from ui.state.latency import usable_latency_ms
from ui.state.own_profiles import OwnProfile, own_profiles
from ui.state.page_keys import LISTED
from ui.state.resources import Resources
from ui.state.slots import PROFILE_SLOT

_OWN = "own "


@dataclass(frozen=True, slots=True)
class Candidate:
    """One profile of the list.

    Attributes
    ----------
    key : tells it from the others; of a sample its name.
    name : what a person knows it by; no two of a list are alike.
    own : the visitor's own profile; None for a sample.
    on_answer : it is the one that Answer shows.
    """

    key: str
    name: str
    profile: Profile
    anchor: str | None
    latency_ms: float | None
    own: OwnProfile | None = None
    on_answer: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """One profile with what was predicted; None while its anchor isn't known or where nothing can be.

    Attributes
    ----------
    warnings : what to keep in mind about it, one sentence each.
    refusal : why nothing can be predicted from it, one line; empty if something can.
    """

    candidate: Candidate
    prediction: Prediction | None
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def listed(resources: Resources) -> list[Candidate]:
    """The visitor's own, in the order they came, then the samples that were picked."""
    shown = held_in(resources, PROFILE_SLOT)
    own = [
        Candidate(
            own_key(each.key), each.name, each.profile, each.anchor, each.latency_ms, each, shown.identity == each.key
        )
        for each in own_profiles().values()
    ]
    taken = {each.name for each in own}
    return own + [_sample(resources, name, taken, shown.sample) for name in st.session_state[LISTED]]


def own_key(key: str) -> str:
    """The `Candidate.key` of an own profile."""
    return f"{_OWN}{key}"


def compare(
    resources: Resources,
    candidates: Sequence[Candidate],
    method: str,
    *,
    tf32: bool = True,
    answer: Outcome | None = None,
) -> list[Compared]:
    """Predict all of them; a latency that makes no sense is left out, with a warning.

    Parameters
    ----------
    answer : what Answer predicts from the one it shows: with the visitor's trust and their own measurements.
    """
    recorded = [RecordedProfile(one.profile, one.anchor, one.latency_ms) for one in candidates]
    found = predict_each(resources.models, resources.catalog, recorded, method=method, tf32=tf32)
    return [
        _as_answered(candidate, answer)
        if candidate.on_answer and answer is not None and each.prediction is not None
        else Compared(candidate, each.prediction, _warnings(candidate, each), each.refusal)
        for candidate, each in zip(candidates, found, strict=True)
    ]


def answered(resources: Resources) -> Outcome | None:
    """What Answer shows now; None if it has no number."""
    try:
        return current_network(resources).outcome
    except NoPredictionError:
        return None


def _sample(resources: Resources, name: str, taken: set[str], on_answer: object) -> Candidate:
    sample = resources.samples[name]
    unlike = sample.name
    while unlike in taken:
        unlike += " (sample)"
    if sample is not on_answer:
        return Candidate(name, unlike, resources.profiles[name], sample.anchor, sample.latency_ms)
    anchor, latency_ms = st.session_state[PROFILE_SLOT.anchor_key], usable_latency_ms(PROFILE_SLOT)
    return Candidate(name, unlike, resources.profiles[name], anchor, latency_ms, on_answer=True)


def _as_answered(candidate: Candidate, answer: Outcome) -> Compared:
    doubts = [f"{doubt} Predicted without it." for doubt in (answer.doubt, answer.invalid) if doubt]
    unused = (answer.unused_measurement,) if answer.unused_measurement else ()
    lines = besides_steps(answer.prediction.warnings, answer.held.profile, candidate.own)
    return Compared(candidate, answer.prediction, (*doubts, *unused, *lines))


def _warnings(candidate: Candidate, each: EachPrediction) -> tuple[str, ...]:
    if each.prediction is None:
        return each.profile.warnings
    lines = besides_steps(each.prediction.warnings, each.profile, candidate.own)
    return (*((each.doubt,) if each.doubt else ()), *lines)
