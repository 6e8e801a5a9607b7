"""What is said of a recording: lines on how far it is, and errors."""

from __future__ import annotations

import os
import sys

from profet_core.errors import ProfetError


def is_first_process() -> bool:
    """False in all but the first of the processes that a launcher such as torchrun started: one speaks and writes."""
    return os.environ.get("RANK", "0") in ("", "0")


def print_progress(text: str) -> None:
    """One line on stderr: stdout belongs to the user's training."""
    if is_first_process():
        print(f"profet: {text}", file=sys.stderr, flush=True)


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
