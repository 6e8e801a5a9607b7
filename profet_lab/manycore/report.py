"""The many-core models beside what was published, and on this machine's own cores, as one report."""

from __future__ import annotations

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

_S_PER_MIN = 60


def manycore_report(own: OwnCores, made: str) -> ManycoreAccuracy:
    """All figures of the published networks, beside those of this machine."""
    by_threads = {name: _rows(name, PUBLISHED_THREADS) for name in PUBLISHED}
    (speedup,) = _rows(LARGE.name, [PUBLISHED_SPEEDUP_THREADS]).values()
    return ManycoreAccuracy(
        made=made,
        predictions=tuple(
            PublishedPrediction(*_figures(name, by_threads[name][threads]), published_min=minutes)
            for name, predictions in PUBLISHED_PREDICTIONS_MIN.items()
            for threads, minutes in predictions.items()
        ),
        models=tuple(ModelsRow(*_figures(name, row)) for name, rows in by_threads.items() for row in rows.values()),
        speedup=PublishedSpeedup(*_figures(LARGE.name, speedup), published=PUBLISHED_SPEEDUP),
        own_cores=own,
    )


def _rows(name: str, threads: tuple[int, ...] | list[int]) -> dict[int, ThreadsRow]:
    answer = manycore(PUBLISHED[name], PUBLISHED_TRAINING[name], threads)
    return {row.threads: row for row in answer.rows}


def _figures(name: str, row: ThreadsRow) -> tuple[str, int, float, float, float, float]:
    """As `ModelsRow` has them."""
    minutes = (row.a.total_s / _S_PER_MIN, row.b.total_s / _S_PER_MIN)
    return (name, row.threads, *minutes, row.speedup_a, row.speedup_b)
