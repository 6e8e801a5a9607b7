"""How percents and both cases of the anchor's latency are written."""

from __future__ import annotations

#: The end of a column's name in a download -> whether the anchor's latency is known.
CASES = {"with_latency": True, "without_latency": False}


def format_percent(value: float) -> str:
    """Percent with one decimal, or two below 1: '11.2 %', '0.39 %'."""
    return f"{value:.2f} %" if abs(value) < 0.995 else f"{value:.1f} %"


def percent_in_text(value: float) -> str:
    """`format_percent` for a sentence, where a line must not end before the sign."""
    return format_percent(value).replace(" ", "\N{NO-BREAK SPACE}")
