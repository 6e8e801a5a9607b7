"""What a reader could only assume of a file, gathered while it reads: a line a reason, with the layers it is about."""

from __future__ import annotations

#: Layers that one caveat names.
_NAMED = 3


class Caveats:
    """Reasons and the layers that each is about."""

    def __init__(self) -> None:
        self._about: dict[str, list[str]] = {}

    def add(self, reason: str, layer: str = "") -> None:
        """Note a reason; the layer's name is shown as it is, so it has to be printable."""
        names = self._about.setdefault(reason, [])
        if layer and layer not in names:
            names.append(layer)

    def lines(self) -> tuple[str, ...]:
        """Each reason once: "REASON: one, two, three and 4 more."."""
        return tuple(_line(reason, names) for reason, names in self._about.items())


def _line(reason: str, names: list[str]) -> str:
    if not names:
        return f"{reason}."
    rest = len(names) - _NAMED
    return f"{reason}: {', '.join(names[:_NAMED])}{f' and {rest:,} more' if rest > 0 else ''}."
