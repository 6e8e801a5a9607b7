"""What a reader could only assume of a file, gathered while it reads: a line a reason, with the layers it is about."""

from __future__ import annotations

#: Layers that one caveat names.
_NAMED = 3


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

    def lines(self) -> tuple[str, ...]:
        """Each reason once: "REASON: one, two, three and 4 more."."""
        return tuple(_line(reason, list(names)) for reason, names in self._about.items())


def _line(reason: str, names: list[str]) -> str:
    if not names:
        return f"{reason}."
    rest = len(names) - _NAMED
    return f"{reason}: {', '.join(names[:_NAMED])}{f' and {rest:,} more' if rest > 0 else ''}."
