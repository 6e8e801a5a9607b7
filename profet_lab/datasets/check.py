"""Report a dataset's content, its missing pairs and its suspicious values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpus
from profet_core.units import US_PER_MS
from profet_lab.datasets.dataset import FAILED, KEY, OK, OUT_OF_MEMORY, Dataset
from profet_lab.datasets.sources.draft import cell_words

#: Device rows over latency, of one step; PROFET's halved profiles have 1.06 at the median. A median above this covers
#: more steps, one below misses device time.
LARGEST_RATIO, SMALLEST_RATIO = 1.6, 0.5
#: Beyond this factor no number of steps explains a ratio: units differ.
UNITS_FACTOR = 30.0
#: Mean deviation of repeats, percent; PROFET's noisiest instance has 2.5.
MOST_NOISE_PERCENT = 5.0
#: Mean deviation of a run's timed steps from their median, percent; a GPU that nothing else uses has about one.
MOST_STEP_NOISE_PERCENT = 15.0
#: One run of several that is off its workload's median by more than this factor.
OUTLIER_FACTOR = 1.5
#: Instances differ by less than this on the same workloads.
INSTANCES_FACTOR = 200.0
_KIND = ["instance", "framework", "precision"]
_WORKLOAD = ["framework", "precision", "model", "pixels", "batch_size"]


@dataclass(frozen=True, slots=True)
class InstanceCheck:
    """What there is of one instance.

    Attributes
    ----------
    gpu_known : its GPU has specs here.
    ok, out_of_memory, failed : cells by what became of them. profiled : cells with a profile.
    repeats : most runs of one workload.
    step_ratio : device rows, idle included, over latency: the median; None without device rows.
    noise_percent : mean absolute deviation of a run from its workload's median; None where all ran once.
    """

    instance: str
    gpu: str
    gpu_known: bool
    ok: int
    out_of_memory: int
    failed: int
    profiled: int
    workloads: int
    models: tuple[str, ...]
    pixels: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    repeats: int
    frameworks: tuple[str, ...]
    precisions: tuple[str, ...]
    step_ratio: float | None
    noise_percent: float | None


@dataclass(frozen=True, slots=True)
class PairCheck:
    """What training on a pair has.

    Attributes
    ----------
    common : workloads profiled on both. missing : profiled on the anchor, and not on the target for no known reason.
    out_of_memory : profiled on the anchor, and out of memory on the target.
    missing_workloads : framework, precision, model, pixels and batch size of each that is missing.
    """

    anchor: str
    target: str
    common: int
    out_of_memory: int
    missing_workloads: tuple[tuple[str, str, str, int, int], ...]

    @property
    def missing(self) -> int:
        """How many are missing."""
        return len(self.missing_workloads)


@dataclass(frozen=True, slots=True)
class Finding:
    """A suspicious value: kind, instance, number of cells and one line of text."""

    kind: str
    instance: str
    cells: int
    line: str


@dataclass(frozen=True, slots=True)
class Check:
    """The whole report."""

    instances: tuple[InstanceCheck, ...]
    pairs: tuple[PairCheck, ...]
    findings: tuple[Finding, ...]


def check_dataset(dataset: Dataset, gpus: Gpus) -> Check:
    """Look a dataset through; nothing in it is changed.

    Parameters
    ----------
    gpus : those with specs.
    """
    ratios = _ratios(dataset)
    return Check(
        tuple(_instance(dataset, name, gpus, ratios) for name in sorted(dataset.instances)),
        tuple(_pairs(dataset)),
        tuple(_findings(dataset, gpus, ratios)),
    )


def _ratios(dataset: Dataset) -> pd.DataFrame:
    """The profiled cells with device rows and a latency, and `ratio`, device rows over latency."""
    cells = dataset.profiled.assign(device_us=dataset.device_total_us().to_numpy())
    cells = cells.assign(ratio=cells["device_us"] / US_PER_MS / cells["batch_latency_ms"])
    return cells[(cells["ratio"] > 0) & (cells["ratio"] < np.inf)]


def _instance(dataset: Dataset, name: str, gpus: Gpus, ratios: pd.DataFrame) -> InstanceCheck:
    cells = dataset.cells[dataset.cells["instance"] == name]
    statuses = cells["status"].value_counts()
    runs = cells.groupby(_WORKLOAD).size()
    ratio = ratios.loc[ratios["instance"] == name, "ratio"]
    deviations = _deviations(cells[cells["status"] == OK])
    return InstanceCheck(
        instance=name,
        gpu=dataset.instances[name].gpu,
        gpu_known=dataset.instances[name].gpu in gpus,
        ok=int(statuses.get(OK, 0)),
        out_of_memory=int(statuses.get(OUT_OF_MEMORY, 0)),
        failed=int(statuses.get(FAILED, 0)),
        profiled=int(cells["steps_profiled"].notna().sum()),
        workloads=len(runs),
        models=_each(cells["model"]),
        pixels=_each(cells["pixels"]),
        batch_sizes=_each(cells["batch_size"]),
        repeats=int(runs.max()) if len(runs) else 0,
        frameworks=tuple(sorted({f"{row.framework} {row.framework_version}".strip() for row in cells.itertuples()})),
        precisions=_each(cells["precision"]),
        step_ratio=float(ratio.median()) if len(ratio) else None,
        noise_percent=float(100 * deviations["off"].mean()) if len(deviations) else None,
    )


def _each(column: pd.Series) -> tuple:
    return tuple(sorted(column.unique().tolist()))


def _timed(cells: pd.DataFrame) -> pd.DataFrame:
    """Those whose latency is a time."""
    return cells[(cells["batch_latency_ms"] > 0) & (cells["batch_latency_ms"] < np.inf)]


def _deviations(cells: pd.DataFrame) -> pd.DataFrame:
    """Runs of workloads that ran more than once, and by what share each is `off` its workload's median."""
    cells = _timed(cells)
    workloads = cells.groupby(["instance", *_WORKLOAD])["batch_latency_ms"]
    median_ms = workloads.transform("median")
    several = workloads.transform("size") > 1
    return cells.assign(median_ms=median_ms, off=(cells["batch_latency_ms"] / median_ms - 1).abs())[several]


