"""What `profet data check` finds, each kind by measurements that have it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog import load_gpus
from profet_lab.datasets.check import check_dataset
from profet_lab.datasets.dataset import Dataset, InstanceFacts
from profet_lab.datasets.sources import read_tables
from profet_lab.measurements.tables import data_folder


def checked(dataset: Dataset, **changes: object) -> dict:
    return check_dataset(replace(dataset, **changes), load_gpus())


def with_cells(dataset: Dataset, rows: object, **values: object) -> dict:
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
    one = next(row for row in found["instances"] if row["instance"] == "p3.2xlarge")
    stated = {
        name: one[name] for name in ("gpu", "gpu_known", "ok", "out_of_memory", "failed", "profiled", "workloads")
    }
    assert list(stated.values()) == ["Tesla V100-SXM2-16GB", True, 5, 0, 0, 4, 3]
    sizes = [one[name] for name in ("models", "pixels", "batch_sizes", "repeats", "frameworks", "precisions")]
    assert sizes == [["VGG11"], [32, 64], [10, 20], 2, ["tensorflow 2.5"], ["fp32"]]
    # 2,100 us of device rows over two steps of 1 ms an image.
    assert one["step_ratio"] == pytest.approx(1.05)
    # Two runs 0.1 % apart are each half of that off their median.
    assert one["noise_percent"] == pytest.approx(0.05, rel=0.01)
    assert found["findings"] == []


def test_pairs_tell_what_is_missing_and_what_did_not_fit(varied):
    larger = varied.cells["pixels"] == 64
    row = varied.cells[larger].assign(instance="p2.xlarge", status="out-of-memory", batch_latency_ms=np.nan, cell=99)
    cells = pd.concat([varied.cells, row], ignore_index=True)
    cells.loc[cells["pixels"] == 64, "steps_profiled"] = [1, None]
    lacks = (cells["instance"] == "p2.xlarge") & (cells["batch_size"] == 10)
    pairs = {(pair["anchor"], pair["target"]): pair for pair in checked(varied, cells=cells[~lacks])["pairs"]}
    there, back = pairs["p3.2xlarge", "p2.xlarge"], pairs["p2.xlarge", "p3.2xlarge"]
    workload = {"framework": "tensorflow", "precision": "fp32", "model": "VGG11", "pixels": 32, "batch_size": 10}
    assert there["missing_workloads"] == [workload]
    counts = ("common", "missing", "out_of_memory")
    assert [[pair[name] for name in counts] for pair in (there, back)] == [[1, 1, 1], [1, 0, 0]]


def stated(found: dict) -> list[tuple[str, str, int]]:
    """Findings without their sentences."""
    return [(finding["kind"], finding["instance"], finding["cells"]) for finding in found["findings"]]


def lines(found: dict) -> list[str]:
    return [finding["line"] for finding in found["findings"]]


@pytest.mark.parametrize(
    ("factor", "kind", "said"),
    [
        (2, "steps", "2.10 times the latency: profiles seem to cover 2 steps"),
        (0.25, "steps", "0.26 times the latency: profiles seem to miss device time"),
        (1000, "units", "1.05e+03 times the latency: units differ"),
        (0.001, "units", "0.00105 times the latency: units differ"),
    ],
)
def test_profiles_of_other_steps_and_units_are_found(factor, kind, said, varied):
    found = checked(varied, operations=varied.operations.assign(time_us=varied.operations["time_us"] * factor))
    assert stated(found) == [(kind, "p2.xlarge", 4), (kind, "p3.2xlarge", 4)]
    assert said in lines(found)[0]


def test_profiles_without_device_rows_are_found(varied):
    without = varied.operations[~varied.operations["operation"].str.startswith("Device_")]
    assert "no device rows" in lines(checked(varied, operations=without))[0]


def test_noise_is_found(varied):
    rows = (varied.cells["instance"] == "p2.xlarge") & (varied.cells["repeat"] == 2)
    found = with_cells(varied, rows, batch_latency_ms=varied.cells.loc[rows, "batch_latency_ms"] * 1.2)
    assert stated(found) == [("noise", "p2.xlarge", 4)] and " 9.1% " in lines(found)[0]


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_times_that_are_none_are_found(value, varied):
    assert ("time", "p2.xlarge", 1) in stated(with_cells(varied, 1, batch_latency_ms=value))
    if not value > 0:
        wrong = -1.0 if value == 0 else value
        times_us = varied.operations["time_us"].where(varied.operations["cell"] != 1, wrong)
        found = checked(varied, operations=varied.operations.assign(time_us=times_us))
        assert ("time", "p2.xlarge", 1) in stated(found)


def test_duplicates_and_gpus_without_specs_are_found(varied):
    assert ("duplicates", "p2.xlarge", 1) in stated(with_cells(varied, 1, repeat=1))
    facts = {"p2.xlarge": InstanceFacts("Made-up 9000"), "p3.2xlarge": InstanceFacts()}
    first, second = lines(checked(varied, instances=facts))
    assert "'Made-up 9000'" in first and "unknown" in second


def test_the_published_measurements_hold_one_step_and_little_noise():
    found = check_dataset(read_tables(data_folder() / "profet"), load_gpus())
    rows = {
        one["instance"]: (round(one["step_ratio"], 2), round(one["noise_percent"], 2)) for one in found["instances"]
    }
    assert rows == {
        "g3s.xlarge": (1.02, 0.55),
        "g4dn.xlarge": (1.03, 1.50),
        "p2.xlarge": (1.15, 0.59),
        "p3.2xlarge": (1.12, 2.39),
    }
    assert {pair["common"] for pair in found["pairs"]} == {307}
    assert [(kind, cells) for kind, _, cells in stated(found)] == [("noise", 1), ("noise", 1)]
