"""Error by number of measured cells, each profiled GPU in turn as the new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.transfer.step_model import StepModel
from profet_core.transfer.steps import KnownSteps, UnprofiledSteps, map_to_profiled
from profet_core.transfer.targets import Target
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
from profet_lab.transfer.step_model import Steps, all_steps, fit_step_model, median_steps
from profet_lab.validation.held_out_gpus import ensemble_latencies, figures, judged, judged_estimate, mape

CELLS = (1, 3, 10, 20, 50)
DRAWS = 5


@dataclass(frozen=True)
class Fold:
    """Known data with one new GPU and one held-out network."""

    medians: Steps
    gpu: str
    network: str
    step_model: StepModel
    prior: Target
    known: Mapping[str, KnownSteps]
    unseen: Mapping[str, KnownSteps]

    @property
    def allowed(self) -> np.ndarray:
        """Workloads that cells are chosen among, (workloads,)."""
        return self.medians.architectures != self.network

    def judge(self, draw: int, count: int, random: np.random.Generator) -> pd.DataFrame:
        """Measure `count` cells, fit, and predict the held-out network.

        Returns:
        As `judged`, with `draw`, `cells`, and `to_new`: to the new GPU, or from it by the analytical model alone.
        """
        medians, reference = self.medians, reference_of(self.step_model)
        pool, own = np.flatnonzero(self.allowed), np.flatnonzero(~self.allowed)
        chosen = choose_cells(medians, self.allowed, count, random)
        cells = MeasuredCells(
            np.searchsorted(pool, chosen), medians.latency_ms[self.gpu][chosen], medians.architectures[chosen]
        )
        found = calibrate({name: steps_of(one, pool) for name, one in self.known.items()}, reference, self.prior, cells)
        new_ms = medians.latency_ms[self.gpu][own]
        names = {"draw": draw, "cells": count}
        served = [found.served(steps_of(one, own), reference) for one in self.unseen.values()]
        steps = UnprofiledSteps(found.target, medians.with_latency[self.gpu].of(own), new_ms)
        back = map_to_profiled(self.step_model, reference, steps).by_instance
        return pd.concat(
            [
                *(judged_estimate(one, new_ms, to_new=True, **names) for one in served),
                *(
                    judged(one.latency_ms, medians.latency_ms[name][own], to_new=False, **names)
                    for name, one in back.items()
                ),
            ]
        )


def folds(
    medians: Steps, predicted: Callable[[str], KnownLatencies], gpu: str, networks: Sequence[str]
) -> dict[str, Fold]:
    """By network held out, `gpu` being the instance that is new.

    predicted : network -> latencies on the other instances by models that never saw it.
    """
    others = [name for name in medians.instances if name != gpu]
    found = {}
    for network in networks:
        step_model = fit_step_model(medians, others, medians.architectures != network)
        sheet = profiled_target(medians, gpu, sheet_only=True)
        prior = target_of(step_model, medians, sheet, 0.0)
        found[network] = Fold(
            medians=medians,
            gpu=gpu,
            network=network,
            step_model=step_model,
            prior=prior,
            known={name: known_of(step_model, medians, name, measured_latencies(medians), True) for name in others},
            unseen={name: known_of(step_model, medians, name, predicted(network), True) for name in others},
        )
    return found


def measured_cells_report(
    measurements: Measurements, folder: Path, *, seed: int, progress: Progress | None = None
) -> dict:
    """`cells_report` of the measurements, by models trained here that saw neither GPU nor network."""
    bank = class_bank(measurements)
    steps = all_steps(bank, measurements.workloads)
    medians = median_steps(steps)
    ensemble = ensemble_latencies(bank, seed=seed, steps=STEPS, progress=progress, cases=(True,)).medians(steps)
    return cells_report(medians, ensemble.known, seed=seed, progress=progress)


def cells_report(
    medians: Steps,
    predicted: Callable[[str], KnownLatencies],
    *,
    seed: int,
    counts: Sequence[int] = CELLS,
    draws: int = DRAWS,
    progress: Progress | None = None,
) -> dict:
    """Error, misses and width by number of cells and GPU; percent.

    predicted : as `folds` takes it.
    """
    networks = [str(name) for name in np.unique(medians.architectures)]
    draws_by_count = [(count, draw) for count in counts for draw in range(draws)]
    of_gpus: dict[str, dict[int, dict[str, float]]] = {}
    for gpu in medians.instances:
        of_gpu = folds(medians, predicted, gpu, networks)
        # Each fold's own generator: what is drawn in one depends on no other.
        tasks = [
            (fold, [(draw, count, [seed + draw, at]) for count, draw in draws_by_count])
            for at, fold in enumerate(of_gpu.values())
        ]
        found = pd.concat(run_tasks(_judged, tasks, progress=progress))
        of_gpus[gpu] = {int(str(count)): _figures(rows) for count, rows in found.groupby("cells")}
    by_count = {count: {gpu: of_gpus[gpu][count] for gpu in of_gpus} for count in counts}
    rows = [
        {"cells": count, "gpus": row, "mean": float(np.mean([one["mape"] for one in row.values()]))}
        for count, row in by_count.items()
    ]
    return {"seed": seed, "draws": draws, "networks": len(networks), "workloads": len(medians.workloads), "rows": rows}


def _judged(fold: Fold, draws_by_count: Sequence[tuple[int, int, Sequence[int]]]) -> pd.DataFrame:
    """By draw, number of cells and seed of the draw."""
    return pd.concat([fold.judge(draw, count, np.random.default_rng(seed)) for draw, count, seed in draws_by_count])


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
