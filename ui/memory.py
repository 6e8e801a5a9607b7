"""Whether a training step fits in each instance's GPU memory, shown before what it costs."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.memory.fit import FitAnswer, Verdict, fits_by_instance
from ui.predicted.outcome import Outcome
from ui.state.resources import Resources
from ui.tables import MISSING


def fits_of(
    resources: Resources,
    outcome: Outcome,
    instances: Iterable[str],
    batch_size: int | None = None,
    pixels: int | None = None,
    second: Outcome | None = None,
) -> dict[str, FitAnswer]:
    """Instance -> whether the shown profile's step fits there, as recorded or at another size.

    `second` is of the profile of another size. Empty if these models have no memory law.
    """
    return fits_by_instance(
        resources.models.memory,
        resources.catalog,
        resources.gpus,
        outcome.held.profile,
        outcome.prediction.anchor,
        instances,
        batch_size=batch_size,
        pixels=pixels,
        second=None if second is None else second.held.profile,
    )


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
