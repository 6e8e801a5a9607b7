"""Reads a profile from bytes, a file or a folder: its format is known by the content, never by a file's name.

Of many files, an archive's or a run's folder, the one that tells most is read, and `ignored` says which it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from profet_recorder.errors import ProfileError
from profet_recorder.profiles import profet_json
from profet_recorder.profiles.chrome_trace import is_chrome_trace
from profet_recorder.profiles.kernel_names import forget_names
from profet_recorder.profiles.limits import TraceTooLargeError, smaller_trace
from profet_recorder.profiles.pytorch import reader as pytorch
from profet_recorder.profiles.record import Profile
from profet_recorder.profiles.tensorflow import trace_json, xplane
from profet_recorder.profiles.tensorflow.statistics import CSV, JSON, STATS
from profet_recorder.profiles.unpacking import (
    HEAD_BYTES,
    SHORT_HEAD_BYTES,
    ArchivedFile,
    Content,
    Progress,
    Watch,
    files_in_archive,
    files_in_folder,
    is_archive,
)


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
    trace_json,
    pytorch,
    profet_json,
)

#: Which of many files, an archive's or a run's folder, tells most: traces know the steps, statistics may be cut. A
#: format that is not here comes last.
MOST_TELLING_FIRST: tuple[Reader, ...] = (xplane, trace_json, STATS, CSV, JSON, pytorch, profet_json)


def reader_of(head: bytes) -> Reader | None:
    """The reader of the format that a file is of, by its first unpacked bytes; None if it is of none.

    >>> reader_of(b'{"traceEvents": [{"ph": "X", "cat": "cpu_op"}]}').NAME
    'PyTorch trace'
    """
    return next((reader for reader in READERS if reader.looks_like(head)), None)


_TENSORFLOW = "upload the xplane.pb or trace.json.gz in plugins/profile/<run> beside it"
_PROFILER = "record the step with TensorFlow's or PyTorch's profiler and upload its trace"
_PICKLE = ("a Python pickle", _PROFILER)
_ARCHIVE = "upload the profile inside, or a zip archive"
_UNPACK = "unpack it, or pack it with gzip"

#: What the file starts with, what it is then, and what to do.
_MARKS = (
    (b"\x08\x01\x12", "a TensorFlow saved_model.pb", _PROFILER),
    (b"\x89HDF\r\n\x1a\n", "a weights file (HDF5)", _PROFILER),
    (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", "a PyTorch checkpoint", _PROFILER),
    *((b"\x80" + protocol, *_PICKLE) for protocol in (b"\x02", b"\x03", b"\x04", b"\x05")),
    (b"SQLite format 3\x00", "a database (such as an Nsight Systems export)", _PROFILER),
    (b"PK\x03\x04", "a nested archive", "unpack it and upload the profile inside"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _ARCHIVE),
    (b"BZh", "packed with bzip2", _UNPACK),
    (b"\xfd7zXZ\x00", "packed with xz", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard", _UNPACK),
)
#: An event file's first record has a length, a checksum, a time, and then its version.
_EVENTS = b"brain.Event:"
_EVENTS_WITHIN = 64
_PAGES = (b"<!doctype html", b"<html", b"<?xml")
#: Their bytes have no published mark.
_ENDINGS = (".nsys-rep", ".qdrep", ".qdstrm", ".ncu-rep")

#: Types of messages that only one of the files beside a TensorFlow trace holds, by the texts in them.
_STEP_TIMES = "input_pipeline.pb, times of whole steps"
_SIBLINGS = (
    (b"tensorflow.profiler.GenericRecommendation", "overview_page.pb, advice without the times of operations"),
    (b"tensorflow.profiler.GenericStepTimeBreakdown", _STEP_TIMES),
    (b"tensorflow.profiler.PerGenericStepDetails", _STEP_TIMES),
    (b"tensorflow.profiler.BottleneckAnalysis", _STEP_TIMES),
)
_MEMORY = re.compile(rb'\s*\{\s*"(?:memoryProfilePerAllocator|numHosts|memoryIds)"')
#: How TensorFlow 1's Timeline names a process: a device, and in it a stream.
_TIMELINE_PROCESS = re.compile(rb'/(?:device:)?(?:gpu|cpu):\d{1,4}(?:/[a-z0-9:]{1,40})? Compute"', re.IGNORECASE)
_POD = re.compile(rb'\s*\{\s*"(?:podStatsSequence|podStatsMap|deviceType)"')


def what_it_is(head: bytes, name: str) -> tuple[str, str] | None:
    """What the file is, for "this is ...", and what to do ("" for nothing special); None if nothing is known of it."""
    for mark, what, instead in _MARKS:
        if head.startswith(mark):
            return what, instead
    if _EVENTS in head[:_EVENTS_WITHIN]:
        return "a TensorFlow event file", _TENSORFLOW
    start = head[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(_PAGES):
        return "a web page or XML", "download the file itself, not the page that shows it"
    if name.lower().endswith(_ENDINGS):
        return "an NVIDIA Nsight report", _PROFILER
    # The cut may split a character.
    text = head[:1000].decode("utf-8", "ignore")
    is_text = len(text.encode()) > len(head[:1000]) - 4 and all(one.isprintable() or one.isspace() for one in text)
    return ("plain text", "") if is_text else None


def unsupported_file(head: bytes) -> str:
    """One line about a file of TensorFlow that no reader takes: a Timeline, or what lies beside a trace; else empty."""
    if is_chrome_trace(head) and _TIMELINE_PROCESS.search(head):
        return (
            "This is a TensorFlow 1 Timeline, which is not supported: record a training step with TensorFlow 2's "
            "profiler, which records tf.compat.v1 sessions too, or upload PROFET JSON."
        )
    what = ""
    if head[:1] in (b"\x0a", b"\x12", b"\x1a", b"\x22", b"\x2a", b"\x32"):
        what = next((what for text, what in _SIBLINGS if text in head), "")
    elif _MEMORY.match(head):
        what = "memory profile, which holds no times"
    elif _POD.match(head):
        what = "pod_viewer.json, times of whole steps"
    return (
        what and f"This is TensorFlow's {what}: upload the xplane.pb, trace.json.gz or tensorflow_stats.pb beside it."
    )


#: If the best file is damaged, the next ones are tried.
MAX_TRIES = 3

# TensorFlow names the folder of a run by its time.
_RUN = re.compile(r"\d{4}(?:_\d{2}){5}(?=/)", re.ASCII)
_NUMBERS = re.compile(r"(\d+)", re.ASCII)
_RANK = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]{0,2000}?"rank"\s*:\s*(\d{1,6})', re.ASCII)
# Any JSON may be PROFET's; among other files only what names an operation is.
_OPERATION = re.compile(rb'"(?:Device|Host)_')
_NAME_CHARACTERS = 80


def read_profile(source: bytes | BinaryIO | Path | str, name: str = "", *, progress: Progress | None = None) -> Profile:
    """Read one profile from the bytes of an upload, from a file or from a path.

    Parameters
    ----------
    source : the bytes, a binary file or a path, plain or gzip; a seekable file is streamed where its format allows. Of
        a zip or tar archive, or of a folder, the file that tells most is read, and `ignored` names it.
    name : the file's name, for messages only; empty: the path's, or "profile".
    progress : called with the share that is read, above 0 up to 1, never falling; at most about a hundred times.

    Raises
    ------
    ProfileError : one line that says what is wrong with this file and what to do.

    >>> profile = read_profile(b'{"Device_Conv2D": 51425.8, "Host_IDLE": 613483.8}')
    >>> profile.source_format, profile.steps, profile.operations["Device_Conv2D"]
    ('PROFET JSON, version 1', 2, 25712.9)
    >>> read_profile(b'{"Device_Conv2D": -1}', "mine.json")
    Traceback (most recent call last):
    profet_recorder.errors.ProfileError: mine.json: 'Device_Conv2D' is negative: times are 0 or more microseconds.
    """
    if isinstance(source, str | Path):
        return _read_path(Path(source), name, progress)
    name = name or "profile"
    return _named(name, lambda: _read(source, name, Watch(progress)))


def read_profile_folder(path: Path, *, progress: Progress | None = None) -> Profile:
    """Read the file that tells most in a folder, such as the `plugins/profile/<run>` that TensorFlow writes.

    Raises
    ------
    ProfileError : one line: nothing in it is a profile, or what is can't be read.
    """
    watch = Watch(progress)
    return _named(path.resolve().name, lambda: _read_best(files_in_folder(path, watch), "folder", watch))


def _named(name: str, read: Callable[[], Profile]) -> Profile:
    """What `read` returns; its errors name the file."""
    try:
        return read()
    except ProfileError as error:
        raise ProfileError(f"{shown_file_name(name)}: {error}") from None
    finally:
        forget_names()


def _read_path(path: Path, name: str, progress: Progress | None) -> Profile:
    name = name or path.name
    try:
        if path.is_dir():
            return read_profile_folder(path, progress=progress)
        with path.open("rb") as file:
            return read_profile(file, name, progress=progress)
    except (OSError, ValueError) as error:
        # `ProfetError` is a `ValueError` and says it better; a text that is no path may hold a null byte.
        if isinstance(error, ProfileError):
            raise
        why = getattr(error, "strerror", None) or error
        raise ProfileError(f"{shown_file_name(name)} can't be read: {why}. Give a path, bytes or a file.") from None


def _read(source: bytes | BinaryIO, name: str, watch: Watch) -> Profile:
    try:
        content = Content(source, watch=watch)
    except TraceTooLargeError as error:
        raise ProfileError(f"{error}: {smaller_trace(b'')}.") from None
    watch.shorten(content.size)
    if is_archive(content):
        return _read_best(files_in_archive(content), "archive", watch)
    content.follow()
    if refusal := unsupported_file(content.head):
        raise ProfileError(refusal)
    if reader := reader_of(content.head):
        return _read_as(reader, content)
    what, instead = what_it_is(content.head, name) or ("", "")
    formats = "upload PROFET JSON, or a trace of TensorFlow or PyTorch"
    raise ProfileError(f"this is {what and what + ', '}not a supported profile: {instead or formats}.")


def _read_as(reader: Reader, content: Content) -> Profile:
    try:
        return reader.read(content)
    except TraceTooLargeError as error:
        raise ProfileError(f"{error}: {smaller_trace(content.head)}.") from None


def shown_file_name(name: str) -> str:
    """A file's name as messages have it: printable, and not too long."""
    printable = "".join(character for character in name if character.isprintable()) or "profile"
    return printable if len(printable) <= 60 else printable[:57] + "..."


