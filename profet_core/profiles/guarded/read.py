"""Reads one file in a process of its own, so that no file holds up or takes down what serves others."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from profet_core.errors import BusyError, ProfileError
from profet_core.profiles.containers.watch import MAX_SECONDS, Progress
from profet_core.profiles.formats import reader_of
from profet_core.profiles.guarded.answers import MAX_ANSWER_BYTES, MEMORY, TIME, Answer, read_answer
from profet_core.profiles.guarded.line import BEAT_S, ReadingLine, Waiting
from profet_core.profiles.profet_json import reader as profet_json
from profet_core.profiles.reading import read_profile, shown_file_name
from profet_core.profiles.record import Profile

#: PROFET JSON up to this size is read at once, in some milliseconds; starting a process takes a hundred.
SMALL_BYTES = 64 * 2**10
CONVERT = "reduce it with `profet convert`"

_CHILD = "profet_core.profiles.guarded.child"
_ROOT = Path(__file__).resolve().parents[3]
_COPY_BYTES = 2**20
_SUFFIX = re.compile(r"\.[a-z-]{1,10}", re.ASCII)
#: Nothing else of the server's environment is a reader's business. One thread each: a second one only takes memory.
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may take: memory of its process, its processor time, and the time anybody waits for it."""

    memory_mb: int = 400
    cpu_s: int = int(MAX_SECONDS) + 5
    wall_s: float = 120.0


LIMITS = ReadLimits()
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
            answer = _Reading(file, name, limits).answer(progress)
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


class _Reading:
    """One process that reads, and what it says."""

    def __init__(self, file: BinaryIO, name: str, limits: ReadLimits) -> None:
        self._limits = limits
        found = _SUFFIX.search(Path(name).suffix.lower())
        arguments = [str(limits.memory_mb * 2**20), str(limits.cpu_s), found[0] if found else ""]
        environment = {key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _CHILD, *arguments],
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=_ROOT,
                env=environment | _ONE_THREAD,
            )
        except OSError:
            raise BusyError("The server has no room to read a file now: try again in a minute.") from None
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def answer(self, progress: Progress | None) -> Answer:
        """The last answer; one without anything if the process ended without any."""
        until = time.monotonic() + self._limits.wall_s
        share = 0.0
        self._listener.start()
        try:
            while time.monotonic() < until:
                try:
                    line = self._lines.get(timeout=BEAT_S)
                    if not line:
                        return self._ended()
                    answer = read_answer(line)
                    if answer.share is None:
                        return answer
                    share = max(share, answer.share)
                except queue.Empty:
                    pass
                except (ValueError, RecursionError):
                    return Answer()
                if progress:
                    progress(share)
            return Answer(limit=TIME)
        finally:
            self._process.kill()
            self._process.wait()
            self._listener.join()

    def _listen(self) -> None:
        """Hand on whole lines, and an empty one at the end."""
        assert self._process.stdout is not None
        with self._process.stdout as out:
            left = MAX_ANSWER_BYTES
            while left > 0 and (line := out.readline(left)).endswith(b"\n"):
                left -= len(line)
                self._lines.put(line)
        self._lines.put(b"")

    def _ended(self) -> Answer:
        """What the end of a process that said nothing tells."""
        try:
            status = self._process.wait(timeout=BEAT_S)
        except subprocess.TimeoutExpired:
            return Answer()
        if status == -getattr(signal, "SIGXCPU", 0):
            return Answer(limit=TIME)
        # Libraries that find no memory abort, and the system kills what takes its last.
        ends = ("SIGKILL", "SIGABRT", "SIGSEGV", "SIGBUS")
        return Answer(limit=MEMORY) if -status in {getattr(signal, end, 0) for end in ends} else Answer()


def _profile_in(answer: Answer, name: str, limits: ReadLimits) -> Profile:
    if answer.profile is not None:
        return answer.profile
    shown = shown_file_name(name)
    if answer.limit == MEMORY:
        raise ProfileError(f"{shown}: it takes more than {limits.memory_mb} MB of memory to read: {CONVERT}.")
    if answer.limit == TIME:
        raise ProfileError(f"{shown}: it takes more than {limits.cpu_s} s to read: {CONVERT}.")
    raise ProfileError(f"{shown}: {answer.error or f'reading it ended without a result: {CONVERT}.'}")
