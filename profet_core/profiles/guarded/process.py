"""One process that reads one file, under limits, and what it says."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, Protocol, TypeVar

from profet_core.errors import BusyError
from profet_core.profiles.containers.watch import Progress
from profet_core.profiles.guarded.answers import MEMORY, TIME
from profet_core.profiles.guarded.line import BEAT_S
from profet_core.profiles.limits import MAX_SECONDS

_ROOT = Path(__file__).resolve().parents[3]
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


class Said(Protocol):
    """What a process says: how far it is, or, with no share, what came of it."""

    @property
    def share(self) -> float | None:
        """Of the file that is read, 0 to 1."""


S = TypeVar("S", bound=Said)


@dataclass(frozen=True, slots=True)
class Reader(Generic[S]):
    """What runs in a process, and how it is understood.

    Attributes
    ----------
    module : run with memory in bytes, processor time in seconds, the end of the file's name, and arguments of its own;
        the file is its standard input.
    read : one line that it says; ValueError if it is none.
    ended : what it is that it ended without a word, at `MEMORY`, at `TIME` or for no known reason.
    max_bytes : of all that it says.
    """

    module: str
    read: Callable[[bytes], S]
    ended: Callable[[str | None], S]
    max_bytes: int


def last_answer(
    reader: Reader[S],
    file: BinaryIO,
    name: str,
    limits: ReadLimits,
    progress: Progress | None = None,
    arguments: Sequence[str] = (),
) -> S:
    """Start the process, and wait for the answer that has no share.

    Raises
    ------
    BusyError : no room for a process.
    """
    return _Reading(reader, file, name, limits, arguments).answer(progress)


class _Reading(Generic[S]):
    """One process, and the thread that listens to it."""

    def __init__(
        self, reader: Reader[S], file: BinaryIO, name: str, limits: ReadLimits, arguments: Sequence[str]
    ) -> None:
        self._reader, self._limits = reader, limits
        found = _SUFFIX.search(Path(name).suffix.lower())
        limited = [str(limits.memory_mb * 2**20), str(limits.cpu_s), found[0] if found else ""]
        environment = {key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", reader.module, *limited, *arguments],
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=_ROOT,
                env=environment | _ONE_THREAD,
            )
        except OSError:
            raise BusyError("The server has no capacity to read a file now: try again in a minute.") from None
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def answer(self, progress: Progress | None) -> S:
        """The last answer; that it ended if the process said nothing."""
        until = time.monotonic() + self._limits.wall_s
        share = 0.0
        self._listener.start()
        try:
            while time.monotonic() < until:
                try:
                    line = self._lines.get(timeout=BEAT_S)
                    if not line:
                        return self._ended()
                    answer = self._reader.read(line)
                    if answer.share is None:
                        return answer
                    share = max(share, answer.share)
                except queue.Empty:
                    pass
                except (ValueError, RecursionError):
                    return self._reader.ended(None)
                if progress:
                    progress(share)
            return self._reader.ended(TIME)
        finally:
            self._process.kill()
            self._process.wait()
            self._listener.join()

    def _listen(self) -> None:
        """Hand on whole lines, and an empty one at the end."""
        assert self._process.stdout is not None
        with self._process.stdout as out:
            left = self._reader.max_bytes
            while left > 0 and (line := out.readline(left)).endswith(b"\n"):
                left -= len(line)
                self._lines.put(line)
        self._lines.put(b"")

    def _ended(self) -> S:
        """What the end of a process that said nothing tells."""
        try:
            status = self._process.wait(timeout=BEAT_S)
        except subprocess.TimeoutExpired:
            return self._reader.ended(None)
        if status == -getattr(signal, "SIGXCPU", 0):
            return self._reader.ended(TIME)
        # Libraries that find no memory abort, and the system kills what takes its last.
        ends = ("SIGKILL", "SIGABRT", "SIGSEGV", "SIGBUS")
        return self._reader.ended(MEMORY if -status in {getattr(signal, end, 0) for end in ends} else None)