# --- of many files ----------------------------------------------------------------------------------------------------


class _Candidate(NamedTuple):
    """A file that a reader takes for its own, and the rank of the process that wrote it, if it tells."""

    file: ArchivedFile
    reader: Reader
    rank: int

    @property
    def run(self) -> str:
        """Time of the run as TensorFlow names its folder, or ""."""
        found = _RUN.findall(self.file.name)
        return found[-1] if found else ""

    @property
    def order(self) -> tuple[int, list[str | tuple[int, str]]]:
        """Lowest rank first, then by name, numbers in it as numbers."""
        parts = enumerate(_NUMBERS.split(self.file.name))
        return self.rank, [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else part for at, part in parts]

    @property
    def preference(self) -> int:
        """Place of its format among those that tell most."""
        return MOST_TELLING_FIRST.index(self.reader) if self.reader in MOST_TELLING_FIRST else len(MOST_TELLING_FIRST)


def _read_best(files: Sequence[ArchivedFile], where: str, watch: Watch) -> Profile:
    """Read the file that tells most, and note which; of several runs the last, of several ranks the first."""
    candidates, failed = _candidates(files, watch)
    if not candidates:
        raise failed[0] if failed and len(failed) == len(files) else ProfileError(_nothing_found(files, where))
    candidates.sort(key=lambda each: each.order)
    candidates.sort(key=lambda each: each.run, reverse=True)
    candidates.sort(key=lambda each: each.preference)
    failed = []
    for candidate in candidates[:MAX_TRIES]:
        try:
            with closing(candidate.file.open(HEAD_BYTES)) as content:
                content.follow()
                profile = _read_as(candidate.reader, content)
        except ProfileError as error:
            failed.append(ProfileError(f"{_short(candidate.file)}: {error}"))
        else:
            if len(files) == 1:
                return profile
            note = _note(candidate, candidates, len(files), where)
            unread = tuple(f"{_short(each.file)}, which can't be read" for each in candidates[: len(failed)])
            return replace(profile, ignored=(note, *unread, *profile.ignored))
    raise failed[0]


