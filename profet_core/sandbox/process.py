"""Read one file in a limited process whose output is not trusted; a few at once, the others wait."""

from __future__ import annotations

import json
import math
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Generic, TypeVar

from profet_core.errors import BusyError, ProfetError
from profet_recorder.profiles.limits import MAX_MEMORY_MB, MAX_SECONDS, MAX_SMALL_MEMORY_MB, MAX_SMALL_SECONDS
from profet_recorder.profiles.limits import SMALL_BYTES as UPLOAD_BYTES
from profet_recorder.profiles.reading import shown_file_name

#: Reading takes a core; half of them stay for the pages.
AT_ONCE = max(1, min(2, (os.cpu_count() or 1) // 2))
#: Text up to this size is read at once, in some milliseconds; starting a process takes one or two hundred.
SMALL_BYTES = 64 * 2**10
#: What waits is held in memory.
MAX_WAITING, MAX_WAITING_BYTES = 100, 512 * 2**20
#: Seconds between two checks whether somebody still waits.
BEAT_S = 0.25

Waiting = Callable[[int], None]


class ReadingQueue:
    """Lets `at_once` threads through at a time, in the order they came."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._changed = threading.Condition()
        self._waiting: list[object] = []
        self._waiting_bytes = 0
        self._reading = 0

    @contextmanager
    def turn(self, size: int, waiting: Waiting | None = None) -> Iterator[None]:
        """Wait for one's turn, and have it until the block ends.

        Raises
        ------
        BusyError : the queue is full.
        """
        self._wait(size, waiting)
        try:
            yield
        finally:
            with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    def _wait(self, size: int, waiting: Waiting | None) -> None:
        ticket = object()
        with self._changed:
            if len(self._waiting) >= MAX_WAITING or self._waiting_bytes + size > MAX_WAITING_BYTES:
                raise BusyError("Too many files are waiting on this server: try again in a minute.")
            self._waiting.append(ticket)
            self._waiting_bytes += size
        try:
            while place := self._place(ticket):
                if waiting:
                    waiting(place)
        finally:
            with self._changed:
                self._waiting.remove(ticket)
                self._waiting_bytes -= size
                self._changed.notify_all()

    def _place(self, ticket: object) -> int:
        """Place in the queue after a moment, 0 when it is one's turn."""
        with self._changed:
            if not self._is_next(ticket):
                self._changed.wait(BEAT_S)
            if self._is_next(ticket):
                self._reading += 1
                return 0
            return self._waiting.index(ticket) + 1

    def _is_next(self, ticket: object) -> bool:
        return self._reading < self._at_once and self._waiting[0] is ticket


#: The whole server's.
QUEUE = ReadingQueue()


_ROOT = Path(__file__).resolve().parents[2]
_SUFFIX = re.compile(r"\.[a-z-]{1,10}", re.ASCII)
#: Nothing else of the server's environment is passed on. One thread each: a second one only takes memory.
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: Libraries that find no memory abort, and the system kills what takes its last.
_OUT_OF_MEMORY = ("SIGKILL", "SIGABRT", "SIGSEGV", "SIGBUS")
_COPY_BYTES = 2**20

T = TypeVar("T")
#: Called with the share of a file that is read, 0 to 1.
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may take: memory and processor time of its process, and the time that a caller waits."""

    memory_mb: int
    cpu_s: int
    wall_s: float = 120.0

    @classmethod
    def for_size(cls, uploaded_bytes: int) -> ReadLimits:
        """The limits of an upload; a small one has less of both."""
        if uploaded_bytes <= UPLOAD_BYTES:
            return cls(MAX_SMALL_MEMORY_MB, math.ceil(MAX_SMALL_SECONDS))
        return cls(MAX_MEMORY_MB, math.ceil(MAX_SECONDS))


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """What a process does.

    Attributes
    ----------
    module : with `work(file, arguments, progress)`, which returns a JSON document or raises `ProfetError`.
    read : what that document says; ValueError if it is invalid, as the process is not trusted.
    error : raised where there is no result.
    advice : what to do where a limit is reached.
    max_bytes : of all output.
    """

    module: str
    read: Callable[[Any], T]
    error: type[ProfetError]
    advice: str
    max_bytes: int

    def run(
        self,
        file: BinaryIO,
        shown: str,
        limits: ReadLimits,
        *,
        arguments: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> T:
        """Start the process, and wait for its result.

        Raises
        ------
        ProfetError : of type `error`; one line: why there is no result.
        BusyError : there is no room for a process.
        """
        command = [self.module, str(limits.memory_mb * 2**20), str(limits.cpu_s), *arguments]
        match _last_word(command, file, limits, self.max_bytes, progress):
            case {"result": document}:
                try:
                    return self.read(document)
                except (ValueError, RecursionError):
                    pass
            case {"error": str(error)} if error.isprintable():
                raise self.error(f"{shown}: {error}")
            case {"limit": "memory"}:
                what = f"it takes more than {limits.memory_mb} MB of memory to read"
                raise self.error(f"{shown}: {what}: {self.advice}.")
            case {"limit": "time"}:
                raise self.error(f"{shown}: it takes more than {limits.cpu_s} s to read: {self.advice}.")
        raise self.error(f"{shown}: reading it ended without a result: {self.advice}.")


def file_suffix(name: str) -> str:
    """The end of a file's name, ".json", all that a process gets of it."""
    found = _SUFFIX.search(Path(name).suffix.lower())
    return found[0] if found else ""


def is_line(text: object) -> bool:
    """True for a text that a process may answer: one printable line of at most 1,000 characters."""
    return isinstance(text, str) and len(text) <= 1_000 and text.isprintable()


@contextmanager
def taken(source: bytes | BinaryIO) -> Iterator[BinaryIO]:
    """`source` as a file of the operating system, which another process can read.

    The copy has no name, and on Linux lies in memory, never on a disk.
    """
    if not isinstance(source, bytes) and _is_real_file(source):
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


def read_file(
    source: bytes | BinaryIO,
    name: str,
    begin: Callable[[bytes], Task[T] | T],
    arguments: Sequence[str] = (),
    progress: Progress | None = None,
    waiting: Waiting | None = None,
) -> T:
    """Read a third-party file in a limited process, when its turn comes; safe to call from any thread.

    Parameters
    ----------
    source : the bytes, or a binary file: see `taken`.
    begin : from the file's first bytes, one more than `SMALL_BYTES` at most, to the task; or to the result, of a file
        that is small and needs no process.
    arguments : of the task, behind the end of the file's name.
    progress : called with the share that is read, several times a second even where that stands still.
    waiting : called with the place in the queue, 1 for the next one, several times a second. What either of them raises
        ends the reading, and goes on to the caller.

    Raises
    ------
    ProfetError : one line: what is wrong with this file, or that it takes more than the limits of its size.
    BusyError : too many wait.
    """
    with taken(source) as file:
        file.seek(0)
        task = begin(file.read(SMALL_BYTES + 1))
        if not isinstance(task, Task):
            return task
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        with QUEUE.turn(size, waiting):
            limits = ReadLimits.for_size(size)
            given = [file_suffix(name), *arguments]
            return task.run(file, shown_file_name(name), limits, arguments=given, progress=progress)


def _is_real_file(source: BinaryIO) -> bool:
    try:
        return source.seekable() and source.fileno() >= 0
    except (OSError, AttributeError):
        return False


def _nameless_file() -> BinaryIO:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("profile"), "w+b")
    return tempfile.TemporaryFile()


def _last_word(
    arguments: Sequence[str], file: BinaryIO, limits: ReadLimits, max_bytes: int, progress: Progress | None
) -> Mapping[str, Any]:
    """The last line of a process, or the limit that ended it."""
    until = time.monotonic() + limits.wall_s
    process, share = _started(arguments, file), 0.0
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    listener = threading.Thread(target=_listen, args=(process.stdout, lines, max_bytes), daemon=True)
    listener.start()
    try:
        while time.monotonic() < until:
            try:
                line = lines.get(timeout=BEAT_S)
            except queue.Empty:
                pass
            else:
                match document := _parsed(line):
                    case {"share": float(given)} if 0 <= given <= 1:
                        share = max(share, given)
                    case _:
                        return document if line else _why_it_ended(process)
            if progress:
                progress(share)
        return {"limit": "time"}
    finally:
        process.kill()
        process.wait()
        listener.join()


def _started(arguments: Sequence[str], file: BinaryIO) -> subprocess.Popen[bytes]:
    environment = {key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ}
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "profet_core.sandbox.child", *arguments],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env=environment | _ONE_THREAD,
        )
    except OSError:
        raise BusyError("The server has no capacity to read a file now: try again in a minute.") from None


def _listen(out: IO[bytes], lines: queue.SimpleQueue[bytes], max_bytes: int) -> None:
    """Hand on whole lines, and an empty one at the end."""
    with out:
        while max_bytes > 0 and (line := out.readline(max_bytes)).endswith(b"\n"):
            max_bytes -= len(line)
            lines.put(line)
    lines.put(b"")


def _parsed(line: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _why_it_ended(process: subprocess.Popen[bytes]) -> Mapping[str, Any]:
    """What the end of a process without a last line indicates."""
    try:
        status = process.wait(timeout=BEAT_S)
    except subprocess.TimeoutExpired:
        return {}
    if status == -getattr(signal, "SIGXCPU", 0):
        return {"limit": "time"}
    return {"limit": "memory"} if -status in {getattr(signal, name, 0) for name in _OUT_OF_MEMORY} else {}
