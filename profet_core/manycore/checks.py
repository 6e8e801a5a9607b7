"""Checks of both models against what was published: predictions, each other, and the measured speed-up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.manycore.answer import manycore
from profet_core.manycore.models import MOST_MEASURED_THREADS, PUBLISHED_THREADS
from profet_core.manycore.published import (
    LARGE,
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    PUBLISHED_SPEEDUP_THREADS,
    PUBLISHED_TRAINING,
)

_S_PER_MIN = 60


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A published network on so many threads.

    Attributes
    ----------
    a_min, b_min : the training by models (a) and (b), minutes. speedup_a, speedup_b : over one thread.
    published_min : the published prediction of model (a), where there is one.
    """

    network: str
    threads: int
    a_min: float
    b_min: float
    speedup_a: float
    speedup_b: float
    published_min: float | None

    @property
    def apart_percent(self) -> float:
        """By how much (a) is longer than (b)."""
        return 100 * (self.a_min / self.b_min - 1)

    @property
    def same_digits(self) -> bool:
        """Whether model (a) gives the published prediction as it was printed."""
        return self.published_min is not None and f"{self.a_min:.1f}" == f"{self.published_min:.1f}"


def check_rows() -> list[CheckRow]:
    """Every published network at every published number of threads."""
    return [row for name in PUBLISHED for row in _rows(name, PUBLISHED_THREADS)]


def speedup_row() -> CheckRow:
    """The large network at the threads whose speed-up was measured and published."""
    return _rows(LARGE.name, [PUBLISHED_SPEEDUP_THREADS])[0]


def mean_apart_percent(rows: Iterable[CheckRow], network: str, *, extrapolated: bool) -> float:
    """Mean distance of (a) from (b) where contention was measured, or above."""
    of_network = [row for row in rows if row.network == network]
    found = [abs(row.apart_percent) for row in of_network if (row.threads > MOST_MEASURED_THREADS) is extrapolated]
    return sum(found) / len(found)


def _rows(name: str, threads: Iterable[int]) -> list[CheckRow]:
    answer = manycore(PUBLISHED[name], PUBLISHED_TRAINING[name], threads)
    published_min = PUBLISHED_PREDICTIONS_MIN[name]
    return [
        CheckRow(
            network=name,
            threads=row.threads,
            a_min=row.a.total_s / _S_PER_MIN,
            b_min=row.b.total_s / _S_PER_MIN,
            speedup_a=row.speedup_a,
            speedup_b=row.speedup_b,
            published_min=published_min.get(row.threads),
        )
        for row in answer.rows
    ]
