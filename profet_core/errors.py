"""Errors that users can act on: those of profiles and inputs, and the core's own."""

from __future__ import annotations

from collections.abc import Callable

from profet_recorder.errors import InputError as InputError
from profet_recorder.errors import ProfetError as ProfetError
from profet_recorder.errors import ProfileError as ProfileError


class OptionalInputError(InputError):
    """An optional input can't be used; the question can be answered without it.

    Attributes
    ----------
    field : of the question, such as "second" or "measured".
    """

    code = "optional_input"

    def __init__(self, message: str, field: str, *fields: str) -> None:
        super().__init__(message, field, *fields)
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
        self.latency_ms = latency_ms
        self.expected_ms = expected_ms
        self.suggested_ms = suggested_ms
        self.suggested_unit = suggested_unit
        self.suggested_steps = suggested_steps

    def worded(self, name_of: Callable[[str], str]) -> str:
        """The message, and which fields confirm the latency."""
        steps = f"{name_of('steps')} {self.suggested_steps} if so, " if self.suggested_steps else ""
        return f"{super().worded(name_of)} Use {steps}{name_of('trust_latency')} if it is right."


class ArtifactError(ProfetError):
    """A models folder is missing, damaged or has another version."""

    code = "models"


class CatalogError(ProfetError):
    """The instance catalog (names, prices) is invalid."""

    code = "catalog"
