"""Bounds of what is read: a file, a trace in it, the profile of a step; `LIMITS` lists them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Iterable, Iterator
from sys import getsizeof
from typing import Generic, NamedTuple, TypeGuard, TypeVar

from profet_profiles.errors import ProfileError

#: Cap of formats that are read whole. At 256 MB a parser alone grew a process by half a gigabyte.
MAX_WHOLE_BYTES = 64 * 2**20
#: Cap of formats that are streamed: a PyTorch trace of several steps has hundreds of megabytes.
MAX_STREAMED_BYTES = 2**30
#: A profile is a few kilobytes, two sides of 500 rows of statistics 200 KB; names of operations may be long.
MAX_TABLE_BYTES = 4 * 2**20
#: Recorded traces shrink 3 to 35 times; only a bomb shrinks by more than this. Small files may.
MAX_RATIO = 100
MAX_UNCHECKED_RATIO_BYTES = 16 * 2**20
#: Of an archive or a folder; a run's folder holds seven files a host.
MAX_FILES = 2_000
#: Processor time that reading one upload may take: a PyTorch trace of 300 MB takes 3 s. A small upload has less of it,
#: whatever it unpacks to.
MAX_SECONDS, MAX_SMALL_SECONDS = 10.0, 3.0
SMALL_BYTES = 10 * 10**6
#: Memory of the process that reads one upload: a PyTorch trace of 300 MB takes 100 MB.
MAX_MEMORY_MB, MAX_SMALL_MEMORY_MB = 250, 150

#: Rows of both sides of the statistics, and room for what a person may have put together.
MAX_ROWS = 20_000
#: A trace of 300 MB has a million events; many more are so short that they say nothing.
MAX_EVENTS = 2_000_000
#: One event, or one entry beside the events, is held while it is decoded: lists in lists take 25 times their text.
MAX_ENTRY_CHARACTERS = 2 * 2**20
#: Names of events and stats in one xplane.pb; a large network has some ten thousand.
MAX_METADATA = 250_000
#: Threads and streams of one xplane.pb.
MAX_LINES = 20_000
#: Different names of a PyTorch trace's operations.
MAX_NAMES = 20_000

#: Training steps that a file covers.
MAX_STEPS = 10_000
#: Operation types of one step, on both sides together; of the 11,052 measured profiles none has more than 53.
MAX_OPERATIONS = 1_000
#: One operation type in one step: eleven days. Anything above is not a time, and sums must stay finite.
MAX_OPERATION_US = 1e12
#: A text of `ProfileMeta`, characters.
MAX_TEXT_CHARACTERS = 100

#: Threads of a trace, of all processes together.
MAX_THREADS = 10_000
#: Memory of the names that are kept until a trace is read, with what it takes to find each again. TensorFlow's trace of
#: eight GPUs takes 2 MB.
MAX_NAMES_BYTES = 48 * 2**20
_ENTRY_BYTES = 128
#: Events of a kind that are kept until a trace is read, or operations on one thread of an xplane.pb: PyTorch's take 24
#: bytes each, 120 while they are sorted. A trace of 300 MB has 600,000 of a kind.
MAX_KEPT_EVENTS = 1_000_000


class Limit(NamedTuple):
    """One bound: of what, the largest value that is read, and its unit."""

    what: str
    maximum: float
    unit: str


#: The bounds of every way in: command, app, endpoint and library.
LIMITS = (
    Limit("processor time, uploads up to 10 MB", MAX_SMALL_SECONDS, "s"),
    Limit("processor time, larger uploads", MAX_SECONDS, "s"),
    Limit("memory, uploads up to 10 MB", MAX_SMALL_MEMORY_MB, "MB"),
    Limit("memory, larger uploads", MAX_MEMORY_MB, "MB"),
    Limit("traces, unpacked", MAX_STREAMED_BYTES, "bytes"),
    Limit("PROFET JSON and statistics, unpacked", MAX_TABLE_BYTES, "bytes"),
    Limit("through a pipe", MAX_WHOLE_BYTES, "bytes"),
    Limit("unpacked to packed size, above 16 MB", MAX_RATIO, "times"),
    Limit("files in an archive or a folder", MAX_FILES, "files"),
    Limit("events of a trace as JSON", MAX_EVENTS, "events"),
    Limit("one event of a trace as JSON", MAX_ENTRY_CHARACTERS, "characters"),
    Limit("operations of a trace, or of one thread of an xplane.pb", MAX_KEPT_EVENTS, "events"),
    Limit("different operations of a PyTorch trace", MAX_NAMES, "names"),
    Limit("names of an xplane.pb", MAX_METADATA, "names"),
    Limit("names of a trace together, in memory", MAX_NAMES_BYTES, "bytes"),
    Limit("threads of a trace as JSON", MAX_THREADS, "threads"),
    Limit("threads and streams of an xplane.pb", MAX_LINES, "threads"),
    Limit("rows of statistics", MAX_ROWS, "rows"),
    Limit("training steps of a file", MAX_STEPS, "steps"),
    Limit("operation types of a step", MAX_OPERATIONS, "types"),
    Limit("one operation type in a step", MAX_OPERATION_US, "us"),
)


Name = TypeVar("Name", bound=Hashable)


class TraceTooLargeError(ProfileError):
    """A file beyond one of the limits; `smaller_trace` says what to do."""


#: What a PyTorch trace with Python's stacks has, in its first entries or events.
_STACKS = re.compile(rb'"with_stack":\s*(?:1|true)|"cat":\s*"python_function"|"Call stack":\s*"[^"]')


def smaller_trace(head: bytes) -> str:
    """Advise what to do about a trace that is too large, by its first unpacked bytes."""
    return "record it without with_stack" if _STACKS.search(head) else "record fewer steps"


class TraceNames(Generic[Name]):
    """Distinct names of one trace, numbered in the order they are seen."""

    def __init__(self, max_names: int) -> None:
        self._max_names = max_names
        # What names take in memory, all together: few wide ones or many short ones.
        self._bytes_left = MAX_NAMES_BYTES
        self._numbers: dict[Name, int] = {}
        self._first: list[Name] = []

    def number(self, name: Name) -> int:
        """Return the number of `name`."""
        number = self._numbers.get(name)
        if number is None:
            self._bytes_left -= getsizeof(str(name)) + _ENTRY_BYTES
            if self._bytes_left < 0:
                raise TraceTooLargeError("The trace has too many names, or names that are too long")
            number = self._numbers[name] = len(self._numbers)
            if number >= self._max_names:
                raise TraceTooLargeError(f"The trace has more than {self._max_names:,} different names or threads")
        return number

    def keep(self, name: Name) -> Name:
        """`name`, as the object that was seen first."""
        number = self.number(name)
        if number == len(self._first):
            self._first.append(name)
        return self._first[number]

    def __iter__(self) -> Iterator[Name]:
        return iter(self._numbers)


class Spans:
    """Events of one kind in the file's order.

    Attributes
    ----------
    begins, durations : in one unit; NaN where the trace has no time that could be.
    keys, threads : numbers of the name, and of the thread or stream.
    links : correlation of a call and what it started, -1 if there is none.
    """

    def __init__(self) -> None:
        self.begins, self.durations = array("d"), array("d")
        self.keys, self.threads, self.links = array("i"), array("i"), array("q")

    def add(self, begins: Iterable[float], durations: Iterable[float]) -> None:
        """Add the times of events."""
        self.begins.extend(begins)
        self.durations.extend(durations)
        if len(self.begins) > MAX_KEPT_EVENTS:
            raise TraceTooLargeError(f"The trace has more than {MAX_KEPT_EVENTS:,} operations of a kind")


def check_operations(count: int) -> None:
    """Refuse more than `MAX_OPERATIONS`."""
    if count > MAX_OPERATIONS:
        raise ProfileError(
            f"More than {MAX_OPERATIONS:,} operation types are too many for one step: record totals per operation type."
        )


def is_short_text(value: object) -> TypeGuard[str]:
    """Return True for what may stand in meta as a text: one printable line of at most 100 characters."""
    return isinstance(value, str) and len(value) <= MAX_TEXT_CHARACTERS and value.isprintable()
