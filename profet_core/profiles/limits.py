"""What the profile of a step, and a trace of one, may hold at most, whatever file it came from."""

from __future__ import annotations

from typing import TypeGuard

#: Training steps that a file covers.
MAX_STEPS = 10_000
#: Operation types of one step; a large network has some hundred.
MAX_OPERATIONS = 5_000
#: One operation type in one step: eleven days. Anything above is not a time, and sums must stay finite.
MAX_OPERATION_US = 1e12
#: A text of `ProfileMeta`, characters.
MAX_TEXT_CHARACTERS = 100

#: Threads of a trace, of all processes together.
MAX_THREADS = 10_000
#: Events of a kind that are kept until a trace is read: PyTorch's take 24 bytes each, 120 while they are sorted, so
#: that memory stays below 300 MB. A trace of 300 MB has about a million of a kind.
MAX_KEPT_EVENTS = 2_000_000


def is_short_text(value: object) -> TypeGuard[str]:
    """True for what may stand in meta as a text: one printable line of at most 100 characters."""
    return isinstance(value, str) and len(value) <= MAX_TEXT_CHARACTERS and value.isprintable()
