"""What `profet data check` finds, each kind by measurements that have it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog import load_gpus
from profet_lab.datasets.check import Check, Finding, check_dataset
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
    assert (one.profiled, one.workloads, one.models, one.pixels, one.batch_sizes) == (
        4,
        3,
        ("VGG11",),
        (32, 64),
        (10, 20),
    )
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


def test_profiles_of_two_steps_are_found(varied):
    doubled = varied.operations.assign(time_us=varied.operations["time_us"] * 2)
    found = checked(varied, operations=doubled)
    line = "tensorflow fp32: device rows are 2.10 times the latency: profiles seem to cover 2 steps"
    assert found.findings == (Finding("steps", "p2.xlarge", 4, line), Finding("steps", "p3.2xlarge", 4, line))


def test_one_profile_of_several_steps_among_others_is_found(varied):
    times_us = varied.operations["time_us"] * np.where(varied.operations["cell"] == 0, 4.0, 1.0)
    found = checked(varied, operations=varied.operations.assign(time_us=times_us))
    line = f"device rows are more than three times those of the others: several steps?; {WHICH.format(1)}"
    assert found.findings == (Finding("steps", "p2.xlarge", 1, line),)


def test_profiles_that_miss_device_time_are_found(varied):
    without = varied.operations[~varied.operations["operation"].str.startswith("Device_")]
    lines = [finding.line for finding in checked(varied, operations=without).findings]
    assert lines[0] == f"profiles have no device rows: were they recorded on a CPU?; {WHICH.format(1)}"
    little = varied.operations.assign(time_us=varied.operations["time_us"] / 4)
    lines = [finding.line for finding in checked(varied, operations=little).findings]
    assert lines[0] == "tensorflow fp32: device rows are 0.26 of the latency: profiles seem to miss device time"


@pytest.mark.parametrize(("factor", "meant"), [(1e-3, "latency in s?"), (1e3, "latency in us, or operations in ms?")])
def test_other_units_are_found(factor, meant, varied):
    own = varied.cells["instance"] == "p2.xlarge"
    found = with_cells(varied, own, batch_latency_ms=varied.cells.loc[own, "batch_latency_ms"] * factor)
    line = f"device rows are {1.05 / factor:,.3g} times the latency: units differ ({meant}); {WHICH.format(1)}"
    assert found.findings[0] == Finding("units", "p2.xlarge", 4, line)
    # And without profiles, by the other instance.
    assert found.findings[1].kind == "units" and "times those of every other instance" in found.findings[1].line


def test_noise_is_found(varied):
    rows = (varied.cells["instance"] == "p2.xlarge") & (varied.cells["repeat"] == 2)
    found = with_cells(varied, rows, batch_latency_ms=varied.cells.loc[rows, "batch_latency_ms"] * 1.2)
    line = "runs of one workload are 9.1 % off their median: was the machine busy with something else?"
    assert found.findings == (Finding("noise", "p2.xlarge", 4, line),)


def test_unsteady_steps_of_a_run_are_found_where_all_ran_once(varied):
    once = varied.cells[varied.cells["repeat"] == 1]
    steps = [[10.0, 10.2, 9.9] for _ in range(len(once))]
    quiet = replace(varied, cells=once.assign(latency_repeats_ms=steps), operations=varied.operations.iloc[:0])
    assert not [finding for finding in checked(quiet).findings if finding.kind == "noise"]
    steps[0] = [10.0, 10.0, 30.0]
    busy = checked(quiet, cells=once.assign(latency_repeats_ms=steps))
    line = f"timed steps are far off their median: was the machine busy?; {WHICH.format(1)}"
    assert [finding for finding in busy.findings if finding.kind == "noise"] == [Finding("noise", "p2.xlarge", 1, line)]


@pytest.mark.parametrize("value", [0.0, -3.0, np.nan, np.inf])
def test_times_that_are_none_are_found(value, varied):
    found = with_cells(varied, 1, batch_latency_ms=value)
    line = f"latency is no positive number; {WHICH.format(2)}"
    assert Finding("time", "p2.xlarge", 1, line) in found.findings
    times_us = varied.operations["time_us"].where(varied.operations["cell"] != 1, -1.0 if value == 0 else value)
    if not value > 0:
        found = checked(varied, operations=varied.operations.assign(time_us=times_us))
        assert (
            Finding("time", "p2.xlarge", 1, f"operations have a time that is none; {WHICH.format(2)}") in found.findings
        )


def test_duplicates_and_copies_are_found(varied):
    found = with_cells(varied, 1, repeat=1)
    assert Finding("duplicates", "p2.xlarge", 1, f"the cell is there twice; {WHICH.format(1)}") in found.findings
    copied = varied.operations[varied.operations["cell"] != 1]
    copied = pd.concat([copied, copied[copied["cell"] == 0].assign(cell=np.int32(1))], ignore_index=True)
    cells = varied.cells.copy()
    cells.loc[1, "batch_latency_ms"] = cells.loc[0, "batch_latency_ms"]
    found = checked(varied, cells=cells, operations=copied)
    line = f"all numbers are those of another cell; {WHICH.format(2)}"
    assert found.findings == (Finding("duplicates", "p2.xlarge", 1, line),)


def test_gpus_without_a_data_sheet_are_found(varied):
    facts = {"p2.xlarge": InstanceFacts("Made-up 9000"), "p3.2xlarge": InstanceFacts()}
    assert [finding.line for finding in checked(varied, instances=facts).findings] == [
        "GPU 'Made-up 9000' has no data sheet here: `profet gpus add` gives it one.",
        "its GPU is not known: `profet gpus add` gives it one.",
    ]


@pytest.mark.data
def test_the_published_measurements_hold_one_step_and_little_noise(measurements):
    found = check_dataset(read_tables(data_folder() / "profet"), load_gpus())
    told = {one.instance: (round(one.step_ratio, 2), round(one.noise_percent, 2)) for one in found.instances}
    assert told == {
        "g3s.xlarge": (1.02, 0.55),
        "g4dn.xlarge": (1.03, 1.50),
        "p2.xlarge": (1.15, 0.59),
        "p3.2xlarge": (1.12, 2.39),
    }
    assert {pair.common for pair in found.pairs} == {307}
    assert [(finding.kind, finding.cells) for finding in found.findings] == [("noise", 1), ("noise", 1)]