def _pairs(dataset: Dataset) -> Iterator[PairCheck]:
    profiled = {name: _workloads(part) for name, part in dataset.profiled.groupby("instance")}
    full = dataset.cells[dataset.cells["status"] == OUT_OF_MEMORY]
    out = {name: _workloads(part) for name, part in full.groupby("instance")}
    for anchor in sorted(dataset.instances):
        for target in sorted(dataset.instances):
            if anchor != target:
                own, theirs = profiled.get(anchor, set()), profiled.get(target, set())
                lacking = own - theirs
                too_large = lacking & out.get(target, set())
                missing = tuple(sorted(lacking - too_large))
                yield PairCheck(anchor, target, len(own & theirs), len(too_large), missing)


def _workloads(cells: pd.DataFrame) -> set[tuple]:
    return set(cells[_WORKLOAD].drop_duplicates().itertuples(index=False, name=None))


def _findings(dataset: Dataset, gpus: Gpus, ratios: pd.DataFrame) -> Iterator[Finding]:
    for name, count in dataset.cells["instance"].value_counts(sort=False).items():
        gpu = dataset.instances[str(name)].gpu
        if gpu not in gpus:
            problem = f"GPU {gpu!r} has no specs here" if gpu else "its GPU is unknown"
            yield Finding("gpu", str(name), int(count), f"{problem}: add it with `profet gpus add`.")
    ran = dataset.cells[dataset.cells["status"] == OK]
    latency_ms, epoch_s, operations = ran["batch_latency_ms"], ran["epoch_latency_s"], dataset.operations
    time_us = operations["time_us"]
    bad = operations.loc[~(time_us >= 0) | np.isinf(time_us), "cell"]
    no_latency = ~(latency_ms > 0) | np.isinf(latency_ms)
    yield from _each_instance(ran[no_latency], "time", "latency is not a positive number")
    yield from _each_instance(ran[epoch_s.notna() & ~(epoch_s > 0)], "time", "epoch time is not a positive number")
    yield from _each_instance(ran[ran["cell"].isin(bad)], "time", "operations have invalid times")
    yield from _wrong_units(ratios)
    yield from _wrong_steps(ratios)
    without = dataset.profiled[dataset.device_total_us().to_numpy() == 0]
    yield from _each_instance(without, "steps", "profiles have no device rows: were they recorded on a CPU?")
    yield from _other_scales(dataset)
    yield from _noise(ran)
    yield from _each_instance(dataset.cells[dataset.cells.duplicated(KEY)], "duplicates", "the cell is duplicated")
    # No two runs take the same nanoseconds in every operation.
    hashed = pd.util.hash_pandas_object(operations[["operation", "time_us"]], index=False)
    numbers = dataset.profiled["cell"].map(hashed.groupby(operations["cell"].to_numpy()).sum())
    cells = dataset.profiled.assign(numbers=numbers)[numbers.notna()]
    copied = cells[cells.duplicated(["numbers", "batch_latency_ms"])]
    yield from _each_instance(copied, "duplicates", "all numbers are those of another cell")


