"""Error by number of measured cells, each profiled GPU in turn as the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec.structs import replace

from profet_core.ensemble.work import WorkReader
from profet_core.layers.rates import RateModel
from profet_core.prediction.models import Models
from profet_lab.estimate_fit import estimate_rows
from profet_lab.measurements.tables import Measurements
from profet_lab.tasks import Progress, run_tasks
from profet_lab.transfer import BENCHMARK, InstanceSteps, measured_medians
from profet_lab.validation.held_out_gpus import (
    Judge,
    figures,
    members_ms,
    places_of,
    rates_without_gpus,
    readers_without_networks,
    with_new_gpu,
)

CELLS = (1, 3, 10, 20, 50)


def measured_cells_report(
    models: Models, measurements: Measurements, folder: Path, *, seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """Error, misses and width by number of cells and GPU, percent; rates saw no step of it, readers not the network."""
    medians, rows = measured_medians(measurements), estimate_rows(measurements.all_latencies, folder)
    rates = rates_without_gpus(models, rows, medians.instances, progress)
    readers, predicted_ms = readers_without_networks(medians), members_ms(models)
    tasks = [
        (models, rates[name], medians, name, network, network_readers, predicted_ms, [seed, number])
        for name in medians.instances
        for number, (network, network_readers) in enumerate(readers.items())
    ]
    table = pd.concat(run_tasks(network_errors, tasks, progress=progress, threads=True))
    by_count = []
    for count, part in table.groupby("cells"):
        by_gpu = {str(name): figures(errors) for name, errors in part.groupby("target")}
        mean = float(np.mean([row["mape_with_latency"] for row in by_gpu.values()]))
        by_count.append({"cells": count, "gpus": by_gpu, "mean": mean})
    return {"seed": seed, "networks": len(readers), "workloads": len(medians.workloads), "rows": by_count}


def network_errors(
    models: Models,
    rates: RateModel,
    medians: InstanceSteps,
    instance: str,
    network: str,
    readers: Mapping[str, WorkReader],
    predicted_ms: Mapping[tuple[Any, ...], float],
    seed: Sequence[int],
) -> pd.DataFrame:
    """Measure cells of other networks on an instance whose GPU is taken as new, and predict one network there.

    Parameters
    ----------
    rates : that saw no step of the GPU; `readers` : that saw none of the network.
    predicted_ms : as `held_out_gpus.members_ms` reads them.
    seed : of the choice of cells.
    """
    allowed = medians.architectures != network
    reads = models.with_transfer(replace(models.transfer, readers=readers))
    rows: list[dict[str, Any]] = []
    for count in CELLS:
        chosen = choose_cells(medians, allowed, count, np.random.default_rng(seed))
        with_new, place = with_new_gpu(reads, rates, medians, instance, chosen)
        judge = Judge(with_new, medians, {**places_of(models), instance: place}, predicted_ms)
        for row in np.flatnonzero(~allowed).tolist():
            anchors = [name for name in medians.instances if name != instance]
            rows += [error | {"cells": count} for anchor in anchors for error in judge.errors(row, anchor, [instance])]
    return pd.DataFrame(rows)


def choose_cells(medians: InstanceSteps, allowed: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """Choose the benchmark if it is allowed, then one size of each network in turn; networks and sizes by chance.

    Parameters
    ----------
    allowed : boolean mask of the workloads to choose among.
    count : at most this many.

    Returns
    -------
    rows : (count,), each once, in the order of choice.
    """
    if allowed.sum() < count:
        raise ValueError(f"{count} cells of {allowed.sum()}")
    left = {
        str(name): list(random.permutation(np.flatnonzero(allowed & (medians.architectures == name))))
        for name in np.unique(medians.architectures[allowed])
    }
    chosen = list(np.flatnonzero(medians.benchmark & allowed))
    for row in chosen:
        left[BENCHMARK[0]].remove(row)
    # The benchmark was its network's turn.
    turn = [name for name in left if not chosen or name != BENCHMARK[0]]
    while len(chosen) < count:
        for name in random.permutation(turn):
            if left[name]:
                chosen.append(left[name].pop())
        turn = list(left)
    return np.array(chosen[:count])
