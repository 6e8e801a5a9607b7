"""The many-core card: checks of `profet validate --manycore`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from profet_core.manycore.checks import CheckRow, mean_apart_percent
from profet_core.manycore.models import XEON_PHI_7120P
from profet_core.manycore.published import PUBLISHED, PUBLISHED_ERROR_PERCENT, PUBLISHED_SPEEDUP
from profet_core.whole_files import write_whole
from profet_lab.cards.render import render

MANYCORE_CARD_NAME = "MANYCORE_CARD.md"


def write_manycore_card(rows: Sequence[CheckRow], speedup: CheckRow, folder: Path) -> None:
    """Write the card beside the models."""
    text = render(
        "manycore_card.md.j2",
        made=datetime.now(UTC).date().isoformat(),
        rows=rows,
        speedup=speedup,
        published_speedup=PUBLISHED_SPEEDUP,
        apart=[
            (name, *(mean_apart_percent(rows, name, extrapolated=each) for each in (False, True))) for name in PUBLISHED
        ],
        large=PUBLISHED["large"],
        published_errors=PUBLISHED_ERROR_PERCENT,
        processor=XEON_PHI_7120P,
    )
    write_whole(folder / MANYCORE_CARD_NAME, text.encode())
