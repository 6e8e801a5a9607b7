"""Reads a profile from bytes, a file or a folder: its format is known by the content, never by a file's name.

Of many files, an archive's or a run's folder, the one that tells most is read, and `ignored` says which it was.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from profet_profiles import profet_json, pytorch_trace, trace_json, xplane
from profet_profiles.chrome_trace import is_chrome_trace
from profet_profiles.errors import ProfileError, shown_file_name
from profet_profiles.kernel_names import is_convolution_kernel, moves_memory, operation_of_kernel
from profet_profiles.limits import TraceTooLargeError, smaller_trace
from profet_profiles.protobuf_wire import WireStream
from profet_profiles.record import Profile
from profet_profiles.statistics import CSV, JSON, STATS
from profet_profiles.tensorflow_trace import kernel_operation, operation_type
from profet_profiles.unpacking import (
    HEAD_BYTES,
    SHORT_HEAD_BYTES,
    ArchivedFile,
    Content,
    Progress,
    Reader,
    Watch,
    files_in_archive,
    files_in_folder,
    is_archive,
)
from profet_profiles.whole_files import open_to_read

#: Every format that is read, in the order in which `looks_like` is called. PyTorch's reader takes any chrome trace that
#: TensorFlow's left, PROFET JSON any JSON that all others left.
READERS = (CSV, JSON, STATS, xplane.READER, trace_json.READER, pytorch_trace.READER, profet_json.READER)

#: Which of many files, an archive's or a run's folder, tells most: traces know the steps, statistics may be cut. A
#: format that is not here comes last.
PREFERRED_FORMATS = (xplane.READER, trace_json.READER, STATS, CSV, JSON, pytorch_trace.READER, profet_json.READER)


def find_reader(head: bytes) -> Reader | None:
    """Return the reader of the format that a file is of, by its first unpacked bytes; None if it is of none.

    >>> find_reader(b'{"traceEvents": [{"ph": "X", "cat": "cpu_op"}]}').name
    'PyTorch trace'
    """
    return next((reader for reader in READERS if reader.looks_like(head)), None)


_PROFILER = "record the step with TensorFlow's or PyTorch's profiler and upload its trace"
_CHROME_TRACE = "upload the trace that prof.export_chrome_trace() writes"
_BESIDE = "upload the xplane.pb, trace.json.gz or tensorflow_stats.pb beside it"
_RUN_FOLDER = "upload the xplane.pb or trace.json.gz in plugins/profile/<run> beside it"
_STEP_TIMES = "TensorFlow's input_pipeline.pb, which has times of whole steps only"
_KERNELS_ALONE = "TensorFlow's kernel statistics, which lack idle time and the host's operations"
_NVIDIA = "a table of NVIDIA's profiler (nsys, nvprof, ncu)"
_KEY_AVERAGES = "PyTorch's printed key_averages()"
_ON_GPU = "the models support GPUs only, so record the step on a GPU"
_MESSAGE = rb"(?s)\A[\n\x12\x1a\"*2].*tensorflow\.profiler\."
_TRAINING_LOG = (
    "a training log",
    "give it as the log of a network by name: step 3 on Predict, or profet estimate --log",
)
_LINES = rb"\A(?:[^\n]{0,1000}\n){0,20}[^\n]{0,1000}"
#: Of lines that are no JSON's.
_LOG = rb'\A(?!\s*+[\[{]\s*+["{])' + _LINES[2:]

#: Files that people take for a profile: what a file's first bytes hold, what it is then, and what to do. Searched in
#: this order, before any reader looks.
_OTHER_FILES = tuple(
    (re.compile(pattern, re.IGNORECASE), what, instead)
    for pattern, what, instead in (
        (rb"\A\x08\x01\x12", "a TensorFlow saved_model.pb", _PROFILER),
        (rb"\A\x89HDF\r\n\x1a\n", "a weights file (HDF5)", _PROFILER),
        (rb"\A\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", "a PyTorch checkpoint", _PROFILER),
        (rb"\A\x80[\x02-\x05]", "a Python pickle", _PROFILER),
        (rb"\ASQLite format 3\x00", "a database (such as an Nsight Systems export)", _PROFILER),
        (rb"\APK\x03\x04", "a nested archive", "unpack it and upload the profile inside"),
        (rb"\A7z\xbc\xaf\x27\x1c", "a 7z archive", "upload the profile inside, or a zip archive"),
        (rb"\ABZh", "packed with bzip2", "unpack it, or pack it with gzip"),
        (rb"\A\xfd7zXZ\x00", "packed with xz", "unpack it, or pack it with gzip"),
        (rb"\A\x28\xb5\x2f\xfd", "packed with Zstandard", "unpack it, or pack it with gzip"),
        # An event file's first record has a length, a checksum, a time, and then its version.
        (rb"(?s)\A.{0,53}brain\.Event:", "a TensorFlow event file", _RUN_FOLDER),
        (rb"\A\s*+<(?:!doctype html|html|\?xml)", "a web page or XML", "download the file itself, not its page"),
        # Types of messages that only one of the files beside a TensorFlow trace holds.
        (_MESSAGE + rb"GenericRecommendation", "TensorFlow's overview_page.pb, which lacks operations", _BESIDE),
        (_MESSAGE + rb"(?:GenericStepTimeBreakdown|PerGenericStepDetails|BottleneckAnalysis)", _STEP_TIMES, _BESIDE),
        (rb'\A\s*+\{\s*"(?:memoryProfilePerAllocator|numHosts|memoryIds)"', "TensorFlow's memory profile", _BESIDE),
        (rb'\A\s*+\{\s*"(?:podStatsSequence|podStatsMap|deviceType)"', "TensorFlow's pod_viewer.json", _BESIDE),
        (rb"\A[^\n]{0,200}\bKernel Name\b[^\n]{0,200}\bRegisters", _KERNELS_ALONE, _BESIDE),
        (rb'\A[\s\[{]{0,9}"cols".{0,2000}"kernel_name"', _KERNELS_ALONE, _BESIDE),
        # Printed tables may stand behind lines of what was done.
        (_LINES + rb"(?:Time ?\(%\)\W{1,9}(?:Total )?Time\b|Start \(\w{1,9}\)\W{1,9}Duration)", _NVIDIA, _PROFILER),
        (_LINES + rb"(?:\bcuda_?(?:gpu|api)_?\w{0,40}sum\b|NVPROF is profiling)", _NVIDIA, _PROFILER),
        (_LINES + rb'"Process ID","Process Name"', _NVIDIA, _PROFILER),
        (_LINES + rb"Self CPU(?: total)?(?: time)? %\s{1,9}Self CPU", _KEY_AVERAGES, _CHROME_TRACE),
        # Its rows, two shares of the CPU's time each with what it is of.
        (_LINES + rb"(?:\s\d{1,3}\.\d\d%\s{1,20}\d{1,9}\.\d{3}[mu]?s\s{1,20}){2}", _KEY_AVERAGES, _CHROME_TRACE),
        (_LINES + rb"Profile Statistics\.\s{1,9}Note that counter", "MXNet's printed table", _PROFILER),
        (
            rb"\A[^\n;]{1,500}(?:;[^\n;]{1,500}){1,500} \d{1,18}\r?(?:\n|\Z)",
            "a list of stacks for a flame graph (export_stacks), which lacks operations",
            _CHROME_TRACE,
        ),
        (_LINES + rb"(?:\bNVIDIA-SMI \d|\butilization\.gpu\b)", "nvidia-smi's output", _PROFILER),
        (_LOG + rb"(?:\d ?(?:it/s|s/it|m?s/step)\b|_per_second\b|loss'?[:=]? {0,3}\d|epoch,|took \d)", *_TRAINING_LOG),
        (rb'(?s)\A\s*+\{.*"(?:log_history|train_steps_per_second)"', *_TRAINING_LOG),
        (rb"\Aversion https://git-lfs", "a pointer of Git LFS", "fetch the file itself: git lfs pull"),
        (_LINES + rb"Layer \(type[^)\n]{0,30}\)", "a printed summary of a network", _PROFILER),
        (
            rb'(?s)\A\s*+\{.*?"(?:format"\s*:\s*"graph-model"|modelTopology"\s*:\s*\{\s*"node")',
            "a TensorFlow.js graph model",
            _PROFILER,
        ),
        (rb"\A\s*+\[\s*\[\s*-?\d", "a list of numbers, such as PyTorch's memory timeline", _CHROME_TRACE),
    )
)
#: Their bytes have no published mark.
_NSIGHT_ENDINGS = (".nsys-rep", ".qdrep", ".qdstrm", ".ncu-rep")
#: Chrome traces that no reader takes, in the same way.
_OTHER_TRACES = tuple(
    (re.compile(pattern, re.IGNORECASE), what, instead)
    for pattern, what, instead in (
        # A process is a device, and in it a stream.
        (
            rb'/(?:device:)?(?:gpu|cpu):\d{1,4}(?:/[a-z0-9:]{1,40})? Compute"',
            "a TensorFlow 1 Timeline",
            "record a training step with TensorFlow 2's profiler, which records tf.compat.v1 sessions too",
        ),
        (rb'"(?:Ascend Hardware|async_npu)"|"Task Type"\s*:\s*"(?:AI_|MIX_)', "a trace of an Ascend NPU", _ON_GPU),
        (rb'"cat"\s*:\s*"(?:cuda|nvtx|nvtx-kernel)"', "a converted trace of NVIDIA's Nsight Systems", _PROFILER),
        (rb'"name"\s*:\s*"[cg]pu/\d{1,3}"', "MXNet's trace", _PROFILER),
        (rb'"cat"\s*:\s*"Session"', "a trace of ONNX Runtime", _PROFILER),
    )
)
#: A kernel's record in TensorFlow's kernel_stats.pb: name, registers, memory, sizes of blocks and grids, times, whether
#: it can use tensor cores, operation, occurrences, occupancy.
_KERNEL_FIELDS, _KERNEL_TOTAL_NS = range(1, 15), 7


def other_file(head: bytes, name: str = "") -> tuple[str, str] | None:
    """Name a file that people take for a profile, for "This is ...", and what to do; None for any other."""
    for pattern, what, instead in _OTHER_TRACES if is_chrome_trace(head) else _OTHER_FILES:
        if pattern.search(head):
            return what, instead
    if _is_kernel_stats(head):
        return _KERNELS_ALONE, _BESIDE
    return ("an NVIDIA Nsight report", _PROFILER) if name.lower().endswith(_NSIGHT_ENDINGS) else None


def is_text(head: bytes) -> bool:
    """Return True if a file begins as text does."""
    # The cut may split a character.
    text = head[:1000].decode("utf-8", "ignore")
    return len(text.encode()) > len(head[:1000]) - 4 and all(
        letter.isprintable() or letter.isspace() for letter in text
    )


def _is_kernel_stats(head: bytes) -> bool:
    """Return True for TensorFlow's kernel_stats.pb, whose first record is a whole kernel's."""
    if not head.startswith(b"\x0a"):
        return False
    wire = WireStream(io.BytesIO(head))
    try:
        _, size = next(wire.fields())
        numbers = [field for field, _, _ in wire.entries(size)]
    except (StopIteration, ProfileError):
        return False
    return numbers[:1] == [1] and _KERNEL_TOTAL_NS in numbers and all(number in _KERNEL_FIELDS for number in numbers)


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
    profet_profiles.errors.ProfileError: mine.json: 'Device_Conv2D' is negative: times are 0 or more microseconds.
    """
    if not isinstance(source, str | Path):
        name = name or "profile"
        return _named(name, lambda: _read(source, name, Watch(progress)))
    path = Path(source)
    name = name or path.name
    try:
        if path.is_dir():
            return read_profile_folder(path, progress=progress)
        with open_to_read(path) as file:
            return read_profile(file, name, progress=progress)
    except (OSError, ValueError) as error:
        # `ProfetError` is a `ValueError` and says it better; a text that is no path may hold a null byte.
        if isinstance(error, ProfileError):
            raise
        why = getattr(error, "strerror", None) or error
        raise ProfileError(f"{shown_file_name(name)} can't be read: {why}. Give a path, bytes or a file.") from None


