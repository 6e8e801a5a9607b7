"""Says in words how a method joins its members, from the manifest of the models."""

from __future__ import annotations

from profet_core import Models, Prediction
from profet_core.artifacts.models import EnsembleRule
from ui.state.settings import DEFAULT_METHOD

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def rule_of(models: Models, prediction: Prediction) -> EnsembleRule:
    """The rule that a prediction was made by."""
    method = models.method(prediction.method)
    return method.without_latency if prediction.anchor_latency_ms is None else method.with_latency


def rule_phrase(rule: EnsembleRule) -> str:
    """'median of three models'."""
    count = len(rule.members)
    if count == 1:
        return "one model"
    return f"{rule.combine} of {_NUMBERS[count] if count < len(_NUMBERS) else count} models"


def method_label(models: Models, option: str) -> str:
    """How an option of the method selector reads."""
    method = models.method(option)
    name = {"classes": "operation classes", "profet": "documented PROFET ensemble"}.get(method.name, method.name)
    return f"Default: {name}" if option == DEFAULT_METHOD else name[0].upper() + name[1:]


def member_label(name: str) -> str:
    """A member's name for a table's head."""
    return name[:1].upper() + name[1:]
