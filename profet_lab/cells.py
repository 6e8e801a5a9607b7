"""Error by number of measured cells, each profiled GPU in turn as the new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from profet_core.transfer.steps import UnprofiledSteps, map_to_profiled
from profet_lab.class_members import STEPS
from profet_lab.measurements.tables import Measurements, class_bank
from profet_lab.tasks import Progress, run_tasks
from profet_lab.transfer.calibrate import MeasuredCells, calibrate, choose_cells, steps_of
from profet_lab.transfer.leave_one_gpu_out import (
    KnownLatencies,
    known_of,
    measured_latencies,
    profiled_target,
    reference_of,
    target_of,
)
from profet_lab.transfer.step_model import InstanceSteps, all_steps, fit_step_model, median_steps
from profet_lab.validation.held_out_gpus import ensemble_latencies, figures, judged, judged_estimate, mape

CELLS = (1, 3, 10, 20, 50)
DRAWS = 5


#: Number of cells, number of the draw, and the seed that it is drawn with.
Draw = tuple[int, int, Sequence[int]]


def measured_cells_report(measurements: Measurements, *, seed: int, progress: Progress | None = None) -> dict:
    """`cells_report` of the measurements, by models trained here that saw neither GPU nor network."""
    bank = class_bank(measurements)
    steps = all_steps(bank, measurements.workloads)
    medians = median_steps(steps)
    ensemble = ensemble_latencies(bank, seed=seed, steps=STEPS, progress=progress, cases=(True,)).medians(steps)
    return cells_report(medians, ensemble.known, seed=seed, progress=progress)


def cells_report(
    medians: InstanceSteps,
    predicted: Callable[[str], KnownLatencies],
    *,
    seed: int,
    counts: Sequence[int] = CELLS,
    draws: int = DRAWS,
    progress: Progress | None = None,
) -> dict:
    """Error, misses and width by number of cells and GPU; percent.

    Parameters
    ----------
    predicted : network -> latencies on the other instances by models that never saw it.
    """
    networks = [str(name) for name in np.unique(medians.architectures)]
    figures_of: dict[str, dict[int, dict[str, float]]] = {}
    for gpu in medians.instances:
        # Each network's own generator: what is drawn for one depends on no other.
        tasks = [
            (
                *(medians, gpu, network, predicted(network)),
                [(count, draw, [seed + draw, at]) for count in counts for draw in range(draws)],
            )
            for at, network in enumerate(networks)
        ]
        judgements = pd.concat(run_tasks(judged_network, tasks, progress=progress))
        figures_of[gpu] = {int(str(count)): _figures(rows) for count, rows in judgements.groupby("cells")}
    by_count = {count: {gpu: figures_of[gpu][count] for gpu in figures_of} for count in counts}
    rows = [
        {"cells": count, "gpus": row, "mean": float(np.mean([figures["mape"] for figures in row.values()]))}
        for count, row in by_count.items()
    ]
    return {"seed": seed, "draws": draws, "networks": len(networks), "workloads": len(medians.workloads), "rows": rows}


def judged_network(
    medians: InstanceSteps, gpu: str, network: str, predicted: KnownLatencies, draws: Sequence[Draw]
) -> pd.DataFrame:
    """Hold out a network and an instance, measure cells there, fit, and predict the network.

    Returns
    -------
    rows : as `judged`, with `draw`, `cells`, and `to_new`: to the new GPU, or from it by the analytical model alone.
    """
    allowed = medians.architectures != network
    others = [name for name in medians.instances if name != gpu]
    step_model = fit_step_model(medians, others, allowed)
    reference = reference_of(step_model)
    prior = target_of(step_model, medians, profiled_target(medians, gpu, sheet_only=True), 0.0)
    pool, own = np.flatnonzero(allowed), np.flatnonzero(~allowed)
    learned, unseen = (
        [steps_of(known_of(step_model, medians, name, latencies, True), rows) for name in others]
        for latencies, rows in ((measured_latencies(medians), pool), (predicted, own))
    )
    new_ms = medians.latency_ms[gpu]
    errors = []
    for count, draw, seed in draws:
        chosen = choose_cells(medians, allowed, count, np.random.default_rng(seed))
        cells = MeasuredCells(np.searchsorted(pool, chosen), new_ms[chosen], medians.architectures[chosen])
        fitted = calibrate(dict(zip(others, learned, strict=True)), reference, prior, cells)
        steps = UnprofiledSteps(fitted.target, medians.with_latency[gpu].of(own), new_ms[own])
        back = map_to_profiled(step_model, reference, steps).by_instance
        names = {"draw": draw, "cells": count}
        served = [fitted.served(answer, reference) for answer in unseen]
        errors += [judged_estimate(answer, new_ms[own], to_new=True, **names) for answer in served]
        errors += [
            judged(answer.latency_ms, medians.latency_ms[name][own], to_new=False, **names)
            for name, answer in back.items()
        ]
    return pd.concat(errors)


def _figures(rows: pd.DataFrame) -> dict[str, float]:
    to_new, from_new = (rows[rows["to_new"] == is_new] for is_new in (True, False))
    drawn, anchor = ([mape(part) for _, part in of.groupby("draw")] for of in (to_new, from_new))
    return {
        **figures(to_new),
        "mape": float(np.mean(drawn)),
        "worst_draw": max(drawn),
        "median_interval_pct": float(100 * np.expm1(to_new["log_half_width"].median())),
        "as_anchor_mape": float(np.mean(anchor)),
        "as_anchor_worst_draw": max(anchor),
    }
