"""What curves show: numbers, dollars or times, and the axis for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from profet_core.units import format_ms, time_unit
from ui.charts.style import Part, value_axis


@dataclass(frozen=True, slots=True)
class Shown:
    """A kind of value.

    Attributes
    ----------
    title : of its axis. words : a value as written.
    prefix : before each tick. in_time : values are seconds, drawn in one unit that suits them.
    """

    title: str
    words: Callable[[float], str]
    prefix: str = ""
    in_time: bool = False

    def axis(self, values: Sequence[float], *, log: bool = True) -> tuple[float, Part]:
        """The unit that values are drawn in, and their axis, logarithmic or from zero."""
        unit, title = 1.0, self.title
        if self.in_time and values:
            suits = time_unit(sorted(values)[len(values) // 2])
            unit, title = suits.seconds, f"{title} ({suits.name})"
        if not log:
            return unit, value_axis(title, type="linear", rangemode="tozero", tickformat=",~r", tickprefix=self.prefix)
        drawn = [value / unit for value in values] or [1.0]
        powers = range(math.floor(math.log10(min(drawn))) - 1, math.ceil(math.log10(max(drawn))) + 2)
        ticks = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
        texts = [f"{self.prefix}{tick:,.12g}" for tick in ticks]
        return unit, value_axis(title, type="log", tickvals=ticks, ticktext=texts)


def count_axis(title: str, low: float, high: float, ticks: Sequence[int], *, log: bool = True) -> Part:
    """An axis from `low` to `high` of what is counted, such as GPUs: ticks at these numbers alone."""
    return {
        "title": {"text": title},
        "type": "log" if log else "linear",
        # A little beyond: Plotly leaves out a tick that rounding puts outside.
        "range": [math.log10(low), math.log10(high) + 1e-3] if log else [low, high],
        "tickvals": list(ticks),
        "ticktext": [f"{tick:,}" for tick in ticks],
        "showgrid": False,
        "fixedrange": True,
        "hoverformat": ",d",
    }


def size_axis(axis: str, sizes: Sequence[int], *, log: bool = True) -> Part:
    """An axis of batch or image sizes."""
    title, ticks = _SIZES[axis]
    return count_axis(title, min(sizes), max(sizes), ticks if log else range(32, 257, 32), log=log)


LATENCY = Shown("Latency (ms/step)", format_ms)
_SIZES = {
    "batch": ("Batch size", (16, 32, 64, 128, 256)),
    "pixels": ("Image size (pixels)", (32, 64, 128, 256)),
}
