"""What can go wrong with a recording, and how its progress is told."""

from __future__ import annotations

import sys

from profet_core.errors import ProfetError


class RecorderError(ProfetError):
    """The step can't be recorded like this; the message is one line that says what to do."""


class RecordingDone(BaseException):
    """Ends a script whose recording is complete; no `except Exception` of the script may catch it."""


def say(text: str) -> None:
    """One line of progress on stderr: stdout belongs to the user's training."""
    print(f"profet: {text}", file=sys.stderr, flush=True)
