"""What the limited process does with pickles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

from profet_core.errors import ProfileError
from profet_core.sandbox.process import Progress
from profet_lab.datasets.sources.pickles.frames import epoch_times, frame_columns

FRAME, TIMES = "frame", "times"


def work(file: BinaryIO, arguments: Sequence[str], _: Progress) -> dict[str, Any]:
    """Read one pickled frame (`FRAME`), or many pickles of step times, each behind its size (`TIMES`).

    Returns
    -------
    document : of a frame the values of each column; of times the seconds of an epoch and of its median step of each
        file, and why the next one can't be read.

    Raises
    ------
    ProfileError : one line: why a frame can't be read.
    """
    if FRAME in arguments:
        return frame_columns(file.read())
    times: list[tuple[float, float]] = []
    while size := int.from_bytes(file.read(8), "big"):
        try:
            times.append(epoch_times(file.read(size)))
        except ProfileError as error:
            return {"times": times, "error": str(error)}
    return {"times": times, "error": ""}
