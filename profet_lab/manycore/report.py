"""Report of the many-core models against published times and this machine's cores."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from profet_core.accuracy.manycore import ManycoreAccuracy, ModelsRow, OwnCores, PublishedPrediction, PublishedSpeedup
from profet_core.manycore.answer import ThreadsRow, manycore
from profet_core.manycore.contention import PUBLISHED_THREADS
from profet_core.manycore.published import (
    LARGE,
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    PUBLISHED_SPEEDUP,
    PUBLISHED_SPEEDUP_THREADS,
    PUBLISHED_TRAINING,
)
from profet_core.whole_files import write_whole
from profet_lab.cards.manycore import MANYCORE_CARD_NAME, manycore_card
from profet_lab.coefficient_files import signed, write_signed

MANYCORE_REPORT_NAME = "manycore_validation.json"
_S_PER_MIN = 60


def manycore_report(own: OwnCores) -> ManycoreAccuracy:
    """All figures of the published networks, beside those of this machine; made today."""
    by_threads = {name: _rows(name, PUBLISHED_THREADS) for name in PUBLISHED}
    (speedup,) = _rows(LARGE.name, [PUBLISHED_SPEEDUP_THREADS]).values()
    return ManycoreAccuracy(
        made=datetime.now(UTC).date().isoformat(),
        predictions=tuple(
            PublishedPrediction(*_figures(name, by_threads[name][threads]), published_min=minutes)
            for name, predictions in PUBLISHED_PREDICTIONS_MIN.items()
            for threads, minutes in predictions.items()
        ),
        models=tuple(ModelsRow(*_figures(name, row)) for name, rows in by_threads.items() for row in rows.values()),
        speedup=PublishedSpeedup(*_figures(LARGE.name, speedup), published=PUBLISHED_SPEEDUP),
        own_cores=own,
    )


def write_manycore_report(report: ManycoreAccuracy, folder: Path) -> None:
    """Write report and card beside the models."""
    # Through JSON, so that the checksum matches when read again.
    write_signed(signed(json.loads(json.dumps(asdict(report)))), folder / MANYCORE_REPORT_NAME)
    write_whole(folder / MANYCORE_CARD_NAME, manycore_card(report).encode())


def _rows(name: str, threads: tuple[int, ...] | list[int]) -> dict[int, ThreadsRow]:
    answer = manycore(PUBLISHED[name], PUBLISHED_TRAINING[name], threads)
    return {row.threads: row for row in answer.rows}


def _figures(name: str, row: ThreadsRow) -> tuple[str, int, float, float, float, float]:
    """As `ModelsRow` has them."""
    minutes = (row.a.total_s / _S_PER_MIN, row.b.total_s / _S_PER_MIN)
    return (name, row.threads, *minutes, row.speedup_a, row.speedup_b)
