"""The cells card: figures of `profet validate --cells`.

`templates/cells_card.md.j2` words them.
"""

from __future__ import annotations

from collections.abc import Mapping

from profet_lab.cards.render import render

CELLS_REPORT_NAME = "cells_validation.json"
CELLS_CARD_NAME = "CELLS_CARD.md"


def cells_card(report: Mapping) -> str:
    """The card in Markdown."""
    text = render("cells_card.md.j2", report=report, gpus=list(report["rows"][0]["gpus"]))
    return "\n".join(line.rstrip() for line in text.split("\n"))
