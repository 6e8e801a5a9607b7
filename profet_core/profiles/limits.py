"""What the profile of a step, and a trace of one, may hold at most, whatever file it came from."""

from __future__ import annotations

from sys import getsizeof
from typing import TypeGuard

from profet_core.errors import ProfileError

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
#: Events of a kind that are kept until a trace is read: PyTorch's take 24 bytes each, 120 while they are sorted, so
#: that memory stays below 250 MB. A trace of 300 MB has about a million of a kind.
MAX_KEPT_EVENTS = 1_500_000


class NamesKept:
    """Counts what the names of one trace take in memory, all together: few wide ones or many short ones."""

    def __init__(self) -> None:
        self._left = MAX_NAMES_BYTES

    def add(self, name: str) -> None:
        """Count a name that was not kept before.

        Raises
        ------
        ProfileError : they take more than `MAX_NAMES_BYTES`.
        """
        self._left -= getsizeof(name) + _ENTRY_BYTES
        if self._left < 0:
            raise ProfileError("The trace has too many names, or names that are too long: record fewer steps.")


def check_operations(count: int) -> None:
    """Refuse more than `MAX_OPERATIONS`.

    Raises
    ------
    ProfileError : one line.
    """
    if count > MAX_OPERATIONS:
        raise ProfileError(
            f"More than {MAX_OPERATIONS:,} operation types are too many for one step: record totals per operation type."
        )


def is_short_text(value: object) -> TypeGuard[str]:
    """True for what may stand in meta as a text: one printable line of at most 100 characters."""
    return isinstance(value, str) and len(value) <= MAX_TEXT_CHARACTERS and value.isprintable()
