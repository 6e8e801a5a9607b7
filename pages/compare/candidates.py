"""The profiles to be compared, the visitor's own and samples, and what is predicted from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core import Prediction, Profile
from profet_core.prediction.predict_each import EachPrediction, RecordedProfile, predict_each
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
    """Predict all of them; a latency that makes no sense is left out, with a warning."""
    recorded = [RecordedProfile(one.profile, one.anchor, one.latency_ms) for one in candidates]
    found = predict_each(resources.models, resources.catalog, recorded, method=method)
    return [
        Compared(candidate, each.prediction, _warnings(candidate, each), each.refusal)
        for candidate, each in zip(candidates, found, strict=True)
    ]


def _warnings(candidate: Candidate, each: EachPrediction) -> tuple[str, ...]:
    if each.prediction is None:
        return each.profile.warnings
    lines = besides_steps(each.prediction.warnings, each.profile, candidate.own)
    return (*((each.doubt,) if each.doubt else ()), *lines)
