"""Logarithmic axes that stand still while values move a little: their ends and ticks are round numbers."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from profet_core.units import format_significant
from ui.charts.style import GRID, Part

#: More ticks than this meet each other, beside each other on a phone, and above each other.
_MOST_BESIDE, _MOST_ABOVE = 6, 10
#: Room around the outermost values.
_ROOM, _ROOM_LINEAR = 1.12, 1.04


@dataclass(frozen=True, slots=True)
class Tick:
    """A round number, as written; where there are too many, those of the higher ranks go: 2s, then 5s."""

    value: float
    text: str
    rank: int


@dataclass(frozen=True, slots=True)
class LogAxis:
    """An axis from one round number to another."""

    low: float
    high: float
    ticks: tuple[Tick, ...]

    def part(self, title: str) -> Part:
        """As plotly has it."""
        return {
            "title": {"text": title},
            **self.span,
            "tickvals": [tick.value for tick in self.ticks],
            "ticktext": [tick.text for tick in self.ticks],
            "tickangle": 0,
            "gridcolor": GRID,
            "zeroline": False,
            "fixedrange": True,
        }

    @property
    def span(self) -> Part:
        """Its type and range."""
        return {"type": "log", "range": [math.log10(self.low), math.log10(self.high)]}

    def share(self, value: float) -> float:
        """How far along the axis a value is, 0 to 1."""
        return math.log(value / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True, slots=True)
class LinearAxis(LogAxis):
    """An axis from zero to a round number."""

    @property
    def span(self) -> Part:
        """Its type and range."""
        return {"type": "linear", "range": [self.low, self.high]}

    def share(self, value: float) -> float:
        """How far along the axis a value is, 0 to 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Shown:
    """What curves are of: the title of their axis, the axis around their values, and how a value is written.

    Attributes
    ----------
    units : of which ticks of a linear axis are round numbers, the largest first.
    """

    title: str
    axis: Callable[[Sequence[float]], LogAxis]
    words: Callable[[float], str]
    units: Sequence[float] = (1.0,)

    def linear(self, values: Sequence[float]) -> LinearAxis:
        """An axis from zero that holds all values."""
        high = max(values, default=1.0) * _ROOM_LINEAR
        unit = next((unit for unit in self.units if unit <= high), self.units[-1])
        rough = high / unit / _MOST_BESIDE
        power = 10.0 ** math.floor(math.log10(rough))
        step = unit * next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
        count = math.floor(high / step)
        ticks = [Tick(place * step, self.words(place * step) if place else "0", 0) for place in range(count + 1)]
        return LinearAxis(0.0, high, tuple(ticks))


def count_axis(title: str, low: float, high: float, ticks: Sequence[int], *, log: bool = True) -> Part:
    """An axis from `low` to `high` of what is counted, such as GPUs: ticks at these numbers alone."""
    return {
        "title": {"text": title},
        "type": "log" if log else "linear",
        "range": [math.log10(low), math.log10(high)] if log else [low, high],
        "tickvals": ticks,
        "ticktext": [f"{tick:,}" for tick in ticks],
        "showgrid": False,
        "fixedrange": True,
        "hoverformat": ",d",
    }


def time_axis(values_s: Sequence[float]) -> LogAxis:
    """An axis of seconds around all values, with the round numbers of clocks."""
    return _axis(values_s, _TIMES, _MOST_BESIDE)


def usd_axis(values_usd: Sequence[float]) -> LogAxis:
    """An axis of US dollars around all values."""
    return _axis(values_usd, _DOLLARS, _MOST_ABOVE)


def number_axis(values: Sequence[float]) -> LogAxis:
    """An axis of plain numbers around all values."""
    return _axis(values, _NUMBERS, _MOST_ABOVE)


def _axis(values: Sequence[float], table: Sequence[Tick], most: int) -> LogAxis:
    low, high = min(values, default=1.0) / _ROOM, max(values, default=1.0) * _ROOM
    first = max(bisect_right(table, low, key=_value) - 1, 0)
    last = min(bisect_left(table, high, key=_value), len(table) - 1)
    ticks = table[first : last + 1]
    for highest in (1, 0):
        if len(ticks) > most:
            ticks = [tick for tick in ticks if tick.rank <= highest]
    return LogAxis(table[first].value, table[last].value, tuple(ticks[:: math.ceil(len(ticks) / most)]))


def _value(tick: Tick) -> float:
    return tick.value


def _decades(first: int, last: int, words: Callable[[float], str], unit: float = 1.0) -> list[Tick]:
    """1, 2 and 5 of every power of ten, each times `unit`."""
    return [
        Tick(value * unit, words(value), _RANKS[step])
        for power in range(first, last)
        for step in (1, 2, 5)
        for value in (float(f"{step}e{power}"),)
    ]


def _short(value: float) -> str:
    """One digit, as all round numbers have: '0.05', '2,000'."""
    return format_significant(value, 1)


def _dollars(value: float) -> str:
    return f"${_short(value)}"


def _times() -> list[Tick]:
    """Decades of seconds, then the round numbers of clocks, then decades of days."""
    clock = [Tick(10.0, "10 s", 0), Tick(20.0, "20 s", 2)]
    for unit, size, counts in (("min", 60.0, (1, 2, 5, 10, 20)), ("h", 3_600.0, (1, 2, 5, 10))):
        clock += [Tick(count * size, f"{count} {unit}", _RANKS[count]) for count in counts]
    seconds = _decades(-9, 1, lambda value: f"{_short(value)} s")
    return [*seconds, *clock, *_decades(0, 12, lambda value: f"{_short(value)} d", 86_400.0)]


_RANKS = {1: 0, 2: 2, 5: 1, 10: 0, 20: 2}
_NUMBERS = _decades(-12, 18, _short)
_DOLLARS = _decades(-12, 18, _dollars)
_TIMES = _times()
