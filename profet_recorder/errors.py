"""Errors that users can act on, each with a one-line message and a stable code."""

from __future__ import annotations

from typing import ClassVar


class ProfetError(ValueError):
    """Base of all errors this project raises deliberately; `str(error)` is one readable line.

    Attributes
    ----------
    code : stable name of the kind of error, for programs.
    """

    code: ClassVar[str] = "invalid"


class ProfileError(ProfetError):
    """The uploaded or named profile can't be used."""

    code = "profile"


class InputError(ProfetError):
    """An argument (latency, instance, size, price ...) can't be used."""

    code = "input"
