"""What a file is that is no profile, so that the refusal can name what to upload instead."""

from __future__ import annotations

_TENSORFLOW = "upload the xplane.pb or trace.json.gz in plugins/profile/<run> beside it"
_PROFILER = "record the step with TensorFlow's or PyTorch's profiler and upload its trace"
_TRACE = "upload the trace itself"
_ANY = ""

#: What the file starts with, what it is then, and what to do.
_MARKS = (
    (b"\x08\x01\x12", "a TensorFlow saved_model.pb", _PROFILER),
    (b"\x89HDF\r\n\x1a\n", "a weights file (HDF5)", _PROFILER),
    (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", "a PyTorch checkpoint", _PROFILER),
    (b"\x80\x02", "a Python pickle", _PROFILER),
    (b"\x80\x03", "a Python pickle", _PROFILER),
    (b"\x80\x04", "a Python pickle", _PROFILER),
    (b"\x80\x05", "a Python pickle", _PROFILER),
    (b"SQLite format 3\x00", "a database (such as an Nsight Systems export)", _PROFILER),
    (b"PAR1", "a Parquet table", _TRACE),
    (b"\x93NUMPY", "a NumPy array", _TRACE),
    (b"\x7fELF", "an executable", _TRACE),
    (b"\x89PNG\r\n\x1a\n", "an image", _TRACE),
    (b"\xff\xd8\xff", "an image", _TRACE),
    (b"GIF8", "an image", _TRACE),
    (b"%PDF-", "a PDF", _TRACE),
    (b"PK\x03\x04", "a nested archive", "unpack it and upload the profile inside"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "upload the profile inside, or a zip archive"),
    (b"Rar!", "a RAR archive", "upload the profile inside, or a zip archive"),
    (b"BZh", "packed with bzip2", "unpack it, or pack it with gzip"),
    (b"\xfd7zXZ\x00", "packed with xz", "unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard", "unpack it, or pack it with gzip"),
)
#: An event file's first record has a length, a checksum, a time, and then its version.
_EVENTS = b"brain.Event:"
_EVENTS_WITHIN = 64
_PAGES = (b"<!doctype html", b"<html", b"<?xml")
#: Their bytes have no published mark.
_ENDINGS = (".nsys-rep", ".qdrep", ".qdstrm", ".ncu-rep")


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
    return ("plain text", _ANY) if _is_text(head[:1000]) else None


def _is_text(start: bytes) -> bool:
    # The cut may split a character.
    text = start.decode("utf-8", "ignore")
    return len(text.encode()) > len(start) - 4 and all(letter.isprintable() or letter.isspace() for letter in text)
