"""Compare transfer with published tables of training speeds.

A table gives a ratio, one GPU's speed over V100's. Where the GPU has other points, those of the table are held back.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpu, Gpus
from profet_core.latency import HOST_BOUND_SHARE, Estimate
from profet_core.transfer.carry import AnchorSteps
from profet_core.transfer.estimate import estimate_gpus
from profet_core.transfer.model import TransferModel
from profet_core.transfer.targets import UNKNOWN_HOST
from profet_lab.measurements.published_points import published_steps
from profet_lab.transfer.benchmark_points import Published, point_of
from profet_lab.transfer.steps import Steps
from profet_lab.validation.judged import figures, judged, log_errors

#: A prediction this far below a network's fastest step on V100 needs a faster host.
_BELOW = 0.98
#: A larger step that is predicted faster by more than this falls.
_NOTABLE = 0.05


def published_report(
    model: TransferModel, published: Published, medians: Steps, folder: Path, gpus: Gpus
) -> list[dict]:
    """One row a GPU and table: networks, bias and error of the transferred ratio, and misses of the interval, percent.

    Latencies on the profiled GPUs are the measured ones.
    """
    found = []
    for (gpu, table), rows in published_steps(folder).groupby(["gpu", "table"]):
        point = point_of(published.without(str(table)), model, medians, gpus[str(gpu)])
        held_back = point is not None
        if point is not None:
            judged_by = replace(model, points={**model.points, str(gpu): point})
        elif str(gpu) in model.derived:
            judged_by = model
        else:
            # The model was fitted on this table's point, so only its other networks are judged.
            judged_by, rows = model, rows[rows.network != "ResNet50"]
        compared = _compared(judged_by, medians, gpus[str(gpu)], rows)
        if len(compared):
            away = log_errors(compared)
            found.append(
                {
                    "gpu": str(gpu),
                    "table": str(table),
                    "held_back": held_back or str(gpu) in model.derived,
                    "networks": sorted(set(rows.network) & set(medians.architectures)),
                    "n": len(compared),
                    "worst": float(100 * np.expm1(away[np.argmax(np.abs(away))])),
                    **figures(compared),
                }
            )
    return found


def _compared(model: TransferModel, medians: Steps, gpu: Gpu, rows: pd.DataFrame) -> pd.DataFrame:
    """Each row's published and predicted ratio of the step to the reference's, from each anchor."""
    table, reference = medians.workloads, medians.latency_ms[model.reference]
    near, log_ratios = [], []
    for row in rows.to_dict("records"):
        same = np.flatnonzero((table.model == row["network"]) & (table.pixels == row["pixels"]))
        if len(same):
            near.append(same[np.argmin(np.abs(np.log(table.batch_size.to_numpy()[same] / row["batch_size"])))])
            log_ratios.append(row["log_ratio"])
    found = [_estimated(model, medians, gpu, anchor) for anchor in medians.instances]
    return pd.concat(
        [judged(one.latency_ms[near] / reference[near], np.exp(log_ratios), one.log_half_width[near]) for one in found]
    )


def _estimated(model: TransferModel, medians: Steps, gpu: Gpu, anchor: str) -> Estimate:
    others = {name: Estimate.exact(values) for name, values in medians.latency_ms.items() if name != anchor}
    recorded = AnchorSteps(anchor, medians.with_latency[anchor], medians.latency_ms[anchor])
    placed = (gpu, UNKNOWN_HOST)
    return estimate_gpus(model, recorded, others, [placed], tf32=True)[placed]


def self_checks(model: TransferModel, medians: Steps, gpus: Gpus) -> list[dict]:
    """One row a GPU with a published point: what must hold without any truth, percent.

    own_point : the benchmark step's predicted speed over the published one's, less 1, mean of the anchors. point_sd :
    the point's own noise. falls_batch, falls_pixels : larger steps that are predicted faster by more than 5 %.
    below_unsaid : predictions below the network's fastest step on V100 that aren't said to be limited by the host.
    """
    benchmark = int(np.flatnonzero(medians.benchmark)[0])
    reference = medians.latency_ms[model.reference]
    fastest = pd.Series(reference).groupby(medians.architectures).transform("min").to_numpy()
    found = []
    for name, point in model.points.items():
        if name in model.derived or name not in gpus:
            continue
        rows = []
        for anchor in medians.instances:
            estimate = _estimated(model, medians, gpus[name], anchor)
            latency_ms, reach = estimate.latency_ms, estimate.reach
            assert reach is not None
            limited = reach.launch_ms >= HOST_BOUND_SHARE * reach.free_ms
            rows.append(
                {
                    "own_point": reference[benchmark] / latency_ms[benchmark] / math.exp(point.log_throughput) - 1,
                    "falls_batch": _falls(medians, latency_ms, "batch_size", "pixels"),
                    "falls_pixels": _falls(medians, latency_ms, "pixels", "batch_size"),
                    "below_unsaid": float(np.mean((latency_ms < _BELOW * fastest) & ~limited)),
                }
            )
        means = {key: float(100 * np.mean([row[key] for row in rows])) for key in rows[0]}
        found.append({"gpu": name, "point_sd": float(100 * (math.exp(point.log_sd) - 1)), **means})
    return found


def _falls(medians: Steps, latency_ms: np.ndarray, own: str, other: str) -> float:
    table = medians.workloads.assign(log_ms=np.log(latency_ms)).sort_values(own)
    steps = table.groupby(["model", other])["log_ms"].diff().dropna()
    return float((steps < -_NOTABLE).mean())
