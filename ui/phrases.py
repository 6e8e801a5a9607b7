"""How a profile, a prediction and a method are named in a sentence."""

from __future__ import annotations

from profet_core import Models, Prediction
from profet_core.artifacts.methods import EnsembleRule
from profet_core.units import format_ms
from ui.predicted.outcome import Outcome
from ui.state.held import Held
from ui.texts import plain

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def sentence(line: str) -> str:
    """A line that begins with a capital."""
    return line[:1].upper() + line[1:]


def rule_phrase(rule: EnsembleRule) -> str:
    """'median of three models'."""
    count = len(rule.members)
    if count == 1:
        return "one model"
    return f"{rule.combine} of {_NUMBERS[count] if count < len(_NUMBERS) else count} models"


def shown_name(held: Held) -> str:
    """The profile's name, escaped, for a sentence."""
    kind = {"sample": "the sample", "upload": "your upload", "paste": "your", "link": "the profile"}[held.origin]
    return f"{kind} {plain(held.name)}"


def joined_phrase(models: Models, prediction: Prediction) -> str:
    """How a prediction was joined from its members' latencies: 'median of three models'."""
    method = models.method(prediction.method)
    return rule_phrase(method.without_latency if prediction.anchor_latency_ms is None else method.with_latency)


def likeness_sentence(prediction: Prediction) -> str:
    """How like the training data the profile is, and what that did to the error; empty where a warning says it."""
    likeness = prediction.likeness
    if likeness is None or likeness.warned_of:
        return ""
    far = "this close" if likeness.words == "like" else "this far off"
    return (
        f"This profile is {likeness.words} those of the training data: left-out networks {far} were predicted with a "
        f"mean error of {likeness.error_words}."
    )


def profile_phrase(outcome: Outcome) -> str:
    """What the numbers are for: 'your upload net.json, recorded on g4dn.xlarge, step latency not given'."""
    held, prediction = outcome.held, outcome.prediction
    latency_ms = prediction.anchor_latency_ms
    own_anchor = held.sample is not None and held.sample.anchor == prediction.anchor
    parts = (
        shown_name(held),
        "" if own_anchor else f"recorded on {prediction.anchor}",
        "step latency not given" if latency_ms is None else f"step latency {format_ms(latency_ms)}",
    )
    return ", ".join(part for part in parts if part)
