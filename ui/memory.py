"""Words for whether a training step fits in GPU memory."""

from __future__ import annotations

from profet_core.memory.fit import FitAnswer, Verdict
from ui.tables import MISSING


def fit_cell(answer: FitAnswer | None) -> str:
    """For a table, with the largest batch that fits: 'fits, ≤ 512', 'does not fit, ≤ 16', 'can't tell'."""
    if answer is None:
        return MISSING
    return f"{answer.verdict}, ≤ {answer.largest_batch:,}" if answer.largest_batch else answer.verdict


def fit_sentence(answer: FitAnswer) -> str:
    """Whether it fits, up to which batch, how sure that is, and why."""
    sure = "" if answer.probability is None else f" ({_percent(answer.verdict, answer.probability)})"
    largest = f", up to batch {answer.largest_batch:,}" if answer.largest_batch else ""
    return f"{answer.verdict}{largest}{sure}: {answer.why}."


def _percent(verdict: Verdict, fits: float) -> str:
    if verdict is Verdict.CANT_TELL:
        return f"{fits:.0%} that it fits"
    return f"{min(fits if verdict is Verdict.FITS else 1 - fits, 0.99):.0%} sure"
