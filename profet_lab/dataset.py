"""Measurements of the data layout in memory: cells, operations and sources; built, merged, checked, made arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from msgspec import Struct, field
from msgspec.structs import replace
from pandas.api.typing import NAType

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import Gpus
from profet_core.errors import InputError, ProfetError
from profet_lab.measurements.tables import WORKLOAD, DataError, Measurements
from profet_profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_profiles.units import US_PER_MS

LAYOUT = "profet-measurements"
VERSION = 1
MANIFEST_FILE = "dataset.json"
CELLS_FILE = "cells.parquet"
OPERATIONS_FILE = "operations.parquet"
TABLES = (CELLS_FILE, OPERATIONS_FILE)

#: Identifies a cell; each is measured once.
KEY = ["instance", "framework", "precision", "model", "pixels", "batch_size", "repeat"]
OK, OUT_OF_MEMORY, FAILED = "ok", "out-of-memory", "failed"
STATUSES = (OK, OUT_OF_MEMORY, FAILED)
FP32, TF32, AMP = "fp32", "tf32", "amp"
PRECISIONS = (FP32, TF32, AMP)

_WHOLE, _TEXT, _MS = pa.int32(), pa.string(), pa.float64()


def _column(name: str, kind: pa.DataType, what: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"what": what})


#: One row a cell, a run of one workload on one instance, whatever became of it.
CELLS = pa.schema(
    [
        _column("cell", _WHOLE, "number of the cell, which operations name it by"),
        _column("instance", _TEXT, "name of the instance"),
        _column("gpu", _TEXT, "full name of its GPU, as in the catalog; empty: unknown"),
        _column("framework", _TEXT, "tensorflow or pytorch; empty: unknown"),
        _column("framework_version", _TEXT, "such as 2.5; empty: unknown"),
        _column("precision", _TEXT, "fp32, tf32 or amp"),
        _column("model", _TEXT, "name of the network"),
        _column("pixels", _WHOLE, "height and width of an image"),
        _column("batch_size", _WHOLE, "images a step"),
        _column("repeat", _WHOLE, "1 for the first run of this workload"),
        _column("status", _TEXT, "ok, out-of-memory or failed"),
        _column("why", _TEXT, "what it failed with; empty where it is ok"),
        _column("batch_latency_ms", _MS, "median step, milliseconds; set where it is ok", nullable=True),
        _column("latency_repeats_ms", pa.list_(_MS), "steps it is the median of, milliseconds; may be empty"),
        _column("epoch_latency_s", _MS, "an epoch as it was timed, seconds; may be unset", nullable=True),
        _column(
            "peak_memory_bytes", pa.int64(), "most GPU memory that a step held, bytes; may be unset", nullable=True
        ),
        _column("steps_profiled", pa.int64(), "steps that the profile covered; unset: no profile", nullable=True),
        _column("recorded_at", _TEXT, "when, ISO 8601; empty: unknown"),
        _column("source", _TEXT, "name of its source in dataset.json"),
    ]
)
#: One row an operation of a cell that took any time.
OPERATIONS = pa.schema(
    [
        _column("cell", _WHOLE, "number of the cell"),
        _column("operation", _TEXT, "Device_ or Host_, and the operation's type"),
        _column("time_us", pa.float64(), "of ONE step, microseconds"),
    ]
)
SCHEMAS = {CELLS_FILE: CELLS, OPERATIONS_FILE: OPERATIONS}
#: Maximum of either; reading stays below 4 GB.
MAX_ROWS = {CELLS_FILE: 500_000, OPERATIONS_FILE: 30_000_000}


class DataSource(Struct, frozen=True):
    """Where cells are from.

    Attributes
    ----------
    name : what the cells call it; the same name with other files is another source.
    kind : what was read: `profet tables` or `collection`.
    files : name of a file that was read -> its SHA-256.
    licence : its license, in words; empty: unknown.
    """

    name: str
    kind: str
    files: Mapping[str, str]
    licence: str = ""


class InstanceFacts(Struct, frozen=True):
    """Known facts about an instance's machine; empty: unknown."""

    gpu: str = ""
    driver: str = ""
    host: str = ""


