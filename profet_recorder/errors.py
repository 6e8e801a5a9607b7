"""What can go wrong with a recording, and what ends a script that was recorded."""

from __future__ import annotations

from profet_core.errors import ProfetError


class RecorderError(ProfetError):
    """The step can't be recorded like this; the message is one line that says what to do."""


class RecordingDone(BaseException):
    """Ends a script whose recording is complete; no `except Exception` of the script may catch it."""
