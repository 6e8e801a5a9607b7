"""The scale-out card: figures of `profet validate --scaleout` as records.

`templates/scaleout_card.md.j2` words them.
"""

from __future__ import annotations

from profet_core.accuracy.scaleout import ScaleoutAccuracy
from profet_core.scaleout.model import ScaleoutModel
from profet_lab.cards.render import render

SCALEOUT_CARD_NAME = "SCALEOUT_CARD.md"


def scaleout_card(accuracy: ScaleoutAccuracy, model: ScaleoutModel) -> str:
    """The card in Markdown."""
    return render("scaleout_card.md.j2", accuracy=accuracy, model=model)
