"""Whether a training step fits in each instance's memory, as the commands print it beside time and cost."""

from __future__ import annotations

from collections.abc import Mapping

from profet_core.memory.fit import FitAnswer


def fit_cell(fits: Mapping[str, FitAnswer], instance: str) -> str:
    """For a table: 'fits, to 320', the largest batch that does; '-' where there is no answer."""
    return fit_words(fits.get(instance))


def fit_words(answer: FitAnswer | None) -> str:
    """The same of one answer."""
    if answer is None:
        return "-"
    return answer.verdict if answer.largest_batch is None else f"{answer.verdict}, max {answer.largest_batch}"
