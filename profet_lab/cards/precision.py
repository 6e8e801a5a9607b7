"""The precision card: figures of `profet validate --precision`. `templates/precision_card.md.j2` words them."""

from __future__ import annotations

from collections.abc import Mapping

from profet_core.precision.model import PrecisionModel
from profet_lab.cards.render import render
from profet_lab.precision.precision_file import TODAY

PRECISION_REPORT_NAME, PRECISION_CARD_NAME = "precision_validation.json", "PRECISION_CARD.md"


def precision_card(report: Mapping, model: PrecisionModel) -> str:
    """The card in Markdown."""
    return render("precision_card.md.j2", report=report, model=model, today=TODAY)
