"""Error by number of measured cells, each profiled GPU in turn as the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec.structs import replace

from profet_core.catalog.gpus import FP32, PLAIN
from profet_core.ensemble.work import WorkReader
from profet_core.latency import quantile
from profet_core.layers.by_name import read_step
from profet_core.layers.gpu_effects import MEASURED, effects_by_steps
from profet_core.layers.rates import RateModel, rate_model_of
from profet_core.prediction.counts import MEASURED_LOG_SD, PREDICTED_LOG_SD, Asked, Recorded
from profet_core.prediction.models import Models
from profet_lab.custom_gpus import steps_of
from profet_lab.estimate_fit import estimate_rows, fit, problem
from profet_lab.measurements.tables import Measurements
from profet_lab.tasks import Progress, run_tasks
from profet_lab.transfer import BENCHMARK, InstanceSteps, fit_readers, measured_medians
from profet_lab.validation.held_out_gpus import AS_MEASURED, figures, fitted_rates, members_ms

CELLS = (1, 3, 10, 20, 50)
#: Of a new GPU, beside the one that it is.
_NEW = "New "


def measured_cells_report(
    models: Models, measurements: Measurements, folder: Path, *, seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """Error, misses and width by number of cells and GPU, percent; rates saw no step of it, readers not the network."""
    medians, every = measured_medians(measurements), problem(estimate_rows(measurements.all_latencies, folder))
    fitted, rates = fit(every), rate_model_of(models)
    gpus = {name: models.transfer.profiled[name].gpu for name in medians.instances}
    learned = [every.subset((every.rows["gpu"] != gpu).to_numpy()) for gpu in gpus.values()]
    effects = run_tasks(fit, [(some, fitted) for some in learned], progress=progress, threads=True)
    networks = [str(name) for name in np.unique(medians.architectures)]
    readers = run_tasks(fit_readers, [(medians, medians.architectures != name, name) for name in networks])
    predicted_ms = members_ms(models)
    tasks = [
        (models, fitted_rates(some, values, rates), medians, name, network, reader, predicted_ms, [seed, number])
        for name, some, values in zip(gpus, learned, effects, strict=True)
        for number, (network, reader) in enumerate(zip(networks, readers, strict=True))
    ]
    table = pd.concat(run_tasks(network_errors, tasks, progress=progress, threads=True))
    rows = []
    for count, part in table.groupby("cells"):
        by_gpu = {str(name): figures(own) for name, own in part.groupby("gpu")}
        mean = float(np.mean([row["mape_with_latency"] for row in by_gpu.values()]))
        rows.append({"cells": count, "gpus": by_gpu, "mean": mean})
    workloads = len(medians.workloads)
    return {"seed": seed, "networks": len(networks), "workloads": workloads, "rows": rows}


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
    profiled, allowed = models.transfer.profiled, medians.architectures != network
    places = {name: (models.transfer.gpus[row.gpu], row.host) for name, row in profiled.items()}
    place, others = places[instance], [name for name in places if name != instance]
    gpu = replace(place[0], name=f"{_NEW}{place[0].name}")
    cells = medians.workloads.assign(precision=FP32, batch_latency_ms=medians.latency_ms[instance])
    steps = steps_of(rates, cells, gpu, place[1])
    reads = models.with_transfer(replace(models.transfer, readers=readers))
    rows: list[dict[str, Any]] = []
    for count in CELLS:
        chosen = choose_cells(medians, allowed, count, np.random.default_rng(seed))
        effects = effects_by_steps(rates, gpu, [steps[row] for row in chosen], MEASURED, rates.measured)
        there = reads.with_transfer(reads.transfer)
        there.__dict__["rates"] = rates.with_gpus({gpu.name: effects})
        for row in np.flatnonzero(~allowed).tolist():
            workload = medians.workloads.iloc[row]
            asked = Asked(FP32, PLAIN, int(workload["batch_size"]), int(workload["pixels"]))
            for anchor in others:
                latency_ms = float(medians.latency_ms[anchor][row])
                recorded = Recorded(*places[anchor], asked, latency_ms, MEASURED_LOG_SD)
                size = network, asked.pixels, asked.batch_size
                predicted = [
                    Recorded(*places[name], asked, predicted_ms[anchor, name, *size], PREDICTED_LOG_SD)
                    for name in others
                    if name != anchor
                ]
                counted = read_step(there, anchor, medians.with_latency[anchor].groups_ms[row], recorded, AS_MEASURED)
                answer = counted.on([(gpu, place[1])], asked, [recorded, *predicted])(asked.batch_size, asked.pixels)
                error = float(np.log(answer.latency_ms[0] / medians.latency_ms[instance][row]))
                half = float(quantile() * answer.log_sd[0])
                rows.append({"gpu": instance, "cells": count, "error": error, "half": half})
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
