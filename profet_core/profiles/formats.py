"""The formats that are read. A new one is a module with the three names of `Reader` and its line in `READERS`."""

from __future__ import annotations

from typing import Protocol

from profet_core.profiles import profet_json
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.pytorch import reader as pytorch
from profet_core.profiles.record import Profile
from profet_core.profiles.tensorflow import timeline, trace_json, xplane
from profet_core.profiles.tensorflow.statistics import CSV, JSON, STATS


class Reader(Protocol):
    """What a module that reads a format has."""

    #: The format's name for a person: "PROFET JSON".
    NAME: str

    def looks_like(self, head: bytes) -> bool:
        """True if the first unpacked bytes of a file (at most 1 MiB) are of this format."""

    def read(self, content: Content) -> Profile:
        """Read it: `content.read(max_bytes)` for all of it, `content.open()` to stream; ProfileError if it can't be."""


#: Every format that is read, in the order in which `looks_like` is called. PyTorch's reader takes any chrome trace that
#: TensorFlow's left, PROFET JSON any JSON that all others left.
READERS: tuple[Reader, ...] = (
    CSV,
    JSON,
    STATS,
    xplane,
    timeline,
    trace_json,
    pytorch,
    profet_json,
)

#: Which of many files, an archive's or a run's folder, tells most: traces know the steps, statistics may be cut. A
#: format that is not here comes last.
MOST_TELLING_FIRST: tuple[Reader, ...] = (xplane, trace_json, timeline, STATS, CSV, JSON, pytorch, profet_json)


def reader_of(head: bytes) -> Reader | None:
    """The reader of the format that a file is of, by its first unpacked bytes; None if it is of none.

    >>> reader_of(b'{"traceEvents": [{"ph": "X", "cat": "cpu_op"}]}').NAME
    'PyTorch trace'
    """
    return next((reader for reader in READERS if reader.looks_like(head)), None)
