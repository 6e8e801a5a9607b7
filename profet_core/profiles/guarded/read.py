"""Reads one file in a process of its own, so that no file holds up or takes down what serves others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from profet_core.errors import ProfileError
from profet_core.profiles.containers.watch import Progress
from profet_core.profiles.formats import reader_of
from profet_core.profiles.guarded.answers import MAX_ANSWER_BYTES, MEMORY, TIME, Answer, read_answer
from profet_core.profiles.guarded.line import ReadingLine, Waiting
from profet_core.profiles.guarded.process import LIMITS, Reader, ReadLimits, last_answer
from profet_core.profiles.profet_json import reader as profet_json
from profet_core.profiles.reading import read_profile, shown_file_name
from profet_core.profiles.record import Profile

#: PROFET JSON up to this size is read at once, in some milliseconds; starting a process takes a hundred.
SMALL_BYTES = 64 * 2**10
CONVERT = "reduce it with `profet convert`"

_READER = Reader("profet_core.profiles.guarded.child", read_answer, lambda limit: Answer(limit=limit), MAX_ANSWER_BYTES)
_COPY_BYTES = 2**20


#: The whole server's.
LINE = ReadingLine()


def read_guarded(
    source: bytes | BinaryIO,
    name: str = "profile",
    *,
    progress: Progress | None = None,
    waiting: Waiting | None = None,
    limits: ReadLimits = LIMITS,
    line: ReadingLine = LINE,
) -> Profile:
    """Read a stranger's file as `read_profile` does, within limits; safe to call from any thread.

    Parameters
    ----------
    source : the bytes, or a binary file. One of the system's is read as it is, anything else is copied first: see
        `taken`.
    progress : called with the share that is read, several times a second even where that stands still.
    waiting : called with the place in line, 1 for the next one, several times a second. What either of them raises
        ends the reading, and goes on to the caller.
    line : where to wait.

    Raises
    ------
    ProfileError : one line: what is wrong with this file, or that it takes more than the limits.
    BusyError : too many wait.
    """
    with taken(source) as file:
        file.seek(0)
        start = file.read(SMALL_BYTES + 1)
        if len(start) <= SMALL_BYTES and reader_of(start) is profet_json:
            return read_profile(start, name)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        with line.turn(size, waiting):
            answer = last_answer(_READER, file, name, limits, progress)
    return _profile_in(answer, name, limits)


@contextmanager
def taken(source: bytes | BinaryIO) -> Iterator[BinaryIO]:
    """`source` as a file of the system's that another process can read; whoever had it may let it go.

    The copy has no name, and on Linux lies in memory, never on a disk.
    """
    if not isinstance(source, bytes) and _is_systems(source):
        yield source
        return
    with _nameless_file() as file:
        if isinstance(source, bytes):
            file.write(source)
        else:
            if source.seekable():
                source.seek(0)
            while data := source.read(_COPY_BYTES):
                file.write(data)
        file.seek(0)
        yield file


def _is_systems(source: BinaryIO) -> bool:
    try:
        return source.seekable() and source.fileno() >= 0
    except (OSError, AttributeError):
        return False


def _nameless_file() -> BinaryIO:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("profile"), "w+b")
    return tempfile.TemporaryFile()


def _profile_in(answer: Answer, name: str, limits: ReadLimits) -> Profile:
    if answer.profile is not None:
        return answer.profile
    shown = shown_file_name(name)
    if answer.limit == MEMORY:
        raise ProfileError(f"{shown}: it takes more than {limits.memory_mb} MB of memory to read: {CONVERT}.")
    if answer.limit == TIME:
        raise ProfileError(f"{shown}: it takes more than {limits.cpu_s} s to read: {CONVERT}.")
    raise ProfileError(f"{shown}: {answer.error or f'reading it ended without a result: {CONVERT}.'}")
