"""Read third-party files in limited processes whose output is not trusted; a few at once, the others wait.

The process runs `main`: it reads standard input with the `work` function of a task's module and prints lines of JSON,
any number of `{"share": 0 to 1}`, then one of `{"result": ...}`, `{"error": "one line"}` and `{"limit": "memory"}`.
"""

from __future__ import annotations

import json
import math
import os
import queue
import re
import signal
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypedDict, TypeVar

from profet_profiles import profet_json
from profet_profiles.errors import BusyError, ProfetError, ProfileError, shown_file_name
from profet_profiles.limits import (
    MAX_MEMORY_MB,
    MAX_OPERATIONS,
    MAX_SECONDS,
    MAX_SMALL_MEMORY_MB,
    MAX_SMALL_SECONDS,
    MAX_STEPS,
    smaller_trace,
)
from profet_profiles.limits import SMALL_BYTES as UPLOAD_BYTES
from profet_profiles.queues import BEAT_S, BoundedQueue
from profet_profiles.record import Profile, ProfileMeta, StepsBasis
from profet_profiles.unpacking import HEAD_BYTES

if TYPE_CHECKING:
    import subprocess

# What only the reading of a large file, or of another format, needs is imported there.

#: Reading takes a core; half of them stay for the pages.
AT_ONCE = max(1, min(2, (os.cpu_count() or 1) // 2))
#: Text up to this size is read at once, in some milliseconds; starting a process takes one or two hundred.
SMALL_BYTES = 64 * 2**10
#: What waits is held in memory.
MAX_WAITING, MAX_WAITING_BYTES = 100, 512 * 2**20
#: Seconds that a caller waits for its result. A file is judged by processor time: beyond this the machine is too busy.
MAX_WALL_S = 600.0

#: Called with the share of a file that is read, 0 to 1; and with the place in the queue.
Progress = Callable[[float], None]
Waiting = Callable[[int], None]
T = TypeVar("T")


#: The whole server's.
QUEUE = BoundedQueue(AT_ONCE, places=MAX_WAITING, places_bytes=MAX_WAITING_BYTES)


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """Work of a process on one file.

    Attributes
    ----------
    module : with `work(file, name, arguments, progress)`, which returns a JSON document or raises `ProfetError`.
    read : what that document says; an error if it is invalid, as the process is not trusted.
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
        self, file: BinaryIO, name: str, size: int, arguments: Sequence[str] = (), progress: Progress | None = None
    ) -> T:
        """Start the process on a file of `size` bytes, and wait for its result.

        Raises
        ------
        ProfetError : of type `error`; one line: why there is no result.
        BusyError : there is no room for a process, or it got too little of the processor.
        """
        memory_mb, cpu_s = limits_for(size)
        shown = shown_file_name(name)
        # Of the name only a plain end is passed on: ".json".
        ending = _ENDING.search(Path(name).suffix.lower())
        command = [self.module, str(memory_mb * 2**20), str(cpu_s), ending[0] if ending else "", *arguments]
        match _last_line(command, file, self.max_bytes, progress):
            case {"result": document}:
                with suppress(ValueError, RecursionError):
                    return self.read(document)
            case {"error": str(error)} if error.isprintable():
                raise self.error(f"{shown}: {error}")
            case {"limit": "memory"}:
                what = f"it takes more than {memory_mb} MB of memory to read"
                raise self.error(f"{shown}: {what}: {self.advice}.")
            case {"limit": "time"}:
                raise self.error(f"{shown}: it takes more than {cpu_s} s to read: {self.advice}.")
        raise self.error(f"{shown}: reading it ended without a result: {self.advice}.")


def limits_for(uploaded_bytes: int) -> tuple[int, int]:
    """Memory in MB and seconds of processor time that reading an upload may take; a small one has less of both."""
    if uploaded_bytes <= UPLOAD_BYTES:
        return MAX_SMALL_MEMORY_MB, math.ceil(MAX_SMALL_SECONDS)
    return MAX_MEMORY_MB, math.ceil(MAX_SECONDS)


def is_line(text: object) -> bool:
    """Return True for a text that a process may answer: one printable line of at most 1,000 characters."""
    return isinstance(text, str) and len(text) <= 1_000 and text.isprintable()


@contextmanager
def taken(source: bytes | BinaryIO) -> Iterator[BinaryIO]:
    """`source` as a file of the operating system, which another process can read.

    The copy has no name, and on Linux lies in memory, never on a disk.
    """
    is_real = False
    with suppress(OSError, AttributeError):
        is_real = not isinstance(source, bytes) and source.seekable() and source.fileno() >= 0
    if is_real and not isinstance(source, bytes):
        yield source
        return
    import tempfile

    has_memory = hasattr(os, "memfd_create")
    with os.fdopen(os.memfd_create("profile"), "w+b") if has_memory else tempfile.TemporaryFile() as file:
        if isinstance(source, bytes):
            file.write(source)
        else:
            if source.seekable():
                source.seek(0)
            while data := source.read(2**20):
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
            return task.run(file, name, size, arguments, progress)


_ENDING = re.compile(r"\.[a-z-]{1,10}", re.ASCII)
_ROOT = Path(__file__).resolve().parents[1]
_START = "import sys; from profet_profiles.sandbox import main; main(*sys.argv[1:])"
#: Nothing else of the server's environment is passed on. One thread each: a second one only takes memory.
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: Libraries that find no memory abort, and the system kills what takes its last.
_OUT_OF_MEMORY = ("SIGKILL", "SIGABRT", "SIGSEGV", "SIGBUS")


def _last_line(
    arguments: Sequence[str], file: BinaryIO, max_bytes: int, progress: Progress | None
) -> Mapping[str, Any]:
    """Return the last line of a process, or the limit that ended it."""
    import subprocess

    until = time.monotonic() + MAX_WALL_S
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, *arguments],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env={key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ} | _ONE_THREAD,
        )
    except OSError:
        raise BusyError("The server has no capacity to read a file now: try again in a minute.") from None
    share, out = 0.0, process.stdout
    assert out is not None
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        """Hand on whole lines, and an empty one at the end."""
        left = max_bytes
        with out:
            while left > 0 and (line := out.readline(left)).endswith(b"\n"):
                left -= len(line)
                lines.put(line)
        lines.put(b"")

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        while time.monotonic() < until:
            with suppress(queue.Empty):
                if not (line := lines.get(timeout=BEAT_S)):
                    return _why_it_ended(process)
                document = None
                with suppress(ValueError, RecursionError):
                    document = json.loads(line)
                match document:
                    case {"share": float(given)} if 0 <= given <= 1:
                        share = max(share, given)
                    case _:
                        return document if isinstance(document, dict) else {}
            if progress:
                progress(share)
        raise BusyError(f"The machine is too busy to read a file within {MAX_WALL_S:g} s: try again later.")
    finally:
        process.kill()
        process.wait()
        listener.join()


def _why_it_ended(process: subprocess.Popen[bytes]) -> Mapping[str, Any]:
    """Make the error for a process that ended without a last line."""
    import subprocess

    try:
        status = process.wait(timeout=BEAT_S)
    except subprocess.TimeoutExpired:
        return {}
    if status == -getattr(signal, "SIGXCPU", 0):
        return {"limit": "time"}
    return {"limit": "memory"} if -status in {getattr(signal, name, 0) for name in _OUT_OF_MEMORY} else {}


# --- the limited process ----------------------------------------------------------------------------------------------

#: Whoever looks at a page comes first.
_NICENESS = 10
#: Memory that a library only maps counts as address space.
_MAPPED_BYTES = 2**30
#: The soft limit ends the process with a signal of its own, the hard one with a signal that tells nothing.
_GRACE_S = 2


def main(module: str, memory_bytes: str, cpu_s: str, ending: str, *arguments: str) -> None:
    """Limit this process, work, and print the result; of the file's name only the `ending` is known."""
    name = f"file{ending}"

    def say(document: Mapping[str, object]) -> None:
        sys.stdout.buffer.write(json.dumps(document).encode() + b"\n")
        sys.stdout.buffer.flush()

    def progress(share: float) -> None:
        say({"share": float(share)})

    # Imported without limits: a limited process could not even cache its code.
    work = import_module(module).work
    limit_process(int(memory_bytes), int(cpu_s))
    try:
        result: dict[str, object] = {
            "result": work(sys.stdin.buffer, name, arguments, lambda share: say({"share": float(share)}))
        }
    except ProfetError as error:
        result = {"error": str(error).removeprefix(f"{name}: ")}
    except MemoryError:
        # Printed below, when what was held is freed.
        result = {"limit": "memory"}
    say(result)


def limit_process(memory_bytes: int, cpu_s: int) -> None:
    """Limit memory and processor time as far as the system can, and lower the priority."""
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    # Where memory ends for the whole machine, this process goes and not the server.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    try:
        import resource
    except ImportError:  # Windows
        return
    # Starting is no part of reading.
    cpu_s += math.ceil(time.process_time())
    limits = {
        # What a process holds itself; libraries that are mapped and not used take nothing.
        resource.RLIMIT_DATA: (memory_bytes, memory_bytes),
        resource.RLIMIT_AS: (memory_bytes + _MAPPED_BYTES, memory_bytes + _MAPPED_BYTES),
        resource.RLIMIT_CPU: (cpu_s, cpu_s + _GRACE_S),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_CORE: (0, 0),
    }
    for kind, pair in limits.items():
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, pair)


# --- profiles ---------------------------------------------------------------------------------------------------------

#: A thousand operations, and what stands beside them.
_MAX_ANSWER_BYTES = 2**20


def read_guarded(
    source: bytes | BinaryIO,
    name: str = "profile",
    *,
    progress: Progress | None = None,
    waiting: Waiting | None = None,
) -> Profile:
    """Read a third-party file as `read_profile` does, within limits; parameters and errors as `read_file` has them."""

    def begin(start: bytes) -> Task[Profile] | Profile:
        if len(start) <= SMALL_BYTES and profet_json.begins_as_profile(start):
            return profet_json.read_small(start, name)
        from profet_profiles.reading import find_reader, read_profile

        if len(start) <= SMALL_BYTES and find_reader(start) is profet_json.READER:
            return read_profile(start, name)
        head = start
        with suppress(zlib.error):
            head = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(start, HEAD_BYTES)
        return Task(__name__, profile_in, ProfileError, smaller_trace(head), _MAX_ANSWER_BYTES)

    # Of the name the process knows its end alone.
    return read_file(source, name, begin, progress=progress, waiting=waiting).with_file_name(name)


def work(file: BinaryIO, name: str, _: Sequence[str], progress: Progress) -> dict[str, Any]:
    """Read a profile, inside the process."""
    from profet_profiles.reading import read_profile

    return profile_document(read_profile(file, name, progress=progress))


def profile_document(profile: Profile) -> dict[str, Any]:
    """Return a profile as JSON values, to the last digit: the file may yet be read as covering other steps."""
    others = {name: getattr(profile, name) for name in _Document.__annotations__}
    return others | {"operations": dict(profile._unrounded_us), "meta": asdict(profile.meta)}


class _Document(TypedDict):
    operations: dict[str, float]
    meta: ProfileMeta
    source_format: str
    ignored: tuple[str, ...]
    steps: int
    warnings: tuple[str, ...]
    steps_basis: StepsBasis
    refusal: str
    may_be_cut: bool


def profile_in(document: object) -> Profile:
    """Return the profile in a document of `profile_document`."""
    import msgspec  # late: the process does without

    fields = msgspec.convert(document, _Document)
    texts = [*fields["operations"], *fields["ignored"], *fields["warnings"], fields["source_format"], fields["refusal"]]
    texts += [value for value in asdict(fields["meta"]).values() if isinstance(value, str)]
    times_us = fields["operations"].values()
    if (
        len(times_us) > MAX_OPERATIONS
        or not all(0 <= us < math.inf for us in times_us)
        or not 1 <= fields["steps"] <= MAX_STEPS
        or not all(map(is_line, texts))
    ):
        raise ValueError("no profile")
    return Profile(**fields)
