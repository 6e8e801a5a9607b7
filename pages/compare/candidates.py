"""Predicts many profiles side by side, each with its own anchor and latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core import InputError, Prediction, Profile, check_latency, predict_many
from profet_core.prediction.refusals import refusal
from profet_core.prediction.steps import counted
from ui.inputs.steps import besides_steps
from ui.state.own_profiles import OwnProfile
from ui.state.resources import Resources


@dataclass(frozen=True)
class Candidate:
    """One profile to be compared.

    Attributes
    ----------
    name : what a person knows it by; no two of a comparison are alike.
    own : the visitor's own profile; None for a sample.
    """

    name: str
    profile: Profile
    anchor: str | None
    latency_ms: float | None
    own: OwnProfile | None = None


@dataclass(frozen=True)
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


def own_candidate(own: OwnProfile) -> Candidate:
    """One of the visitor's own profiles."""
    return Candidate(own.name, own.profile, own.anchor, own.latency_ms, own)


def sample_candidate(resources: Resources, name: str) -> Candidate:
    """A sample, with its measured latency."""
    sample = resources.samples[name]
    return Candidate(sample.name, resources.profiles[name], sample.anchor, sample.latency_ms)


def compare(resources: Resources, candidates: Sequence[Candidate], method: str) -> list[Compared]:
    """Predict all of them, those of one anchor at once; a latency that makes no sense is left out and said."""
    doubts: dict[int, str] = {}
    refusals: dict[int, str] = {}
    profiles = [counted(candidate.profile, candidate.latency_ms) for candidate in candidates]
    groups: dict[tuple[str, bool], list[int]] = {}
    for index, (candidate, profile) in enumerate(zip(candidates, profiles, strict=True)):
        refused = refusal(profile)
        if refused:
            refusals[index] = refused
        if refused or candidate.anchor is None:
            continue
        known = candidate.latency_ms is not None
        if known:
            try:
                check_latency(resources.models, profile, candidate.anchor, candidate.latency_ms)
            except InputError as error:
                doubts[index], known = f"{error} Predicted without it.", False
        groups.setdefault((candidate.anchor, known), []).append(index)
    found: dict[int, Prediction] = {}
    for (anchor, known), indices in groups.items():
        predictions = predict_many(
            resources.models,
            resources.catalog,
            [profiles[index] for index in indices],
            anchor,
            latencies_ms=[candidates[index].latency_ms for index in indices] if known else None,
            method=method,
        )
        found.update(zip(indices, predictions, strict=True))
    return [
        Compared(
            candidate,
            found.get(index),
            _warnings(candidate, profile, found.get(index), doubts.get(index)),
            refusals.get(index, ""),
        )
        for index, (candidate, profile) in enumerate(zip(candidates, profiles, strict=True))
    ]


def _warnings(
    candidate: Candidate, profile: Profile, prediction: Prediction | None, doubt: str | None
) -> tuple[str, ...]:
    said = profile.warnings if prediction is None else besides_steps(prediction.warnings, profile, candidate.own)
    return (*((doubt,) if doubt else ()), *said)