def _wrong_units(ratios: pd.DataFrame) -> Iterator[Finding]:
    off = ratios[(ratios["ratio"] >= UNITS_FACTOR) | (ratios["ratio"] <= 1 / UNITS_FACTOR)]
    for (name, *_), part in off.groupby(_KIND):
        ratio = float(part["ratio"].median())
        thousands = round(np.log10(ratio) / 3)
        meant = {1: "latency in s?", -1: "latency in us, or operations in ms?", -2: "operations in s?"}.get(
            thousands, ""
        )
        example = cell_words(part.iloc[0])
        line = (
            f"device rows are {ratio:,.3g} times the latency: units differ{f' ({meant})' if meant else ''}; {example}"
        )
        yield Finding("units", str(name), len(part), line)


def _wrong_steps(ratios: pd.DataFrame) -> Iterator[Finding]:
    """Profiles of several steps, except those with wrong units, which `_wrong_units` reports."""
    usual = ratios[(ratios["ratio"] < UNITS_FACTOR) & (ratios["ratio"] > 1 / UNITS_FACTOR)]
    for (name, framework, precision), part in usual.groupby(_KIND):
        ratio = float(part["ratio"].median())
        whose = " ".join(str(word) for word in (framework, precision) if word)
        if ratio >= LARGEST_RATIO:
            line = (
                f"{whose}: device rows are {ratio:.2f} times the latency: profiles seem to cover {round(ratio)} steps"
            )
            yield Finding("steps", str(name), len(part), line)
        elif ratio <= SMALLEST_RATIO:
            line = f"{whose}: device rows are {ratio:.2f} of the latency: profiles seem to miss device time"
            yield Finding("steps", str(name), len(part), line)
        else:
            several = part[part["ratio"] >= 2 * LARGEST_RATIO * ratio]
            line = "device rows are more than three times those of the others: several steps?"
            yield from _each_instance(several, "steps", line)


def _other_scales(dataset: Dataset) -> Iterator[Finding]:
    """Instances whose latencies are of another order than all others' of the same workloads."""
    cells = _timed(dataset.cells)
    wide = cells.groupby([*_WORKLOAD, "instance"])["batch_latency_ms"].median().unstack("instance")
    if wide.shape[1] < 2:
        return
    for name in wide:
        others = wide.drop(columns=name)
        by_other = [(wide[name] / others[other]).median() for other in others]
        ratios = [ratio for ratio in by_other if np.isfinite(ratio)]
        if ratios and (min(ratios) >= INSTANCES_FACTOR or max(ratios) <= 1 / INSTANCES_FACTOR):
            count = int(wide[name].notna().sum())
            line = f"latencies are {float(np.median(ratios)):,.3g} times those of every other instance: units differ?"
            yield Finding("units", str(name), count, line)


def _noise(ran: pd.DataFrame) -> Iterator[Finding]:
    deviations = _deviations(ran)
    for name, part in deviations.groupby("instance"):
        percent = float(100 * part["off"].mean())
        if percent > MOST_NOISE_PERCENT:
            line = f"runs of one workload are {percent:.1f}% off their median: was the machine busy?"
            yield Finding("noise", str(name), len(part), line)
    ratio = deviations["batch_latency_ms"] / deviations["median_ms"]
    outliers = deviations[(ratio > OUTLIER_FACTOR) | (ratio < 1 / OUTLIER_FACTOR)]
    yield from _each_instance(outliers, "noise", "latency is far off the workload's other runs")
    unsteady = ran[ran["latency_repeats_ms"].map(_step_noise_percent) > MOST_STEP_NOISE_PERCENT]
    yield from _each_instance(unsteady, "noise", "timed steps are far off their median: was the machine busy?")


def _step_noise_percent(steps_ms: Sequence[float]) -> float:
    """Mean absolute deviation of a run's steps from their median; 0 of fewer than two."""
    times = np.asarray(steps_ms, float)
    middle = np.median(times) if len(times) > 1 else 0.0
    return float(100 * np.abs(times / middle - 1).mean()) if middle > 0 else 0.0


def _each_instance(cells: pd.DataFrame, kind: str, words: str) -> Iterator[Finding]:
    for name, part in cells.groupby("instance"):
        yield Finding(kind, str(name), len(part), f"{words}; {cell_words(part.iloc[0])}")
