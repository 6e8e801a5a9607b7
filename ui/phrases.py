"""How a profile, a prediction and a method are named in a sentence."""

from __future__ import annotations

from profet_core import Models, Prediction
from profet_core.artifacts.models import EnsembleRule
from ui.state.records import Held
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
