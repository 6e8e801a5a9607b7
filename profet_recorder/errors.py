"""What can go wrong with a recording, and what ends a script that was recorded."""

from __future__ import annotations

from profet_core.errors import ProfetError
from profet_recorder.progress import print_progress


class RecorderError(ProfetError):
    """The step can't be recorded like this; the message is one line that says what to do."""


class RecordingDone(SystemExit):
    """Ends a script whose recording is complete: no `except Exception` catches it, and a thread ends in silence."""


def said(error: Exception) -> str:
    """One line: why there will be no profile."""
    return str(error) if isinstance(error, RecorderError) else f"The recorder failed ({type(error).__name__}: {error})."


def say_and_go_on(error: Exception) -> None:
    """Why nothing is recorded, of a training that goes on."""
    print_progress(f"{said(error)} The training goes on without it.")
