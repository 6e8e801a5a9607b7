"""Errors that users can act on: those of profiles and inputs, and the core's own."""

from __future__ import annotations

from profet_recorder.errors import InputError as InputError
from profet_recorder.errors import ProfetError as ProfetError
from profet_recorder.errors import ProfileError as ProfileError


class OptionalInputError(InputError):
    """An optional input can't be used.

    The question can be answered without it.

    Attributes
    ----------
    field : of the question, such as "second" or "measured".
    """

    code = "optional_input"

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class BusyError(ProfetError):
    """The input is valid, but the server is overloaded."""

    code = "busy"


class NoPredictionError(ProfetError):
    """The profile can be read and inspected, but no latency can be predicted from it."""

    code = "no_prediction"


class LatencyDoubtError(InputError):
    """The anchor latency contradicts the profile; confirm it before using it.

    Attributes
    ----------
    latency_ms : the given latency, milliseconds.
    expected_ms : latency that the profile's device time suggests, milliseconds.
    suggested_ms : the latency if only the unit was wrong, milliseconds, or None.
    suggested_unit : the unit in which the given number is plausible ("us", "s" or "ms"), or None.
    suggested_steps : the number of steps that the profile would cover if the latency is right, or None.
    """

    code = "latency_doubt"

    def __init__(
        self,
        message: str,
        *,
        latency_ms: float,
        expected_ms: float,
        suggested_ms: float | None,
        suggested_unit: str | None,
        suggested_steps: int | None = None,
    ) -> None:
        super().__init__(message)
        self.advice = ""
        self.latency_ms = latency_ms
        self.expected_ms = expected_ms
        self.suggested_ms = suggested_ms
        self.suggested_unit = suggested_unit
        self.suggested_steps = suggested_steps

    def advised(self, advice: str) -> LatencyDoubtError:
        """A copy with advice in the words of a channel."""
        self.advice = advice
        return self

    def __str__(self) -> str:
        return f"{super().__str__()}{self.advice}"


class ArtifactError(ProfetError):
    """A models folder is missing, damaged or has another version."""

    code = "models"


class CatalogError(ProfetError):
    """The instance catalog (names, prices) is invalid."""

    code = "catalog"
