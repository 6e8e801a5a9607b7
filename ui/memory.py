"""Whether a training step fits in each instance's GPU memory, shown before what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from profet_core.memory.fit import FitAnswer, Verdict, fits_by_instance
from ui.errors import show_warning
from ui.predicted.outcome import Outcome
from ui.state.resources import Resources
from ui.tables import MISSING
from ui.texts import plain


def fits_of(
    resources: Resources,
    outcome: Outcome,
    instances: Iterable[str],
    batch_size: int | None = None,
    pixels: int | None = None,
) -> dict[str, FitAnswer]:
    """Instance -> whether the shown profile's step fits there, as recorded or at another size.

    Empty if these models have no memory law.
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
    )


def fit_cell(answer: FitAnswer | None) -> str:
    """For a table, with the largest batch that fits: 'fits, ≤ 512', 'does not fit, ≤ 16', 'can't tell'."""
    if answer is None:
        return MISSING
    return f"{answer.verdict}, ≤ {answer.largest_batch:,}" if answer.largest_batch else answer.verdict


def say_fits(answers: Mapping[str, FitAnswer]) -> None:
    """One warning for what does not fit, one line for what can't be told, and why."""
    if not answers:
        return
    too_small = [name for name, answer in answers.items() if answer.verdict is Verdict.DOES_NOT_FIT]
    if too_small:
        show_warning(
            f"Does not fit in the GPU's memory on {', '.join(too_small)}: a step would stop there for want of memory."
        )
    unknown = [name for name, answer in answers.items() if answer.verdict is Verdict.CANT_TELL]
    if unknown:
        st.caption(f"Memory: can't tell whether the step fits on {plain(', '.join(unknown))}.")
    with st.expander("Does it fit in memory?"):
        st.markdown("\n".join(f"- **{plain(name)}**: {plain(fit_sentence(answer))}" for name, answer in answers.items()))
        st.caption(
            "Up to which batch: the largest that fits as surely, the picture size unchanged. Learned from what ran on "
            "8, 12 and 16 GB and what did not: see Accuracy."
        )


def fit_sentence(answer: FitAnswer) -> str:
    sure = "" if answer.probability is None else f" ({_percent(answer.verdict, answer.probability)})"
    largest = f", up to batch {answer.largest_batch:,}" if answer.largest_batch else ""
    return f"{answer.verdict}{largest}{sure}: {answer.why}."


def _percent(verdict: Verdict, fits: float) -> str:
    if verdict is Verdict.CANT_TELL:
        return f"{fits:.0%} that it fits"
    return f"{min(fits if verdict is Verdict.FITS else 1 - fits, 0.99):.0%} sure"
