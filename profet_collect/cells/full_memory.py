"""Recognize out-of-memory errors in a framework's output."""

from __future__ import annotations

#: Names of the errors that say so, of either framework and of Python.
_NAMES = frozenset({"OutOfMemoryError", "ResourceExhaustedError", "MemoryError"})
#: What errors of another name say, and processes that end without one: TensorFlow and C++ abort.
_WORDS = (
    "out of memory",
    "out_of_memory",
    "OOM when allocating",
    "RESOURCE_EXHAUSTED",
    "STATUS_ALLOC_FAILED",
    "cudaErrorMemoryAllocation",
    "failed to allocate",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "std::bad_alloc",
)


def is_full_memory(error: BaseException) -> bool:
    """Whether an error of any framework is about memory that was too small."""
    return bool(_NAMES.intersection(kind.__name__ for kind in type(error).__mro__)) or says_full_memory(str(error))


def says_full_memory(text: str) -> bool:
    """Whether a message or a log is.

    >>> says_full_memory("Check failed: status == OK: CUDA_ERROR_OUT_OF_MEMORY"), says_full_memory("Xid 79")
    (True, False)
    """
    lower = text.lower()
    return any(word.lower() in lower for word in _WORDS)
