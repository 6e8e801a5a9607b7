"""Report a dataset's content, its missing pairs and its suspicious values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpus
from profet_core.units import US_PER_MS
from profet_lab.dataset import FAILED, KEY, OK, OUT_OF_MEMORY, Dataset, cell_words

#: Device rows over latency, of one step; PROFET's halved profiles have 1.06 at the median. A median above this covers
#: more steps, one below misses device time.
MAX_RATIO, MIN_RATIO = 1.6, 0.5
#: Beyond this factor no number of steps explains a ratio: units differ.
UNITS_FACTOR = 30.0
#: Mean deviation of repeats, percent; PROFET's noisiest instance has 2.5.
MAX_NOISE_PERCENT = 5.0
#: One run of several that is off its workload's median by more than this factor.
OUTLIER_FACTOR = 1.5
_WORKLOAD = ["framework", "precision", "model", "pixels", "batch_size"]

Rows = list[dict[str, Any]]


def check_dataset(dataset: Dataset, gpus: Gpus) -> dict[str, Rows]:
    """Look a dataset through; nothing in it is changed.

    gpus : those with specs.

    Returns:
    `instances` : cells by what became of them, most `repeats` of a workload, `step_ratio` (device rows, idle included,
        over latency: the median) and `noise_percent` (mean absolute deviation of a run from its workload's median),
        None where nothing tells.
    `pairs` : workloads profiled on both (`common`), and on the anchor alone: `out_of_memory` or `missing`.
    `findings` : suspicious values: `kind`, `instance`, number of `cells` and one `line` of text.
    """
    cells = dataset.profiled.assign(device_us=dataset.device_total_us().to_numpy())
    cells = cells.assign(ratio=cells["device_us"] / US_PER_MS / cells["batch_latency_ms"])
    ratios = cells[(cells["ratio"] > 0) & (cells["ratio"] < np.inf)]
    ran = dataset.cells[dataset.cells["status"] == OK]
    deviations = _deviations(ran)
    return {
        "instances": [_instance(dataset, name, gpus, ratios, deviations) for name in sorted(dataset.instances)],
        "pairs": list(_pairs(dataset)),
        "findings": [
            {"kind": kind, "instance": instance, "cells": cells, "line": line}
            for kind, instance, cells, line in _findings(dataset, gpus, ratios, ran, deviations)
        ],
    }


def _instance(
    dataset: Dataset, name: str, gpus: Gpus, ratios: pd.DataFrame, deviations: pd.DataFrame
) -> dict[str, Any]:
    cells, gpu = dataset.cells[dataset.cells["instance"] == name], dataset.instances[name].gpu
    runs = cells.groupby(_WORKLOAD).size()
    ratio, off = (table.loc[table["instance"] == name] for table in (ratios, deviations))
    each = {
        column: sorted(cells[column].unique().tolist()) for column in ("model", "pixels", "batch_size", "precision")
    }
    return {
        "instance": name,
        "gpu": gpu,
        "gpu_known": gpu in gpus,
        **{
            key: int((cells["status"] == status).sum())
            for key, status in (("ok", OK), ("out_of_memory", OUT_OF_MEMORY), ("failed", FAILED))
        },
        "profiled": int(cells["steps_profiled"].notna().sum()),
        "workloads": len(runs),
        "models": each["model"],
        "pixels": each["pixels"],
        "batch_sizes": each["batch_size"],
        "repeats": int(runs.max()) if len(runs) else 0,
        "frameworks": sorted({f"{row.framework} {row.framework_version}".strip() for row in cells.itertuples()}),
        "precisions": each["precision"],
        "step_ratio": float(ratio["ratio"].median()) if len(ratio) else None,
        "noise_percent": float(100 * off["off"].mean()) if len(off) else None,
    }


def _deviations(cells: pd.DataFrame) -> pd.DataFrame:
    """Runs of workloads that ran more than once, and by what share each is `off` its workload's median."""
    cells = cells[(cells["batch_latency_ms"] > 0) & (cells["batch_latency_ms"] < np.inf)]
    workloads = cells.groupby(["instance", *_WORKLOAD])["batch_latency_ms"]
    ratio = cells["batch_latency_ms"] / workloads.transform("median")
    return cells.assign(over=ratio, off=(ratio - 1).abs())[workloads.transform("size") > 1]


def _pairs(dataset: Dataset) -> Iterator[dict[str, Any]]:
    full = dataset.cells[dataset.cells["status"] == OUT_OF_MEMORY]
    profiled, out = (
        {name: set(part[_WORKLOAD].itertuples(index=False, name=None)) for name, part in table.groupby("instance")}
        for table in (dataset.profiled, full)
    )
    for anchor, target in permutations(sorted(dataset.instances), 2):
        own, theirs = profiled.get(anchor, set()), profiled.get(target, set())
        too_large = (own - theirs) & out.get(target, set())
        missing = sorted(own - theirs - too_large)
        yield {
            "anchor": anchor,
            "target": target,
            "common": len(own & theirs),
            "out_of_memory": len(too_large),
            "missing_workloads": [dict(zip(_WORKLOAD, workload, strict=True)) for workload in missing],
            "missing": len(missing),
        }


#: Kind, instance, cells and line.
_Found = tuple[str, str, int, str]


def _findings(
    dataset: Dataset, gpus: Gpus, ratios: pd.DataFrame, ran: pd.DataFrame, deviations: pd.DataFrame
) -> Iterator[_Found]:
    for name, count in dataset.cells["instance"].value_counts(sort=False).items():
        gpu = dataset.instances[str(name)].gpu
        if gpu not in gpus:
            problem = f"GPU {gpu!r} has no specs here" if gpu else "its GPU is unknown"
            yield "gpu", str(name), int(count), f"{problem}: add it with `profet gpus add`."
    times = {name: ran[name] for name in ("batch_latency_ms", "epoch_latency_s")}
    time_us = dataset.operations["time_us"]
    bad = dataset.operations.loc[~(time_us >= 0) | np.isinf(time_us), "cell"]
    no_latency = ~(times["batch_latency_ms"] > 0) | np.isinf(times["batch_latency_ms"])
    no_epoch = times["epoch_latency_s"].notna() & ~(times["epoch_latency_s"] > 0)
    yield from _each_instance(ran[no_latency], "time", "latency is not a positive number")
    yield from _each_instance(ran[no_epoch], "time", "epoch time is not a positive number")
    yield from _each_instance(ran[ran["cell"].isin(bad)], "time", "operations have invalid times")
    yield from _wrong_steps(ratios)
    without = dataset.profiled[dataset.device_total_us().to_numpy() == 0]
    yield from _each_instance(without, "steps", "profiles have no device rows: were they recorded on a CPU?")
    for name, part in deviations.groupby("instance"):
        percent = float(100 * part["off"].mean())
        if percent > MAX_NOISE_PERCENT:
            line = f"runs of one workload are {percent:.1f}% off their median: was the machine busy?"
            yield "noise", str(name), len(part), line
    outliers = deviations[(deviations["over"] > OUTLIER_FACTOR) | (deviations["over"] < 1 / OUTLIER_FACTOR)]
    yield from _each_instance(outliers, "noise", "latency is far off the workload's other runs")
    yield from _each_instance(dataset.cells[dataset.cells.duplicated(KEY)], "duplicates", "the cell is duplicated")


def _wrong_steps(ratios: pd.DataFrame) -> Iterator[_Found]:
    """Profiles in other units than their latencies; of the others those of several steps, or of a part of one."""
    other_units = (ratios["ratio"] >= UNITS_FACTOR) | (ratios["ratio"] <= 1 / UNITS_FACTOR)
    for (units, name, framework, precision), part in ratios.groupby(
        [other_units.rename("units"), "instance", "framework", "precision"]
    ):
        ratio = float(part["ratio"].median())
        whose = " ".join(str(word) for word in (framework, precision) if word)
        shown = f"{ratio:,.3g}" if units else f"{ratio:.2f}"
        line = f"{whose}: device rows are {shown} times the latency"
        if units:
            yield "units", str(name), len(part), f"{line}: units differ; {cell_words(part.iloc[0])}"
        elif ratio >= MAX_RATIO:
            yield "steps", str(name), len(part), f"{line}: profiles seem to cover {round(ratio)} steps"
        elif ratio <= MIN_RATIO:
            yield "steps", str(name), len(part), f"{line}: profiles seem to miss device time"


def _each_instance(cells: pd.DataFrame, kind: str, words: str) -> Iterator[_Found]:
    for name, part in cells.groupby("instance"):
        yield kind, str(name), len(part), f"{words}; {cell_words(part.iloc[0])}"
