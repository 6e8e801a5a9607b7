"""Compare transfer with published tables of training speeds.

A table gives a ratio, one GPU's speed over V100's. Where the GPU has other points, those of the table are held back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpus
from profet_core.latency import Estimate
from profet_core.transfer.carry import AnchorSteps
from profet_core.transfer.estimate import estimate_gpus
from profet_core.transfer.model import TransferModel
from profet_core.transfer.targets import host_named
from profet_lab.measurements.published_points import published_ratios, published_steps
from profet_lab.transfer.benchmark_points import benchmark_points
from profet_lab.transfer.steps import Steps

#: A larger step that is predicted faster by more than this falls.
_NOTABLE = 0.05


def published_report(model: TransferModel, medians: Steps, folder: Path, gpus: Gpus) -> list[dict]:
    """One row a GPU and table: networks, bias and error of the transferred ratio, and misses of the interval, percent.

    Latencies on the profiled GPUs are the measured ones. The GPU's own figure in the table is left out of the fit.
    """
    ratios = published_ratios(folder)
    found = []
    for (gpu, table), rows in published_steps(folder).groupby(["gpu", "table"]):
        own = (ratios.gpu == gpu) & (ratios.table == table)
        judged = _without(model, ratios[~own], gpus) if own.any() else model
        errors = list(_errors(judged, medians, gpus, str(gpu), rows))
        if errors:
            away = np.array([error for error, _ in errors])
            inside = np.array([abs(error) <= half for error, half in errors])
            found.append(
                {
                    "gpu": str(gpu),
                    "table": str(table),
                    "networks": sorted(set(rows.network) & set(medians.architectures)),
                    "n": len(errors),
                    "bias": float(100 * (np.exp(away.mean()) - 1)),
                    "mape": float(100 * np.mean(np.abs(np.exp(away) - 1))),
                    "worst": float(100 * (np.exp(away[np.argmax(np.abs(away))]) - 1)),
                    "missed_90": float(100 * (1 - inside.mean())),
                    "median_interval_pct": float(100 * np.median([math.exp(half) - 1 for _, half in errors])),
                }
            )
    return found


def _without(model: TransferModel, ratios: pd.DataFrame, gpus: Gpus) -> TransferModel:
    """The model with its speeds fitted on these ratios alone."""
    specs, points, fp32_points = benchmark_points(ratios, model.step, model.reference, gpus)
    return replace(model, specs=specs, points=points, fp32_points=fp32_points)


def _errors(
    model: TransferModel, medians: Steps, gpus: Gpus, gpu: str, rows: pd.DataFrame
) -> Iterator[tuple[float, float]]:
    """Log error of each row's ratio from each anchor, and half the interval."""
    table, reference = medians.workloads, medians.latency_ms[model.reference]
    for anchor in medians.instances:
        found = _estimated(model, medians, gpus, gpu, anchor)
        for row in rows.to_dict("records"):
            same = np.flatnonzero((table.model == row["network"]) & (table.pixels == row["pixels"]))
            if len(same):
                near = same[np.argmin(np.abs(np.log(table.batch_size.to_numpy()[same] / row["batch_size"])))]
                ratio = found.latency_ms[near] / reference[near]
                yield math.log(ratio) - row["log_ratio"], float(found.log_half_width[near])


def _estimated(model: TransferModel, medians: Steps, gpus: Gpus, gpu: str, anchor: str) -> Estimate:
    others = {name: Estimate.exact(values) for name, values in medians.latency_ms.items() if name != anchor}
    recorded = AnchorSteps(anchor, medians.with_latency[anchor], medians.latency_ms[anchor])
    placed = (gpus[gpu], host_named("", gpus[gpu].compute_capability))
    return estimate_gpus(model, recorded, others, [placed], tf32=True)[placed]


def self_checks(model: TransferModel, medians: Steps, gpus: Gpus) -> list[dict]:
    """One row a GPU with a published point: what must hold without any truth, percent.

    own_point : the benchmark step's predicted speed over the published one's, less 1, mean of the anchors. point_sd :
    the point's own noise. falls_batch, falls_pixels : larger steps that are predicted faster by more than 5 %.
    """
    benchmark = int(np.flatnonzero(medians.benchmark)[0])
    reference = medians.latency_ms[model.reference]
    found = []
    for name, point in model.points.items():
        if name in model.derived or name not in gpus:
            continue
        rows = []
        for anchor in medians.instances:
            latency_ms = _estimated(model, medians, gpus, name, anchor).latency_ms
            rows.append(
                {
                    "own_point": reference[benchmark] / latency_ms[benchmark] / math.exp(point.published) - 1,
                    "falls_batch": _falls(medians, latency_ms, "batch_size", "pixels"),
                    "falls_pixels": _falls(medians, latency_ms, "pixels", "batch_size"),
                }
            )
        means = {key: float(100 * np.mean([row[key] for row in rows])) for key in rows[0]}
        found.append({"gpu": name, "point_sd": float(100 * (math.exp(point.log_sd) - 1)), **means})
    return found


def _falls(medians: Steps, latency_ms: np.ndarray, own: str, other: str) -> float:
    table = medians.workloads.assign(log_ms=np.log(latency_ms)).sort_values(own)
    steps = table.groupby(["model", other])["log_ms"].diff().dropna()
    return float((steps < -_NOTABLE).mean())
