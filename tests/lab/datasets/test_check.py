"""What `profet data check` finds, each kind by measurements that have it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog import load_gpus
from profet_lab.datasets.check import Check, check_dataset
from profet_lab.datasets.dataset import Dataset, InstanceFacts
from profet_lab.datasets.sources.tables import read_tables
from profet_lab.measurements.tables import data_folder

WHICH = "VGG11, 32 pixels, batch 10, repeat {} on p2.xlarge"


def checked(dataset: Dataset, **changes: object) -> Check:
    return check_dataset(replace(dataset, **changes), load_gpus())


def with_cells(dataset: Dataset, rows: object, **values: object) -> Check:
    cells = dataset.cells.copy()
    for name, value in values.items():
        cells.loc[rows, name] = value
    return checked(dataset, cells=cells)


@pytest.fixture
def varied(dataset) -> Dataset:
    """Every run with numbers of its own, a thousandth apart."""
    first = (dataset.cells["instance"] == "p2.xlarge").to_numpy()
    factor = 1 + dataset.cells["repeat"].to_numpy() / 1_000 + np.where(first, 0.0, 0.000_1)
    cells = dataset.cells.assign(batch_latency_ms=dataset.cells["batch_latency_ms"] * factor)
    by_cell = pd.Series(factor, index=dataset.cells["cell"])
    times_us = dataset.operations["time_us"] * dataset.operations["cell"].map(by_cell)
    return replace(dataset, cells=cells, operations=dataset.operations.assign(time_us=times_us))


def test_what_is_there_is_told(varied):
    found = checked(varied)
    one = next(row for row in found.instances if row.instance == "p3.2xlarge")
    assert (one.gpu, one.gpu_known, one.ok, one.out_of_memory, one.failed) == ("Tesla V100-SXM2-16GB", True, 5, 0, 0)
    sizes = (one.profiled, one.workloads, one.models, one.pixels, one.batch_sizes)
    assert sizes == (4, 3, ("VGG11",), (32, 64), (10, 20))
    assert (one.repeats, one.frameworks, one.precisions) == (2, ("tensorflow 2.5",), ("fp32",))
    # 2,100 us of device rows over two steps of 1 ms an image.
    assert one.step_ratio == pytest.approx(1.05)
    # Two runs 0.1 % apart are each half of that off their median.
    assert one.noise_percent == pytest.approx(0.05, rel=0.01)
    assert found.findings == ()


def test_pairs_tell_what_is_missing_and_what_did_not_fit(varied):
    larger = varied.cells["pixels"] == 64
    row = varied.cells[larger].assign(instance="p2.xlarge", status="out-of-memory", batch_latency_ms=np.nan, cell=99)
    cells = pd.concat([varied.cells, row], ignore_index=True)
    cells.loc[cells["pixels"] == 64, "steps_profiled"] = [1, None]
    lacks = (cells["instance"] == "p2.xlarge") & (cells["batch_size"] == 10)
    found = checked(varied, cells=cells[~lacks])
    pairs = {(pair.anchor, pair.target): pair for pair in found.pairs}
    there = pairs["p3.2xlarge", "p2.xlarge"]
    assert (there.common, there.missing, there.out_of_memory) == (1, 1, 1)
    assert there.missing_workloads == (("tensorflow", "fp32", "VGG11", 32, 10),)
    back = pairs["p2.xlarge", "p3.2xlarge"]
    assert (back.common, back.missing, back.out_of_memory) == (1, 0, 0)


def told(found: Check) -> list[tuple[str, str, int]]:
    """Findings without their sentences."""
    return [(finding.kind, finding.instance, finding.cells) for finding in found.findings]


def test_profiles_of_two_steps_are_found(varied):
    doubled = varied.operations.assign(time_us=varied.operations["time_us"] * 2)
    found = checked(varied, operations=doubled)
    assert told(found) == [("steps", "p2.xlarge", 4), ("steps", "p3.2xlarge", 4)]
    assert "2.10 times the latency" in found.findings[0].line
    # One of several steps among others.
    times_us = varied.operations["time_us"] * np.where(varied.operations["cell"] == 0, 4.0, 1.0)
    found = checked(varied, operations=varied.operations.assign(time_us=times_us))
    assert told(found) == [("steps", "p2.xlarge", 1)] and found.findings[0].line.endswith(WHICH.format(1))


def test_profiles_that_miss_device_time_are_found(varied):
    without = varied.operations[~varied.operations["operation"].str.startswith("Device_")]
    assert "no device rows" in checked(varied, operations=without).findings[0].line
    little = varied.operations.assign(time_us=varied.operations["time_us"] / 4)
    assert "0.26 of the latency" in checked(varied, operations=little).findings[0].line


@pytest.mark.parametrize(("factor", "meant"), [(1e-3, "latency in s?"), (1e3, "latency in us, or operations in ms?")])
def test_other_units_are_found(factor, meant, varied):
    own = varied.cells["instance"] == "p2.xlarge"
    found = with_cells(varied, own, batch_latency_ms=varied.cells.loc[own, "batch_latency_ms"] * factor)
    # By the profiles; and without them, by the other instance.
    assert told(found)[:2] == [("units", "p2.xlarge", 4), ("units", "p2.xlarge", 2)]
    assert f"{1.05 / factor:,.3g} times the latency" in found.findings[0].line and meant in found.findings[0].line
    assert "every other instance" in found.findings[1].line


def test_noise_is_found(varied):
    rows = (varied.cells["instance"] == "p2.xlarge") & (varied.cells["repeat"] == 2)
    found = with_cells(varied, rows, batch_latency_ms=varied.cells.loc[rows, "batch_latency_ms"] * 1.2)
    assert told(found) == [("noise", "p2.xlarge", 4)] and " 9.1% " in found.findings[0].line
    # Where all ran once, by the steps of a run.
    once = varied.cells[varied.cells["repeat"] == 1]
    steps = [[10.0, 10.2, 9.9] for _ in range(len(once))]
    quiet = replace(varied, cells=once.assign(latency_repeats_ms=steps), operations=varied.operations.iloc[:0])
    assert not [kind for kind, *_ in told(checked(quiet)) if kind == "noise"]
    steps[0] = [10.0, 10.0, 30.0]
    busy = checked(quiet, cells=once.assign(latency_repeats_ms=steps))
    assert ("noise", "p2.xlarge", 1) in told(busy)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_times_that_are_none_are_found(value, varied):
    assert ("time", "p2.xlarge", 1) in told(with_cells(varied, 1, batch_latency_ms=value))
    if not value > 0:
        wrong = -1.0 if value == 0 else value
        times_us = varied.operations["time_us"].where(varied.operations["cell"] != 1, wrong)
        found = checked(varied, operations=varied.operations.assign(time_us=times_us))
        assert ("time", "p2.xlarge", 1) in told(found)


def test_duplicates_and_copies_are_found(varied):
    assert ("duplicates", "p2.xlarge", 1) in told(with_cells(varied, 1, repeat=1))
    copied = varied.operations[varied.operations["cell"] != 1]
    copied = pd.concat([copied, copied[copied["cell"] == 0].assign(cell=np.int32(1))], ignore_index=True)
    cells = varied.cells.copy()
    cells.loc[1, "batch_latency_ms"] = cells.loc[0, "batch_latency_ms"]
    assert told(checked(varied, cells=cells, operations=copied)) == [("duplicates", "p2.xlarge", 1)]


def test_gpus_without_specs_are_found(varied):
    facts = {"p2.xlarge": InstanceFacts("Made-up 9000"), "p3.2xlarge": InstanceFacts()}
    lines = [finding.line for finding in checked(varied, instances=facts).findings]
    assert "'Made-up 9000'" in lines[0] and "unknown" in lines[1] and len(lines) == 2


def test_the_published_measurements_hold_one_step_and_little_noise():
    found = check_dataset(read_tables(data_folder() / "profet"), load_gpus())
    assert {one.instance: (round(one.step_ratio, 2), round(one.noise_percent, 2)) for one in found.instances} == {
        "g3s.xlarge": (1.02, 0.55),
        "g4dn.xlarge": (1.03, 1.50),
        "p2.xlarge": (1.15, 0.59),
        "p3.2xlarge": (1.12, 2.39),
    }
    assert {pair.common for pair in found.pairs} == {307}
    assert [(finding.kind, finding.cells) for finding in found.findings] == [("noise", 1), ("noise", 1)]
