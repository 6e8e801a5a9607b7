"""The errors a person can act on: each message is one line that says what to do."""

from __future__ import annotations


class ProfetError(ValueError):
    """Base of every error this project raises on purpose; `str(error)` is one line for a person."""


class ProfileError(ProfetError):
    """The uploaded or named profile can't be used as it is."""


class InputError(ProfetError):
    """An argument (latency, instance, size, price ...) can't be used as it is."""


class OptionalInputError(InputError):
    """An optional input can't be used; without it the question has an answer.

    Attributes
    ----------
    field : of the question, such as "second" or "measured".
    """

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class BusyError(ProfetError):
    """Nothing is wrong with the input, but too much is asked of the server now."""


class NoPredictionError(ProfetError):
    """The profile can be read and looked at, but no latency can be predicted from it."""


class LatencyDoubtError(InputError):
    """The anchor latency makes no sense beside the profile; ask before using it.

    Attributes
    ----------
    latency_ms : the latency that was given, milliseconds.
    expected_ms : what the profile's device time suggests, milliseconds.
    suggested_ms : the latency if only the unit was wrong, milliseconds, or None.
    suggested_unit : the unit the given number makes sense in ("us", "s" or "ms"), or None.
    suggested_steps : the number of steps that the profile would cover if the latency is right, or None.
    """

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
        """The same, saying what to do in the words of a channel."""
        self.advice = advice
        return self

    def __str__(self) -> str:
        return f"{super().__str__()}{self.advice}"


class ArtifactError(ProfetError):
    """A models folder is missing, damaged or from another version."""


class CatalogError(ProfetError):
    """The instance catalog (names, prices) is not valid."""