class Dataset(Struct, frozen=True):
    """Content of a folder of the layout.

    Attributes
    ----------
    cells : the columns of `CELLS`, sorted by `KEY`; what may be unset is NaN or NA.
    operations : the columns of `OPERATIONS`, sorted by cell and operation.
    sources : in the order they came.
    instances : name -> its machine, of every instance in `cells`.
    sha256 : file -> hash; empty if not read from a folder.
    """

    cells: pd.DataFrame
    operations: pd.DataFrame
    sources: tuple[DataSource, ...]
    instances: Mapping[str, InstanceFacts]
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def profiled(self) -> pd.DataFrame:
        """The cells that have a profile."""
        return self.cells[self.cells["steps_profiled"].notna()]

    def device_total_us(self) -> pd.Series:
        """Cell -> sum of its device rows, idle included, microseconds of one step; 0 where it has none."""
        device = self.operations[self.operations["operation"].str.startswith("Device_")]
        total_us = device.groupby("cell")["time_us"].sum()
        return total_us.reindex(self.profiled["cell"], fill_value=0.0)


def ordered(cells: pd.DataFrame, operations: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables in their order, cells numbered from 0, without operations that took no time.

    Parameters
    ----------
    cells : `cell` may be any numbers that `operations` names them by, each once.
    """
    cells = cells[CELLS.names].sort_values(KEY, ignore_index=True, kind="stable")
    number = pd.Series(np.arange(len(cells), dtype=np.int32), index=cells["cell"].to_numpy())
    operations = operations.loc[operations["time_us"] != 0, OPERATIONS.names]
    operations = operations.assign(cell=number.reindex(operations["cell"]).to_numpy())
    cells = cells.assign(cell=number.to_numpy())
    return cells, operations.sort_values(["cell", "operation"], ignore_index=True, kind="stable")


#: Of an instance or a network.
MAX_NAME_LENGTH = 200
#: Type of the layout -> the column's in memory, and what it holds where a source lacks it.
_KINDS: Mapping[pa.DataType, tuple[str, str | float | NAType]] = {
    pa.int32(): ("int32", pd.NA),
    pa.int64(): ("Int64", pd.NA),
    pa.float64(): ("float64", np.nan),
    pa.string(): ("str", ""),
}
_FIELDS = [field for field in CELLS if field.type in _KINDS and field.name != "cell"]
_UNSET = {**{field.name: _KINDS[field.type][1] for field in _FIELDS}, "precision": FP32, "status": OK}


def dataset_from_tables(
    cells: pd.DataFrame,
    operations: pd.DataFrame,
    source: DataSource,
    instances: Mapping[str, InstanceFacts] | None = None,
) -> Dataset:
    """Return a dataset of one source.

    Parameters
    ----------
    cells : `cell` and the columns of `KEY`, framework and precision aside; the others where they are known.
    operations : the columns of `OPERATIONS`.
    instances : what is known of the machines; by default their GPUs as the catalog has them.
    """
    cells = cells.assign(source=source.name)
    for name, value in _UNSET.items():
        if name not in cells:
            cells[name] = value
    if "latency_repeats_ms" not in cells:
        cells["latency_repeats_ms"] = [[] for _ in range(len(cells))]
    if cells.empty:
        raise DataError(f"{source.name} holds no measurements: name another source.")
    _check_counts(cells, source)
    cells = cells.astype({field.name: _KINDS[field.type][0] for field in _FIELDS})
    twice = cells[cells.duplicated(KEY)]
    if len(twice):
        raise DataError(f"{source.name} holds {cell_words(twice.iloc[0])} twice: leave one of them out.")
    facts = instances or {name: InstanceFacts(gpu=known_gpu(name)) for name in sorted(cells["instance"].unique())}
    cells["gpu"] = cells["instance"].map({name: fact.gpu for name, fact in facts.items()}).astype("str")
    return Dataset(*ordered(cells, operations), (source,), facts)


_COUNTS = [field.name for field in _FIELDS if field.type == pa.int32()]
_MAX_COUNT = 2**31 - 1


def _check_counts(cells: pd.DataFrame, source: DataSource) -> None:
    for name in _COUNTS:
        numbers = pd.to_numeric(cells[name], errors="coerce").to_numpy(float, na_value=np.nan)
        bad = ~((numbers >= 1) & (numbers <= _MAX_COUNT) & (numbers == np.floor(numbers)))
        if bad.any():
            shown = " ".join(str(cells[name].to_numpy()[bad][0])[:40].split())
            raise DataError(f"{source.name} holds {shown!r} as {name}: it is a whole number above 0.")
    for name in ("instance", "model"):
        for text in cells[name].unique():
            if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > MAX_NAME_LENGTH:
                raise DataError(f"{source.name} holds {str(text)[:40]!r} as {name}: give it a name of one line.")


def known_gpu(instance: str) -> str:
    """Full name of an instance's GPU by the catalog; empty: unknown."""
    try:
        listed = load_shipped().get(instance)
    except ProfetError:
        return ""
    return listed.gpu if listed else ""


def cell_words(cell: pd.Series) -> str:
    """Return a cell in a message.

    >>> cell_words(pd.Series({"instance": "p2.xlarge", "model": "VGG16", "pixels": 64, "batch_size": 16, "repeat": 1}))
    'VGG16, 64 pixels, batch 16, repeat 1 on p2.xlarge'
    """
    where = f"{cell['model']}, {cell['pixels']} pixels, batch {cell['batch_size']}, repeat {cell['repeat']}"
    return f"{where} on {cell['instance']}"


#: What a cell is besides its key, its number and where it is from.
_CONTENT = [field.name for field in CELLS if field.name not in (*KEY, "cell", "source", "latency_repeats_ms", "gpu")]
#: Seconds that became milliseconds differ in the last digit.
_SAME = 1e-9


def merged(datasets: Sequence[Dataset], names: Sequence[str]) -> Dataset:
    """One dataset of all cells of several; the same in whichever order they come.

    Parameters
    ----------
    names : what each is called in messages.
    """

    def order(named: tuple[Dataset, str]) -> list[tuple]:
        # By what was read: of a cell that several have, the first one's source is named.
        return [(source.kind, source.name, sorted(source.files.items())) for source in named[0].sources]

    (joined, _), *others = sorted(zip(datasets, names, strict=True), key=order)
    for dataset, name in others:
        joined = _joined(joined, dataset, name)
    return joined


def _joined(first: Dataset, other: Dataset, name: str) -> Dataset:
    instances = _instances(first.instances, other.instances, name)
    sources, renamed = _sources(first.sources, other.sources)
    cells = pd.concat([first.cells, other.cells.assign(source=other.cells["source"].map(renamed))], ignore_index=True)
    # Numbers of the second go on where those of the first end.
    count = len(first.cells)
    cells["cell"] = np.concatenate([first.cells["cell"], other.cells["cell"] + count])
    operations = pd.concat([first.operations, other.operations.assign(cell=other.operations["cell"] + count)])
    again = cells[cells.duplicated(KEY)]
    if len(again):
        _check_same(cells, operations, again, name)
        cells = cells[~cells["cell"].isin(again["cell"])]
        operations = operations[~operations["cell"].isin(again["cell"])]
    cells["gpu"] = cells["instance"].map({instance: facts.gpu for instance, facts in instances.items()}).astype("str")
    return Dataset(*ordered(cells, operations), sources, instances)


def _instances(
    first: Mapping[str, InstanceFacts], other: Mapping[str, InstanceFacts], name: str
) -> dict[str, InstanceFacts]:
    instances = dict(first)
    for instance, facts in other.items():
        joined = instances.get(instance, facts)
        for fact in ("gpu", "driver", "host"):
            ours, theirs = getattr(joined, fact), getattr(facts, fact)
            if ours and theirs and ours != theirs:
                raise DataError(
                    f"{name} says that {instance} has {fact} {theirs}, another source says {ours}: give one of "
                    "them another instance name."
                )
            joined = replace(joined, **{fact: ours or theirs})
        instances[instance] = joined
    return instances


def _sources(first: Sequence[DataSource], other: Sequence[DataSource]) -> tuple[tuple[DataSource, ...], dict[str, str]]:
    """All sources, and what the second's are called; another source of the same name gets a number."""
    sources, renamed = list(first), {}
    for source in other:
        same = next((kept for kept in sources if replace(kept, name=source.name) == source), None)
        if same is None:
            taken = {kept.name for kept in sources}
            numbered = (f"{source.name}-{number}" for number in range(2, len(sources) + 3))
            free = source.name if source.name not in taken else next(name for name in numbered if name not in taken)
            same = replace(source, name=free)
            sources.append(same)
        renamed[source.name] = same.name
    return tuple(sources), renamed


def _check_same(cells: pd.DataFrame, operations: pd.DataFrame, again: pd.DataFrame, name: str) -> None:
    pairs = cells.drop_duplicates(KEY).merge(again, on=KEY, suffixes=("", "_again"))
    differs = np.zeros(len(pairs), bool)
    for column in _CONTENT:
        differs |= ~_equal(pairs[column], pairs[f"{column}_again"])
    differs |= [
        not np.array_equal(first, other)
        for first, other in zip(pairs["latency_repeats_ms"], pairs["latency_repeats_ms_again"], strict=True)
    ]
    first_of = pd.Series(pairs["cell"].to_numpy(), index=pairs["cell_again"].to_numpy())
    repeated = operations[operations["cell"].isin(again["cell"])]
    repeated = repeated.assign(cell=repeated["cell"].map(first_of))
    both = operations[operations["cell"].isin(pairs["cell"])].merge(
        repeated, on=["cell", "operation"], how="outer", suffixes=("", "_again")
    )
    other = both.loc[~_equal(both["time_us"], both["time_us_again"]), "cell"]
    differs |= pairs["cell"].isin(other).to_numpy()
    if differs.any():
        raise DataError(
            f"{name} has different numbers for {cell_words(pairs[differs].iloc[0])} than another source "
            f"({int(differs.sum()):,} cells): leave one out, or give its instance another name."
        )


def _equal(first: pd.Series, other: pd.Series) -> np.ndarray:
    if not pd.api.types.is_numeric_dtype(first):
        return (first == other).to_numpy(bool)
    ours, theirs = (column.to_numpy(float, na_value=np.nan) for column in (first, other))
    return np.isclose(ours, theirs, rtol=_SAME, atol=0.0, equal_nan=True)


_RUN = [*WORKLOAD, "repeat"]
_LATENCIES = ["instance", *_RUN, "batch_latency_ms", "epoch_latency_s"]


def measurements_from_dataset(
    dataset: Dataset, instances: Sequence[str] | None = None, *, framework: str | None = None
) -> Measurements:
    """Return the profiled runs that all `instances` have in common, and every latency of them.

    Parameters
    ----------
    instances : whose runs; None: all of the dataset.
    framework : cells of this one only; None: whatever there is, if that is one a run.

    Returns
    -------
    measurements : as `load_measurements` gives them, instances sorted by name; operations are all those of the
        dataset, so that several calls have the same columns. `workloads` may be empty.
    """
    names = sorted(dataset.instances if instances is None else set(instances))
    for name in names:
        if name not in dataset.instances:
            raise InputError(f"No measurements of {name!r}: there are {', '.join(sorted(dataset.instances))}.")
    cells = dataset.cells[dataset.cells["instance"].isin(names) & (dataset.cells["status"] == OK)]
    if framework is not None:
        cells = cells[cells["framework"] == framework]
    _check_one_a_run(cells)
    latency_ms, times_us = cells["batch_latency_ms"].to_numpy(float), dataset.operations["time_us"].to_numpy(float)
    positive = np.isfinite(latency_ms) & (latency_ms > 0)
    if not positive.all() or not (np.isfinite(times_us) & (times_us >= 0)).all():
        raise DataError("Some times are not positive numbers: `profet data check` names them.")
    profiled = cells[cells["steps_profiled"].notna()]
    measured_on = profiled.groupby(_RUN)["instance"].nunique()
    common = measured_on[measured_on == len(names)].index.to_frame(index=False).sort_values(_RUN, ignore_index=True)
    by_instance = {name: profiled[profiled["instance"] == name] for name in names}
    rows = {
        name: common.merge(own, on=_RUN, how="left", validate="one_to_one")["cell"].to_numpy()
        for name, own in by_instance.items()
    }
    operations, wide_us = _wide(dataset, rows)
    latency_of = cells.set_index("cell")["batch_latency_ms"]
    return Measurements(
        workloads=common,
        operations=operations,
        times_us=wide_us,
        latency_ms={name: latency_of.loc[numbers].to_numpy(float) for name, numbers in rows.items()},
        all_latencies=cells[_LATENCIES].sort_values(["instance", *_RUN], ignore_index=True),
        sha256=dict(dataset.sha256),
    )


def _check_one_a_run(cells: pd.DataFrame) -> None:
    twice = cells[cells.duplicated(["instance", *_RUN], keep=False)]
    if twice.empty:
        return
    if twice.duplicated(KEY).any():
        raise DataError("Some cells are in the data twice: `profet data check` names them.")
    kinds = sorted({f"{row.framework} {row.precision}" for row in twice.itertuples()})
    raise DataError(f"The same runs were measured in {', '.join(kinds)}: choose one framework and one precision.")


def _wide(dataset: Dataset, rows: dict[str, np.ndarray]) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Names of all operations, and times of the cells in `rows`: instance -> (runs, operations)."""
    named = dataset.operations["operation"]
    operations = tuple(sorted(name for name in named.unique() if name.startswith((DEVICE_PREFIX, HOST_PREFIX))))
    column = pd.Series(np.arange(len(operations)), index=list(operations))
    row_of = pd.Series({int(cell): row for cells in rows.values() for row, cell in enumerate(cells)}, dtype=np.int64)
    owner = {int(cell): name for name, cells in rows.items() for cell in cells}
    wanted = dataset.operations[dataset.operations["cell"].isin(row_of.index) & named.isin(operations)]
    whose = wanted["cell"].map(owner)
    times_us = {name: np.zeros((len(cells), len(operations))) for name, cells in rows.items()}
    for name, part in wanted.groupby(whose):
        index = row_of.loc[part["cell"]].to_numpy(), column.loc[part["operation"]].to_numpy()
        times_us[str(name)][index] = part["time_us"].to_numpy(float)
    return operations, times_us


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

    Parameters
    ----------
    gpus : those with specs.

    Returns
    -------
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
    facts = {
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
        "models": facts["model"],
        "pixels": facts["pixels"],
        "batch_sizes": facts["batch_size"],
        "repeats": int(runs.max()) if len(runs) else 0,
        "frameworks": sorted({f"{row.framework} {row.framework_version}".strip() for row in cells.itertuples()}),
        "precisions": facts["precision"],
        "step_ratio": float(ratio["ratio"].median()) if len(ratio) else None,
        "noise_percent": float(100 * off["off"].mean()) if len(off) else None,
    }


def _deviations(cells: pd.DataFrame) -> pd.DataFrame:
    """Return runs of workloads that ran more than once, and by what share each is `off` its workload's median."""
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