def _candidates(files: Sequence[ArchivedFile], watch: Watch) -> tuple[list[_Candidate], list[ProfileError]]:
    """The files that a reader takes for its own, and what is wrong with those that can't be looked at."""
    found: list[_Candidate] = []
    failed: list[ProfileError] = []
    for file in files:
        watch.check_time()
        try:
            with closing(file.open(SHORT_HEAD_BYTES)) as content:
                head = content.head
        except ProfileError as error:
            failed.append(ProfileError(f"{_short(file)}: {error}"))
            continue
        reader = reader_of(head)
        if reader is None or unsupported_file(head) or (reader is profet_json and not _OPERATION.search(head)):
            continue
        rank = _RANK.search(head)
        found.append(_Candidate(file, reader, int(rank[1]) if rank else 0))
    return found, failed


def _note(chosen: _Candidate, candidates: Sequence[_Candidate], count: int, where: str) -> str:
    alike = [each for each in candidates if each.reader is chosen.reader]
    runs = len({each.run for each in alike})
    others = sum(each.run == chosen.run for each in alike)
    which = f", of the last of {runs} runs" if runs > 1 else ""
    which += f", the first of {others} such files" if others > 1 else ""
    return f"{count - 1} of the {count} files in the {where}: {_short(chosen.file)} was read{which}"


def _nothing_found(files: Sequence[ArchivedFile], where: str) -> str:
    if any(file.name.endswith("/data.pkl") or file.name == "data.pkl" for file in files):
        return "this is a PyTorch checkpoint, not a profile: upload the trace that torch.profiler writes."
    return (
        f"the {where} holds no profile among its {len(files)} files: upload an xplane.pb or trace.json.gz of "
        "TensorFlow, or a trace of torch.profiler."
    )


def _short(file: ArchivedFile) -> str:
    return file.name if len(file.name) <= _NAME_CHARACTERS else "..." + file.name[3 - _NAME_CHARACTERS :]
