"""Fill the cards' templates, `templates/*.md.j2`."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_LINE_WIDTH = 120


def render(template: str, **values: object) -> str:
    """The text of one of the templates, without blanks at the ends of lines.

    Raises
    ------
    jinja2.UndefinedError : the template names a value that is missing.
    """
    text = _environment().get_template(template).render(values)
    return "\n".join(line.rstrip() for line in text.split("\n"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("profet_lab.cards"),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {
        "fixed": fixed,
        "digits": _digits,
        "both": _both,
        "interval": _interval,
        "largest": _largest,
        "cell": _cell,
        "paragraph": _paragraph,
        "factor": _factor,
        "exp": math.exp,
        "percent": _percent,
    }
    environment.filters.update(filters)
    return environment


def fixed(value: float) -> str:
    """Two decimals, one from 20 on."""
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"


def _digits(value: float, decimals: int, sign: str = "") -> str:
    """With this many decimals; `sign` "+" shows the sign of positive numbers too."""
    return f"{value:{sign}.{decimals}f}"


def _both(row: Mapping[str, float], name: str = "mape", ending: str = "") -> str:
    """Two cells of a table: a figure of the row with the anchor's latency, without."""
    return " | ".join(fixed(row[f"{name}_{case}_latency{ending}"]) for case in ("with", "without"))


def _interval(row: Mapping[str, float], ending: str = "_with_latency") -> str:
    """Two cells of a table: coverage and median half-width of the row's 90% intervals, percent."""
    return " | ".join(fixed(row[f"{name}{ending}"]) for name in ("coverage_90", "median_interval_pct"))


def _percent(log_ratio: float) -> float:
    """A ratio's logarithm as its difference from 1, percent."""
    return 100 * math.expm1(log_ratio)


def _largest(rows: Iterable[Mapping[str, float]], name: str) -> str:
    """The largest of a figure over the rows."""
    return fixed(max(row[name] for row in rows))


def _cell(value: float | None) -> str:
    """A cell of a table, empty where there is no number."""
    return "" if value is None else fixed(value)


def _factor(log_width: float) -> str:
    """A width in the logarithm as a factor."""
    return f"{math.exp(log_width):.1f}"


def _paragraph(text: str) -> str:
    """One paragraph, its lines filled, with its line break."""
    return textwrap.fill(text, _LINE_WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"
