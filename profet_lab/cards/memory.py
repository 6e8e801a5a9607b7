"""Figures of the card's section on memory fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_core.accuracy.memory import MemoryAccuracy, MemoryScores
from profet_core.memory.model import MemoryLaw, MemoryModel, PeakRelation

#: The aim: recall of what did not run, and false "fits" among all answers.
_RECALL, _FALSE_FITS = 0.8, 0.02


@dataclass(frozen=True, slots=True)
class MemorySection:
    """What the template words.

    Attributes
    ----------
    cells, did_not_run : workloads x GPUs that the memory model was fitted on, as the file has them.
    rows : what is known of the network -> scores, from most to least.
    reached_chosen, reached_answered : rows that reach the aim, made to choose, and with "can't tell" as a miss.
    """

    law: MemoryLaw
    peak: PeakRelation
    accuracy: MemoryAccuracy
    cells: str
    did_not_run: str
    rows: Mapping[str, MemoryScores]
    reached_chosen: Sequence[str]
    reached_answered: Sequence[str]


def memory_section(accuracy: MemoryAccuracy, memory: MemoryModel) -> MemorySection:
    """The section's figures."""
    rows = {"layers known": accuracy.layers_known, **accuracy.recorded, **accuracy.served}
    return MemorySection(
        law=memory.law,
        peak=memory.peak,
        accuracy=accuracy,
        cells=memory.fitted_on.get("cells", "?"),
        did_not_run=memory.fitted_on.get("did not run", "?"),
        rows=rows,
        reached_chosen=[name for name, row in rows.items() if _reached(row.recall, row.false_fits)],
        reached_answered=[name for name, row in rows.items() if _reached(row.strict_recall, row.strict_false_fits)],
    )


def _reached(recall: float | None, false_fits: float | None) -> bool:
    if recall is None or false_fits is None:
        return False
    return recall >= _RECALL and false_fits <= _FALSE_FITS
