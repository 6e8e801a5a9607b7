"""Per GPU: basis of its numbers, checks, errors and smallest interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from profet_core.accuracy.published import PublishedTable
from profet_core.accuracy.transfer import TransferAccuracy
from profet_core.catalog.gpus import Gpu
from profet_core.latency import combined_sd, quantile
from profet_core.transfer.evidence import Evidence, Source
from profet_core.transfer.model import TransferModel
from profet_core.transfer.speed import evidence_of, known_speed


class Checked(Enum):
    """How a GPU was checked, in few words."""

    LEFT_OUT = "held out"
    AS_ANCHOR = "held out as anchor"
    OTHER_SOURCE = "another source"
    HELD_BACK = "tables held back"
    OTHER_NETWORKS = "its table's other networks"
    OWN_POINT = "own point alone"


@dataclass(frozen=True, slots=True)
class GpuCheck:
    """One check, percent; `bias` None where it was not measured."""

    how: Checked
    mape: float
    bias: float | None


@dataclass(frozen=True, slots=True)
class GpuAccuracy:
    """One GPU; `half_width`: of its 90 % interval at least, upwards, percent. Of a profiled GPU: as if it were not."""

    gpu: Gpu
    evidence: Evidence
    checks: tuple[GpuCheck, ...]
    half_width: float

    @property
    def measured(self) -> bool:
        """Whether held-out cells or any measurement besides its fitted own point checks it."""
        of_cells = self.evidence.source is Source.CELLS
        return of_cells or any(check.how is not Checked.OWN_POINT for check in self.checks)


def accuracy_by_gpu(accuracy: TransferAccuracy, model: TransferModel, *, latency_known: bool) -> list[GpuAccuracy]:
    """Every GPU with specs, best evidence first.

    Parameters
    ----------
    latency_known : the anchor's latency is given.
    """
    found = []
    for gpu in model.gpus.values():
        evidence = evidence_of(model, gpu, True)
        checks = tuple(_checks(accuracy, model, gpu, latency_known))
        found.append(GpuAccuracy(gpu, evidence, checks, _half_width(accuracy, model, gpu, latency_known)))
    order = list(Source)
    return sorted(found, key=lambda row: (order.index(row.evidence.source), row.half_width))


def _checks(accuracy: TransferAccuracy, model: TransferModel, gpu: Gpu, known: bool) -> Iterator[GpuCheck]:
    if (instance := _instance(model, gpu)) is not None:
        if instance in accuracy.by_gpu:
            target = accuracy.by_gpu[instance].point[known]
            yield GpuCheck(Checked.LEFT_OUT, target.mape, target.bias)
        if instance in accuracy.anchors.by_anchor:
            anchor = accuracy.anchors.by_anchor[instance][known]
            yield GpuCheck(Checked.AS_ANCHOR, anchor.mape, anchor.bias)
        return
    if model.sharpened_gpu(gpu, True):
        # The checks below are without its cells.
        return
    if gpu.name in accuracy.derived:
        yield GpuCheck(Checked.OTHER_SOURCE, accuracy.derived[gpu.name].mean.of(known), None)
    tables = [row for row in accuracy.tables if row.gpu == gpu.name]
    held_back = [row for row in tables if row.held_back]
    if tables:
        yield _of_tables(Checked.HELD_BACK if held_back else Checked.OTHER_NETWORKS, held_back or tables)
    elif own := next((row for row in accuracy.self_checks if row.gpu == gpu.name), None):
        slower = 100 * math.expm1(-math.log1p(own.own_point / 100))
        yield GpuCheck(Checked.OWN_POINT, abs(slower), slower)


def _of_tables(how: Checked, tables: Sequence[PublishedTable]) -> GpuCheck:
    """Over all rows of the tables."""
    n = sum(row.n for row in tables)
    log_bias = sum(row.n * math.log1p(row.bias / 100) for row in tables) / n
    return GpuCheck(how, sum(row.n * row.mape for row in tables) / n, 100 * math.expm1(log_bias))


def _half_width(accuracy: TransferAccuracy, model: TransferModel, gpu: Gpu, known: bool) -> float:
    instance = _instance(model, gpu)
    if instance is not None and instance in accuracy.by_gpu:
        return accuracy.by_gpu[instance].point[known].median_interval_pct
    if sharpened := model.sharpened_gpu(gpu, True):
        return 100 * math.expm1(quantile() * sharpened.log_sd)
    if law := model.derived.get(gpu.name):
        return 100 * math.expm1(quantile() * combined_sd(law.log_sd, law.bias_log_sd))
    return 100 * math.expm1(quantile() * known_speed(model, gpu, True).step_log_sd)


def _instance(model: TransferModel, gpu: Gpu) -> str | None:
    return next((name for name, row in model.step.instances.items() if row.gpu == gpu.name), None)
