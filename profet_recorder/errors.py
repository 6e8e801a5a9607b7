"""Errors of a recording, and the end of a recorded script."""

from __future__ import annotations

from profet_core.errors import ProfetError
from profet_recorder.progress import print_progress


class RecorderError(ProfetError):
    """The step can't be recorded; the message says in one line what to do."""


class RecordingDone(SystemExit):
    """Ends a script whose recording is complete: no `except Exception` catches it, and a thread ends in silence."""


def said(error: Exception) -> str:
    """One line: why there will be no profile."""
    return str(error) if isinstance(error, RecorderError) else f"The recorder failed ({type(error).__name__}: {error})."


def say_and_go_on(error: Exception) -> None:
    """Say why nothing is recorded while the training goes on."""
    print_progress(f"{said(error)} The training goes on without it.")
