"""Fill the cards' templates, `templates/*.md.j2`."""

from __future__ import annotations

import math
import textwrap
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from profet_core.accuracy.errors import Errors

_LINE_WIDTH = 120


def render(template: str, **values: object) -> str:
    """The text of one of the templates.

    Raises
    ------
    jinja2.UndefinedError : the template names a value that is missing.
    """
    return _environment().get_template(template).render(values)


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
        "cell": _cell,
        "paragraph": _paragraph,
        "factor": _factor,
    }
    environment.filters.update(filters)
    return environment


def fixed(value: float) -> str:
    """Two decimals, one from 20 on."""
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"


def _digits(value: float, decimals: int, sign: str = "") -> str:
    """With this many decimals; `sign` "+" shows the sign of positive numbers too."""
    return f"{value:{sign}.{decimals}f}"


def _both(errors: Errors) -> str:
    """Two cells of a table: with latency, without."""
    return f"{fixed(errors.with_latency)} | {fixed(errors.without_latency)}"


def _cell(value: float | None) -> str:
    """A cell of a table, empty where there is no number."""
    return "" if value is None else fixed(value)


def _factor(log_width: float) -> str:
    """A width in the logarithm as a factor."""
    return f"{math.exp(log_width):.1f}"


def _paragraph(text: str) -> str:
    """One paragraph, its lines filled, with its line break."""
    return textwrap.fill(text, _LINE_WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"