def read_profile_folder(path: Path, *, progress: Progress | None = None) -> Profile:
    """Read the file that tells most in a folder, such as the `plugins/profile/<run>` that TensorFlow writes.

    Raises
    ------
    ProfileError : one line: nothing in it is a profile, or what is can't be read.
    """
    watch = Watch(progress)
    return _named(path.resolve().name, lambda: _read_best(files_in_folder(path, watch), "folder", watch))


def _named(name: str, read: Callable[[], Profile]) -> Profile:
    """Call `read`, and give its result and its errors the file's name."""
    try:
        return read().with_file_name(name)
    except ProfileError as error:
        raise ProfileError(f"{shown_file_name(name)}: {error}") from None
    finally:
        # A file that is read at the same time only has to search its names again.
        for cached in (is_convolution_kernel, moves_memory, operation_of_kernel, kernel_operation, operation_type):
            cached.cache_clear()


def _read(source: bytes | BinaryIO, name: str, watch: Watch) -> Profile:
    try:
        content = Content(source, watch=watch)
    except TraceTooLargeError as error:
        raise ProfileError(f"{error}: {smaller_trace(b'')}.") from None
    watch.shorten(content.size)
    if is_archive(content):
        return _read_best(files_in_archive(content), "archive", watch)
    content.follow()
    other = other_file(content.head, name)
    if other is None and (reader := find_reader(content.head)):
        return _read_as(reader, content)
    what, instead = other or ("plain text" if is_text(content.head) else "", "")
    formats = "upload PROFET JSON, or a TensorFlow or PyTorch trace"
    raise ProfileError(f"this is {what and what + ', '}not a profile: {instead or formats}.")


