"""The many-core card: figures of `profet validate --manycore`."""

from __future__ import annotations

from profet_core.accuracy.manycore import ManycoreAccuracy
from profet_core.manycore.machine import XEON_PHI_7120P
from profet_core.manycore.published import PUBLISHED, PUBLISHED_ERROR_PERCENT
from profet_lab.cards.render import render

MANYCORE_CARD_NAME = "MANYCORE_CARD.md"


def manycore_card(report: ManycoreAccuracy) -> str:
    """The card's text."""
    return render(
        "manycore_card.md.j2",
        report=report,
        networks=PUBLISHED,
        published_errors=PUBLISHED_ERROR_PERCENT,
        processor=XEON_PHI_7120P,
    )
