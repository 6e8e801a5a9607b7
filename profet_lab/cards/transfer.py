"""The card on unprofiled GPUs and memory: figures of `profet validate --transfer`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import Gpu
from profet_core.latency import combined_sd, quantile
from profet_core.memory.model import MemoryModel
from profet_core.prediction.foreign import LAW_SHARE
from profet_core.transfer.carry import MOST_LAUNCHES, MOST_WORK, WEIGHTS
from profet_core.transfer.model import TransferModel
from profet_core.transfer.speed import MIX_SHARE, evidence_of, known_speed
from profet_core.transfer.targets import ASSUMED_LOG_SD, MEASURED_LOG_SD, Evidence, Source
from profet_lab.cards.render import render

#: Percent of measurements that a 90% interval may miss.
_PROMISED_MISSES = 10.0
#: The aim of memory fit: recall of what did not run, and false "fits" among all answers.
_RECALL, _FALSE_FITS = 0.8, 0.02


@dataclass(frozen=True, slots=True)
class GpuCheck:
    """One check with the anchor's latency given, percent; `bias` None where it was not measured."""

    how: str
    mape: float
    bias: float | None


@dataclass(frozen=True, slots=True)
class GpuAccuracy:
    """One GPU; `half_width`: of its 90 % interval at least, upwards, percent. Of a profiled GPU: as if it were not."""

    gpu: Gpu
    evidence: Evidence
    checks: Sequence[GpuCheck]
    half_width: float

    @property
    def measured(self) -> bool:
        """Whether held-out cells or any measurement checks it."""
        return self.evidence.source is Source.CELLS or bool(self.checks)


def transfer_card(report: Mapping[str, Any], transfer: TransferModel, memory: MemoryModel) -> str:
    """The card as Markdown.

    Parameters
    ----------
    report : as `transfer_validation.json` holds it.
    """
    directions, derived = report["left_out_gpus"]["directions"], report["derived"]["gpus"]
    networks = dict.fromkeys(name for found in derived.values() for name in found["law_by_model"])
    gpus = accuracy_by_gpu(report, transfer)
    return render(
        "transfer_card.md.j2",
        report=report,
        transfer=transfer,
        promised_misses=_PROMISED_MISSES,
        beaten=[row for row in directions if row["one_constant"] < row["mape_with_latency"]],
        by_gpu=gpus,
        unchecked=[row.gpu.name for row in gpus if not row.measured and row.gpu.name in _rented(transfer)],
        law_by_network={name: [found["law_by_model"].get(name) for found in derived.values()] for name in networks},
        correction_log_sd=sorted({f"{law.bias_log_sd:.3f}" for law in transfer.derived.values()}),
        weights=WEIGHTS,
        most_launches=MOST_LAUNCHES,
        most_work=MOST_WORK,
        law_share=LAW_SHARE,
        mix_share=MIX_SHARE,
        measured_host_log_sd=MEASURED_LOG_SD,
        assumed_host_log_sd=ASSUMED_LOG_SD,
        sha256={**transfer.fitted_on, **{name: value for name, value in memory.fitted_on.items() if "/" in name}},
        **_memory_figures(report["memory"], memory),
    )


def _rented(transfer: TransferModel) -> set[str]:
    """GPUs that a cloud offers."""
    return {transfer.gpus.find(row.gpu, row.gpu_memory_gib).name for row in load_shipped().values()}


def _memory_figures(report: Mapping[str, Any], memory: MemoryModel) -> dict[str, Any]:
    """Scores by what is known of the network, from most to least, and which of them reach the aim.

    `called_fitting` and `left_open` : share of what did not run that was answered by "fits" and by "can't tell".
    """
    rows = {}
    for name, row in {"layers known": report["arithmetic"], **report["recorded"], **report["served"]}.items():
        called_fitting = row["strict_false_fits"] * row["cells"] / row["did_not_run"]
        left_open = max(1 - row["strict_recall"] - called_fitting, 0.0)
        rows[name] = {**row, "called_fitting": called_fitting, "left_open": left_open}
    return {
        "memory": memory,
        "memory_report": report,
        "memory_rows": rows,
        "reached_chosen": [name for name, row in rows.items() if _reached(row["recall"], row["false_fits"])],
        "reached_answered": [
            name for name, row in rows.items() if _reached(row["strict_recall"], row["strict_false_fits"])
        ],
    }


def _reached(recall: float | None, false_fits: float | None) -> bool:
    return recall is not None and false_fits is not None and recall >= _RECALL and false_fits <= _FALSE_FITS


def accuracy_by_gpu(report: Mapping[str, Any], model: TransferModel) -> list[GpuAccuracy]:
    """Every GPU with specs, best evidence first."""
    found = []
    for gpu in model.gpus.values():
        instance = next((name for name, row in model.step.instances.items() if row.gpu == gpu.name), None)
        checks = tuple(_checks(report, model, gpu, instance))
        found.append(GpuAccuracy(gpu, evidence_of(model, gpu, True), checks, _half_width(report, model, gpu, instance)))
    order = list(Source)
    return sorted(found, key=lambda row: (order.index(row.evidence.source), row.half_width))


def _checks(report: Mapping[str, Any], model: TransferModel, gpu: Gpu, instance: str | None) -> Iterator[GpuCheck]:
    if instance is not None:
        sections = (("held out", "left_out_gpus", "by_gpu"), ("held out as anchor", "left_out_anchors", "by_anchor"))
        for how, section, by in sections:
            if row := report[section][by].get(instance):
                yield GpuCheck(how, row["mape_with_latency"], row["bias_with_latency"])
        return
    if model.calibrated_gpu(gpu, True):
        # The checks below are without its cells.
        return
    if derived := report["derived"]["gpus"].get(gpu.name):
        yield GpuCheck("another source", derived["mean_with_latency"], None)
    tables = [row for row in report["published"]["tables"] if row["gpu"] == gpu.name]
    if tables:
        yield _of_tables("published steps", tables)
    if (point := model.points.get(gpu.name)) and gpu.name not in model.gpus.own:
        slower = 100 * math.expm1(point.published - point.held_out)
        yield GpuCheck("its speed left out", abs(slower), slower)


def _of_tables(how: str, tables: Sequence[Mapping[str, Any]]) -> GpuCheck:
    """Over all rows of the tables."""
    n = sum(row["n"] for row in tables)
    log_bias = sum(row["n"] * math.log1p(row["bias"] / 100) for row in tables) / n
    return GpuCheck(how, sum(row["n"] * row["mape"] for row in tables) / n, 100 * math.expm1(log_bias))


def _half_width(report: Mapping[str, Any], model: TransferModel, gpu: Gpu, instance: str | None) -> float:
    if row := report["left_out_gpus"]["by_gpu"].get(instance):
        return row["median_interval_pct_with_latency"]
    if calibrated := model.calibrated_gpu(gpu, True):
        return 100 * math.expm1(quantile() * calibrated.log_sd)
    if law := model.derived.get(gpu.name):
        return 100 * math.expm1(quantile() * combined_sd(law.log_sd, law.bias_log_sd))
    return 100 * math.expm1(quantile() * known_speed(model, gpu, True).step_log_sd)
