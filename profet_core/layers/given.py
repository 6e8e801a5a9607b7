"""Check values from a file, and collect what a reader assumes."""

from __future__ import annotations

import math

from profet_core.errors import InputError, ProfileError
from profet_core.layers.rules import MAX_SETTING

_MAX_NAME = 60
#: Layers that one caveat names.
_NAMED = 3


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


class Caveats:
    """Reasons and the layers that each is about."""

    def __init__(self) -> None:
        # Names as keys: in their order, each once, and twenty thousand of them are no wait.
        self._about: dict[str, dict[str, None]] = {}

    def add(self, reason: str, layer: str = "") -> None:
        """Note a reason; the layer's name is shown as it is, so it has to be printable."""
        names = self._about.setdefault(reason, {})
        if layer:
            names[layer] = None

    def square(self, height: int, width: int) -> int:
        """The side of a square image of as many pixels; noted where the image is none."""
        side = round(math.sqrt(height * width))
        if height != width:
            self.add(f"Its images are {height} x {width}, and taken for square ones of {side}")
        return side

    def lines(self) -> tuple[str, ...]:
        """Each reason once: "REASON: one, two, three and 4 more."."""
        return tuple(_line(reason, list(names)) for reason, names in self._about.items())


def _line(reason: str, names: list[str]) -> str:
    if not names:
        return f"{reason}."
    rest = len(names) - _NAMED
    return f"{reason}: {', '.join(names[:_NAMED])}{f' and {rest:,} more' if rest > 0 else ''}."
