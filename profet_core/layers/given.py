"""What a file gives: whole numbers checked, names as they may be shown, and what is wrong with its packing."""

from __future__ import annotations

from profet_core.errors import InputError, ProfileError
from profet_core.layers.shapes import MAX_SETTING

_MAX_NAME = 60


def shown(value: object) -> str:
    """A name or a number from a file, printable and not too long; of anything else what it is."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a record"
    if isinstance(value, str):
        # Cut first: a name may be as long as a file.
        value = value[: _MAX_NAME + 1]
    text = value if isinstance(value, str) and value.isprintable() else ascii(value)
    return text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 3] + "..."


def whole(value: object, what: str, least: int = 1) -> int:
    """A whole number of a sensible size.

    Raises
    ------
    InputError : it is none.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_SETTING:
        given = f'the text "{shown(value)}"' if isinstance(value, str) else shown(value)
        raise InputError(f"its {what} is {given}: a whole number from {least} to {MAX_SETTING:,} is needed.")
    return value


def packing_problem(error: ProfileError) -> str:
    """What is wrong with how a file is packed, without what that says of profiles and advises for them."""
    return str(error).partition(":")[0].partition(", which")[0].rstrip(".")
