"""Errors that users can act on, each with a one-line message and a stable code."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class ProfetError(ValueError):
    """Base of all errors this project raises deliberately; `str(error)` is one readable line.

    Attributes
    ----------
    code : stable name of the kind of error, for programs.
    fields : fields of the question that the message names, each as "{field}" there.
    """

    code: ClassVar[str] = "invalid"

    def __init__(self, message: str = "", *fields: str) -> None:
        super().__init__(message)
        self.fields = fields

    def worded(self, name_of: Callable[[str], str]) -> str:
        """Return the message with each field as a channel names it: "at_batch" may be "--at-batch"."""
        message = str(self.args[0])
        for field in self.fields:
            message = message.replace(f"{{{field}}}", name_of(field))
        return message

    def __str__(self) -> str:
        return self.worded(str)


class ProfileError(ProfetError):
    """The uploaded or named profile can't be used."""

    code = "profile"


class InputError(ProfetError):
    """An argument (latency, instance, size, price ...) can't be used."""

    code = "input"


class BusyError(ProfetError):
    """The input is valid, but the server is overloaded."""

    code = "busy"


def shown_file_name(name: str) -> str:
    """Shorten a file's name, and leave out what can't be printed, for messages."""
    printable = "".join(character for character in name if character.isprintable()) or "profile"
    return printable if len(printable) <= 60 else printable[:57] + "..."
