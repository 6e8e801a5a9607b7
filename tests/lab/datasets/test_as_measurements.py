"""What training works on is the same from the layout as from PROFET's tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from profet_core.errors import InputError
from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.dataset import Dataset
from profet_lab.datasets.files import read_dataset, write_dataset
from profet_lab.datasets.sources import read_tables
from profet_lab.measurements.tables import DataError, Measurements, data_folder

RUN = ["instance", "model", "pixels", "batch_size", "repeat"]


def assert_same(found: Measurements, true: Measurements) -> None:
    assert (found.instances, found.operations) == (true.instances, true.operations)
    assert (found.workloads == true.workloads).all(axis=None)
    for name in true.instances:
        np.testing.assert_array_equal(found.times_us[name], true.times_us[name])
        np.testing.assert_array_equal(found.latency_ms[name], true.latency_ms[name])
    latencies = true.all_latencies.sort_values(RUN, ignore_index=True)
    pd.testing.assert_frame_equal(found.all_latencies, latencies, check_dtype=False)


def replaced(dataset: Dataset, cells: pd.DataFrame) -> Dataset:
    return Dataset(cells, dataset.operations, dataset.sources, dataset.instances)


def test_they_are_what_the_published_tables_give(measurements, tmp_path):
    write_dataset(read_tables(data_folder() / "profet"), tmp_path / "out")
    found = read_dataset(tmp_path / "out")
    assert (len(found.cells), len(found.profiled), len(found.operations)) == (11_736, 11_052, 413_827)
    assert {name: fact.gpu for name, fact in found.instances.items()} == {
        "g3s.xlarge": "Tesla M60",
        "g4dn.xlarge": "Tesla T4",
        "p2.xlarge": "Tesla K80",
        "p3.2xlarge": "Tesla V100-SXM2-16GB",
    }
    assert_same(measurements_of(found), measurements)


def test_runs_are_those_that_all_named_instances_have(dataset):
    cells = dataset.cells.copy()
    lacks = (cells["instance"] == "p2.xlarge") & (cells["batch_size"] == 10) & (cells["repeat"] == 2)
    fewer = replaced(dataset, cells.assign(status=np.where(lacks, "failed", "ok")))
    assert measurements_of(fewer).workloads[["batch_size", "repeat"]].to_numpy().tolist() == [[10, 1], [20, 1], [20, 2]]
    alone = measurements_of(fewer, ["p3.2xlarge"])
    assert alone.latency_ms["p3.2xlarge"].tolist() == [5, 5, 10, 10]
    # The same columns, whoever is asked about: one operation is in a single run of the other instance.
    only_p2 = measurements_of(fewer, ["p2.xlarge"])
    assert only_p2.operations == alone.operations == ("Device_Conv2D", "Device_IDLE", "Host_Dataset", "Host_IDLE")
    assert only_p2.times_us["p2.xlarge"][:, 2].tolist() == [0, 0, 0]
    assert alone.times_us["p3.2xlarge"][:, 2].tolist() == [0, 0, 0, 2]


def test_two_frameworks_of_one_run_are_a_choice(dataset):
    cells = dataset.cells.copy()
    cells.loc[cells["repeat"] == 2, ["framework", "repeat"]] = ["pytorch", 1]
    both = replaced(dataset, cells)
    with pytest.raises(DataError, match="measured in pytorch fp32, tensorflow fp32: choose one framework"):
        measurements_of(both)
    assert len(measurements_of(both, framework="pytorch").workloads) == 2


def test_times_that_are_none_and_unknown_instances_are_refused(dataset):
    for bad in (0.0, np.nan, np.inf):
        cells = dataset.cells.copy()
        cells.loc[3, "batch_latency_ms"] = bad
        with pytest.raises(DataError, match="not positive numbers"):
            measurements_of(replaced(dataset, cells))
    with pytest.raises(InputError, match=r"No measurements of 'p9'"):
        measurements_of(dataset, ["p9"])