def _read_as(reader: Reader, content: Content) -> Profile:
    try:
        return reader.read(content)
    except TraceTooLargeError as error:
        raise ProfileError(f"{error}: {smaller_trace(content.head)}.") from None


# --- of many files ----------------------------------------------------------------------------------------------------


class _Candidate(NamedTuple):
    """A file that a reader takes for its own, and the rank of the process that wrote it, if it tells."""

    file: ArchivedFile
    reader: Reader
    rank: int

    @property
    def run(self) -> str:
        """Time of the run as TensorFlow names its folder, or ""."""
        runs = _RUN.findall(self.file.name)
        return runs[-1] if runs else ""

    @property
    def order(self) -> tuple[int, list[str | tuple[int, str]]]:
        """Lowest rank first, then by name, numbers in it as numbers."""
        parts = enumerate(_NUMBERS.split(self.file.name))
        return self.rank, [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else part for at, part in parts]


def _read_best(files: Sequence[ArchivedFile], where: str, watch: Watch) -> Profile:
    """Read the file that tells most, and note which; of several runs the last, of several ranks the first."""
    candidates, failed = _candidates(files, watch)
    if not candidates and failed and len(failed) == len(files):
        raise failed[0]
    if not candidates and any(file.name.endswith("/data.pkl") or file.name == "data.pkl" for file in files):
        raise ProfileError("this is a PyTorch checkpoint, not a profile: upload the trace that torch.profiler writes.")
    if not candidates:
        raise ProfileError(
            f"the {where} holds no profile among its {len(files)} files: upload an xplane.pb or trace.json.gz of "
            "TensorFlow, or a trace of torch.profiler."
        )
    candidates.sort(key=lambda candidate: candidate.order)
    candidates.sort(key=lambda candidate: candidate.run, reverse=True)
    candidates.sort(key=lambda candidate: (*PREFERRED_FORMATS, candidate.reader).index(candidate.reader))
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
            unread = tuple(f"{_short(candidate.file)}, which can't be read" for candidate in candidates[: len(failed)])
            return replace(profile, ignored=(note, *unread, *profile.ignored))
    raise failed[0]


