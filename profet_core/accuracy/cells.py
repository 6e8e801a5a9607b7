"""The measured accuracy on a GPU of which a few workloads were measured, the figures of `cells_validation.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CellsErrors:
    """Errors of networks held out, the anchor's latency given, so many cells of the GPU known; percent.

    Attributes
    ----------
    mape : mean absolute error, the mean of the draws. worst_draw : of the draw with the largest.
    missed_90 : of measured latencies, outside their 90% interval. median_interval_pct : of the interval's upper half.
    as_anchor_mape : with the GPU as anchor, to the others.
    """

    mape: float
    worst_draw: float
    missed_90: float
    median_interval_pct: float
    as_anchor_mape: float


@dataclass(frozen=True)
class CellsRow:
    """What so many measured cells give.

    Attributes
    ----------
    gpus : profiled instance that played the new one -> its errors. mean : of their mean errors, percent.
    """

    cells: int
    gpus: Mapping[str, CellsErrors]
    mean: float


@dataclass(frozen=True)
class CellsAccuracy:
    """All of it.

    Attributes
    ----------
    made : date. draws : choices of cells, by chance. networks : held out in turn. workloads : judged on each GPU.
    rows : by number of cells, the fewest first; each has the same GPUs.
    """

    made: str
    draws: int
    networks: int
    workloads: int
    rows: tuple[CellsRow, ...]

    @property
    def instances(self) -> tuple[str, ...]:
        """Those that played the new one."""
        return tuple(self.rows[0].gpus)

    def of(self, cells: int) -> CellsRow | None:
        """The row of the most cells up to `cells`; None: fewer than validated."""
        known = [row for row in self.rows if row.cells <= cells]
        return known[-1] if known else None
