"""Savings by following the advice, on steps that no model had seen: `python -m profet_lab.savings [DATA]`.

Each group is one training on several GPUs, whose steps one source measured. A rule picks the GPU to rent; its cost is
the measured step at that GPU's price, beside the cost of the GPU that PROFET's prediction picks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from profet_core.catalog import Catalog, Gpu, load_gpus, load_shipped
from profet_core.catalog.instance import AVAILABLE, ON_DEMAND
from profet_core.files import models_folder, strict_json
from profet_core.latency import smooth_max
from profet_core.layers.rates import Mode
from profet_lab.estimate_fit import SCRIPT, estimate_rows, fit, problem
from profet_lab.measured_pairs import held_out_steps
from profet_lab.measurements.tables import WORKLOAD, data_folder, load_measurements
from profet_lab.reports import VALIDATION_NAME, table

#: Columns of a step: its group, GPU, whether it is in half precision, and both times.
COLUMNS = ("group", "gpu", "is_half", "predicted_ms", "measured_ms")
_MIN_GPUS = 2


def cheapest_usd_per_hour(catalog: Catalog) -> dict[str, float]:
    """GPU -> the lowest on-demand price of a machine that has it and can be rented."""
    cheapest: dict[str, float] = {}
    for offer in catalog.all_offers:
        if offer.status == AVAILABLE and offer.market == ON_DEMAND:
            cheapest[offer.gpu] = min(offer.usd_per_hour, cheapest.get(offer.gpu, np.inf))
    return cheapest


def _tflops(gpu: Gpu, *, is_half: bool) -> float:
    return (gpu.fp16_tensor_dense_tflops if is_half else gpu.tf32_tensor_dense_tflops) or gpu.fp32_tflops


def savings(steps: pd.DataFrame, usd_per_hour: Mapping[str, float], power: int = 1) -> list[dict[str, Any]]:
    """For each rule: its cost relative to that of the GPU the prediction picks.

    Parameters
    ----------
    steps : with `COLUMNS`; GPUs without a price don't count, nor do groups of one GPU.
    power : of the time; 2 for time x cost.

    Returns
    -------
    rules : with rule, groups, more_percent (geometric mean of the cost over ours) and dearer_percent (how often it
        costs more than ours by over 1%).
    """
    rented = steps[steps["gpu"].isin(usd_per_hour)]
    rented = rented.groupby(["group", "gpu", "is_half"], as_index=False)[["predicted_ms", "measured_ms"]].median()
    rented = rented[rented.groupby("group")["gpu"].transform("nunique") >= _MIN_GPUS]
    gpus = [load_gpus()[name] for name in rented["gpu"]]
    price = rented["gpu"].map(usd_per_hour).to_numpy()
    tflops = np.array([_tflops(gpu, is_half=half) for gpu, half in zip(gpus, rented["is_half"], strict=True)])
    newest = np.array([gpu.compute_capability or 0 for gpu in gpus]) + tflops / 1e6
    scores = {
        "PROFET": -price * rented["predicted_ms"].to_numpy() ** power,
        "the newest GPU": newest,
        "the lowest price per hour": -price,
        "the most TFLOPS per dollar": tflops / price,
        "the best in hindsight": -price * rented["measured_ms"].to_numpy() ** power,
    }
    costs = rented.assign(cost=price * rented["measured_ms"].to_numpy() ** power)
    picked = {rule: _picked(costs, score) for rule, score in scores.items()}
    ours = picked.pop("PROFET")
    return [
        {
            "rule": rule,
            "groups": len(ours),
            "more_percent": float(100 * np.expm1(np.log(cost / ours).mean())),
            "dearer_percent": float(100 * (cost / ours > 1.01).mean()),
        }
        for rule, cost in picked.items()
    ]


def _picked(costs: pd.DataFrame, score: np.ndarray) -> np.ndarray:
    """Each group's cost on the GPU with the highest score."""
    best: np.ndarray = costs.assign(score=score).sort_values("score").groupby("group")["cost"].last().to_numpy()
    return best


def published_steps(rows: pd.DataFrame, progress: Callable[[int], object] | None = None) -> pd.DataFrame:
    """Return published steps without a profile, their source and their network's family held out; with their source."""
    fit_problem = problem(rows)
    held, (work_ms, launch_ms, start_ms) = held_out_steps(fit_problem, fit(fit_problem), progress)
    groups = held.groupby(["source", "network", "pixels", "mode", "batch_size"]).ngroup()
    half = held["mode"].map(lambda mode: Mode(mode) not in (Mode.FP32, Mode.TF32))
    values = (groups, held["gpu"], half, smooth_max(work_ms, launch_ms) + start_ms, held["latency_ms"])
    return pd.DataFrame(dict(zip(COLUMNS, map(np.asarray, values), strict=True))).assign(
        source=held["source"].to_numpy()
    )


def measured_cells(points: Sequence[Mapping[str, Any]], gpus: Mapping[str, str]) -> pd.DataFrame:
    """Return steps that were measured on instances and predicted from another one's profile, the network held out.

    Parameters
    ----------
    points : as `class_folds.scatter` returns them; a group is a workload and an anchor, whose own step is known.
    gpus : instance -> GPU.
    """
    rows = pd.DataFrame(points)
    own = rows[["target", *WORKLOAD, "measured_ms"]].drop_duplicates(["target", *WORKLOAD])
    own = own.assign(anchor=own["target"], predicted_ms=own["measured_ms"])
    every = pd.concat([rows, own], ignore_index=True)
    groups = every.groupby(["anchor", *WORKLOAD]).ngroup()
    return every.assign(group=groups, gpu=every["target"].map(gpus), is_half=False)[list(COLUMNS)]


def main() -> None:
    """Print the table."""
    folder = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    rows = estimate_rows(load_measurements(folder).all_latencies, folder)
    steps, catalog = published_steps(rows), load_shipped()
    prices, of_script = cheapest_usd_per_hour(catalog), steps["source"].str.endswith(SCRIPT)
    report: Any = strict_json(models_folder(None) / VALIDATION_NAME)
    points = report["scatter"]
    instances = {name: catalog[name] for name in sorted({point["target"] for point in points})}
    cells = measured_cells(points, {name: offer.gpu for name, offer in instances.items()})
    of_cells = {offer.gpu: offer.usd_per_hour for offer in instances.values()}
    parts = {
        "published steps": savings(steps[~of_script], prices),
        "published steps, one script at batch 12": savings(steps[of_script], prices),
        "PROFET's cells": savings(cells, of_cells),
        "PROFET's cells, time x cost": savings(cells, of_cells, power=2),
    }
    lines = [{"part": part, **row} for part, rules in parts.items() for row in rules]
    line = "{part} | {rule} | {groups} | {more_percent:.0f}% | {dearer_percent:.0f}%"
    print(table("measured | rule | trainings | costs more than PROFET's pick by | in", line, lines))


if __name__ == "__main__":
    main()
