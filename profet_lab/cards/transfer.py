"""The transfer card: figures of `profet validate --transfer` as records.

`templates/transfer_card.md.j2` words them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.memory import MemoryScores
from profet_core.accuracy.transfer import (
    CORRECTED,
    PROMISED_MISSES,
    RAW,
    Direction,
    Route,
    TransferAccuracy,
)
from profet_core.memory.model import MemoryModel
from profet_core.transfer.model import TransferModel
from profet_lab.cards.checks import ChecksSection, checks_section
from profet_lab.cards.derived import DerivedSection, derived_section
from profet_lab.cards.memory import MemorySection, memory_section
from profet_lab.cards.render import render

TRANSFER_CARD_NAME = "TRANSFER_CARD.md"


@dataclass(frozen=True, slots=True)
class WorstErrors:
    """The largest of each column over the directions, percent."""

    point: Errors
    without_resnet50: float
    sheet_only: Errors
    one_constant: float | None


@dataclass(frozen=True, slots=True)
class TransferCard:
    """What the template words.

    Attributes
    ----------
    worst : direction with the largest error. worst_errors : of each column. beaten : directions in which one plain
        constant erred less.
    raw, corrected : routes between T4 and V100.
    memory_scores : of the case with most inputs.
    sha256 : file -> hash of the training data.
    """

    accuracy: TransferAccuracy
    transfer: TransferModel
    promised_misses: float
    worst: Direction
    worst_errors: WorstErrors
    beaten: Sequence[Direction]
    raw: Route
    corrected: Route
    checks: ChecksSection
    memory_scores: MemoryScores
    derived: DerivedSection
    memory: MemorySection
    sha256: Mapping[str, str]


def transfer_card(accuracy: TransferAccuracy, transfer: TransferModel, memory: MemoryModel) -> str:
    """The card as Markdown."""
    card = TransferCard(
        accuracy=accuracy,
        transfer=transfer,
        promised_misses=PROMISED_MISSES,
        worst=accuracy.worst(True),
        worst_errors=_worst_errors(accuracy),
        beaten=accuracy.beaten_by_constant(True),
        raw=accuracy.routes[RAW],
        corrected=accuracy.routes[CORRECTED],
        checks=checks_section(accuracy, transfer),
        memory_scores=next(iter(accuracy.memory.served.values())),
        derived=derived_section(accuracy, transfer),
        memory=memory_section(accuracy.memory, memory),
        sha256={**transfer.fitted_on, **{name: value for name, value in memory.fitted_on.items() if "/" in name}},
    )
    return render("transfer_card.md.j2", card=card)


def _worst_errors(accuracy: TransferAccuracy) -> WorstErrors:
    directions = accuracy.directions
    return WorstErrors(
        point=Errors(*(max(row.point[known].mape for row in directions) for known in (True, False))),
        without_resnet50=max(row.point[True].mape_without_resnet50 for row in directions),
        sheet_only=Errors(*(max(row.sheet_only[known].mape for row in directions) for known in (True, False))),
        one_constant=accuracy.worst_constant().one_constant,
    )