def _candidates(files: Sequence[ArchivedFile], watch: Watch) -> tuple[list[_Candidate], list[ProfileError]]:
    """Return the files that a reader takes for its own, and what is wrong with those that can't be looked at."""
    candidates: list[_Candidate] = []
    failed: list[ProfileError] = []
    for file in files:
        watch.check_time()
        try:
            with closing(file.open(SHORT_HEAD_BYTES)) as content:
                head = content.head
        except ProfileError as error:
            failed.append(ProfileError(f"{_short(file)}: {error}"))
            continue
        reader = find_reader(head)
        if reader is None or other_file(head) or (reader is profet_json.READER and not _OPERATION.search(head)):
            continue
        rank = _RANK.search(head)
        candidates.append(_Candidate(file, reader, int(rank[1]) if rank else 0))
    return candidates, failed


def _note(chosen: _Candidate, candidates: Sequence[_Candidate], count: int, where: str) -> str:
    alike = [candidate for candidate in candidates if candidate.reader is chosen.reader]
    runs = len({candidate.run for candidate in alike})
    others = sum(candidate.run == chosen.run for candidate in alike)
    which = f", of the last of {runs} runs" if runs > 1 else ""
    which += f", the first of {others} such files" if others > 1 else ""
    return f"{count - 1} of the {count} files in the {where}: {_short(chosen.file)} was read{which}"


