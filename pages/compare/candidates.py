"""The profiles on the list, the visitor's own and samples, and what is predicted from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core import InstancePrediction, NoPredictionError, Prediction, Profile
from profet_core.answers.predict import EachPrediction, RecordedProfile, answer_compare
from profet_core.precision.names import AS_PROFILED
from ui.inputs.profile import besides_steps
from ui.predicted import Outcome, context_of, current_network
from ui.state.profiles import held_in, own_profiles
from ui.state.records import OwnProfile
from ui.state.resources import Resources
from ui.state.session import session

_OWN = "own "


@dataclass(frozen=True, slots=True)
class Candidate:
    """One profile of the list.

    Attributes
    ----------
    key : tells it from the others; of a sample its name.
    name : shown; unique on the list.
    own : the visitor's own profile; None for a sample.
    on_predict : it is the one that Predict shows.
    """

    key: str
    name: str
    profile: Profile
    anchor: str | None
    latency_ms: float | None
    own: OwnProfile | None = None
    on_predict: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """One profile with what was predicted; None while its anchor isn't known or where nothing can be.

    Attributes
    ----------
    warnings : one sentence each.
    refusal : why nothing can be predicted from it, one line; empty if something can.
    """

    candidate: Candidate
    prediction: Prediction | None
    warnings: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def name(self) -> str:
        """As the list shows it."""
        return self.candidate.name

    @property
    def predictions(self) -> Sequence[InstancePrediction]:
        """Of every instance; empty where nothing is predicted."""
        return () if self.prediction is None else self.prediction.predictions

    def on(self, instance: str) -> InstancePrediction | None:
        """What is predicted on one instance; None if nothing is."""
        return next((row for row in self.predictions if row.instance == instance), None)


def listed(resources: Resources) -> list[Candidate]:
    """The visitor's own, in the order they came, then the samples that were picked."""
    shown = held_in(resources, session.profile)
    own = [
        Candidate(
            own_key(each.key), each.name, each.profile, each.anchor, each.latency_ms, each, shown.identity == each.key
        )
        for each in own_profiles().values()
    ]
    taken = {each.name for each in own}
    return own + [_sample(resources, name, taken, shown.sample) for name in session.compare.compare_samples]


def own_key(key: str) -> str:
    """The `Candidate.key` of an own profile."""
    return f"{_OWN}{key}"


def compare(
    resources: Resources,
    candidates: Sequence[Candidate],
    method: str,
    *,
    precision: str = AS_PROFILED,
    shown: Outcome | None = None,
) -> list[Compared]:
    """Predict all of them; a latency that makes no sense is left out, with a warning.

    Parameters
    ----------
    shown : what Predict shows of its profile: with a latency that the visitor trusts and their own measurements.
    """
    recorded = [RecordedProfile(one.profile, one.anchor, one.latency_ms) for one in candidates]
    found = answer_compare(context_of(resources), recorded, method=method, precision=precision)
    return [
        _as_shown(candidate, shown)
        if candidate.on_predict and shown is not None and each.prediction is not None
        else Compared(candidate, each.prediction, _warnings(candidate, each), each.refusal)
        for candidate, each in zip(candidates, found, strict=True)
    ]


def shown_outcome(resources: Resources) -> Outcome | None:
    """What Predict shows now; None if it has no number."""
    try:
        return current_network(resources).outcome
    except NoPredictionError:
        return None


def _sample(resources: Resources, name: str, taken: set[str], on_predict: object) -> Candidate:
    sample = resources.samples[name]
    unlike = sample.name
    while unlike in taken:
        unlike += " (sample)"
    if sample is not on_predict:
        return Candidate(name, unlike, resources.profiles[name], sample.anchor, sample.latency_ms)
    anchor, latency_ms = session.network.anchor, session.profile.usable_ms
    return Candidate(name, unlike, resources.profiles[name], anchor, latency_ms, on_predict=True)


def _as_shown(candidate: Candidate, shown: Outcome) -> Compared:
    doubts = [f"{doubt} Predicted without it." for doubt in (shown.doubt, shown.invalid) if doubt]
    lines = besides_steps(shown.prediction.warnings, shown.held.profile, candidate.own)
    return Compared(candidate, shown.prediction, (*doubts, *lines))


def _warnings(candidate: Candidate, each: EachPrediction) -> tuple[str, ...]:
    if each.prediction is None:
        return each.profile.warnings
    lines = besides_steps(each.prediction.warnings, each.profile, candidate.own)
    return (*((each.doubt,) if each.doubt else ()), *lines)
