"""What a file is that is no profile, so that the refusal can name what to upload instead."""

from __future__ import annotations

import re

_TENSORFLOW = "upload the xplane.pb or trace.json.gz in plugins/profile/<run> beside it"
_PROFILER = "record the step with TensorFlow's or PyTorch's profiler and upload its trace"
_TRACE = "upload the trace itself"
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
    (b"PAR1", "a Parquet table", _TRACE),
    (b"\x93NUMPY", "a NumPy array", _TRACE),
    (b"\x7fELF", "an executable", _TRACE),
    (b"\x89PNG\r\n\x1a\n", "an image", _TRACE),
    (b"\xff\xd8\xff", "an image", _TRACE),
    (b"GIF8", "an image", _TRACE),
    (b"%PDF-", "a PDF", _TRACE),
    (b"PK\x03\x04", "a nested archive", "unpack it and upload the profile inside"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _ARCHIVE),
    (b"Rar!", "a RAR archive", _ARCHIVE),
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
_POD = re.compile(rb'\s*\{\s*"(?:podStatsSequence|podStatsMap|deviceType)"')
#: A list of messages, each of which opens with a kernel's name and goes on with its numbers.
_KERNEL = re.compile(rb"\x0a[\x80-\xff]?[\x01-\x7f]\x0a([\x80-\xff]?[\x01-\x7f])")


def what_it_is(head: bytes, name: str) -> tuple[str, str] | None:
    """What the file is, for "this is ...", and what to do ("" for nothing special); None if nothing is known of it.

    Parameters
    ----------
    head : its first unpacked bytes.
    name : its name; used only where the content is of no known kind.
    """
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


def refused_sibling(head: bytes) -> str:
    """One line that says what a file is that TensorFlow's profiler writes beside a trace; empty if it is none.

    Parameters
    ----------
    head : the first bytes of the file, unpacked.
    """
    what = ""
    if head[:1] in (b"\x0a", b"\x12", b"\x1a", b"\x22", b"\x2a", b"\x32"):
        what = next((what for text, what in _SIBLINGS if text in head), "")
        if not what and _opens_with_kernel(head):
            what = "kernel_stats.pb, kernels of single operations without the step"
    elif _MEMORY.match(head):
        what = "memory profile, which holds no times"
    elif _POD.match(head):
        what = "pod_viewer.json, times of whole steps"
    return (
        what and f"This is TensorFlow's {what}: upload the xplane.pb, trace.json.gz or tensorflow_stats.pb beside it."
    )


def _opens_with_kernel(head: bytes) -> bool:
    found = _KERNEL.match(head)
    if found is None:
        return False
    length = found[1]
    end = found.end() + (length[0] & 0x7F) + (length[1] << 7 if len(length) > 1 else 0)
    # The registers of a thread, or the memory of a block, follow.
    return head[found.end() : end].isascii() and head[end : end + 1] in (b"\x10", b"\x18")