def _short(file: ArchivedFile) -> str:
    return file.name if len(file.name) <= _NAME_CHARACTERS else "..." + file.name[3 - _NAME_CHARACTERS :]


# --- sizes in a file's name -------------------------------------------------------------------------------------------

_SEPARATED = re.compile(r"[^a-z0-9]+")
#: EfficientNet-B4 is no batch of 4.
_BATCH = re.compile(
    r"\b(?:batch ?size|batch|bs) ?([1-9]\d{0,4})\b|\b([1-9]\d{0,4}) ?(?:batch|bs)\b|(?<!net )\bb ?([1-9]\d{0,4})\b"
)
_PIXELS = re.compile(
    r"\b(?:pixels|px|ds|img ?sz|img|image|size) ?(\d{2,4})\b|\b(\d{2,4}) ?(?:pixels|pix|px|ds|p)\b|\b(\d{2,4}) ?x ?\3\b"
)
#: A number alone is an image size where it is one that networks are trained at.
_ALONE = re.compile(r"\b(32|64|96|128|160|192|224|240|256|299|331|384|416|448|480|512|600|640)\b")


def sizes_in_name(name: str) -> tuple[int | None, int | None]:
    """Batch size and pixels that a file's name states; None where it doesn't.

    >>> sizes_in_name("vgg16_224ds_16bs.json"), sizes_in_name("ResNet50_128_b32.json"), sizes_in_name("trace.json")
    ((16, 224), (32, 128), (None, None))
    """
    words = _SEPARATED.sub(" ", name.lower())
    batch, words = _number_in(_BATCH, words)
    pixels, words = _number_in(_PIXELS, words)
    if pixels is None and len(alone := _ALONE.findall(words)) == 1:
        pixels = int(alone[0])
    return batch, pixels


def _number_in(pattern: re.Pattern[str], words: str) -> tuple[int | None, str]:
    """Return the number that `pattern` finds, if it finds just one, and the words without it."""
    matches = list(pattern.finditer(words))
    if len(matches) != 1:
        return None, words
    match = matches[0]
    return int(next(filter(None, match.groups()))), f"{words[: match.start()]} {words[match.end() :]}"
