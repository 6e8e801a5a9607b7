"""What is learned of an instance's cells, and why nothing is."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from profet_core.transfer.model import load_transfer
from profet_lab.datasets.dataset import Dataset, InstanceFacts, Source, dataset_of, merged, ordered
from profet_lab.datasets.sources import read_tables
from profet_lab.measurements.tables import DataError, data_folder
from profet_lab.own_gpus.calibrate_gpus import calibrate_gpus

NAME, GPU = "lab-h100", "H100-SXM5-80GB"


@pytest.fixture(scope="module")
def published(measurements) -> Dataset:
    """Six networks of the measurements, one run of each workload."""
    whole = read_tables(data_folder() / "profet")
    networks = ("AlexNet", "ResNet18", "ResNet50", "VGG11", "MobileNetV2", "LeNet5")
    cells = whole.cells[(whole.cells["repeat"] == 1) & whole.cells["model"].isin(networks)]
    cells = cells[cells["batch_size"].isin([16, 64, 256])]
    operations = whole.operations[whole.operations["cell"].isin(cells["cell"])]
    cells, operations = ordered(cells, operations)
    return replace(whole, cells=cells, operations=operations)


@pytest.fixture(scope="module")
def transfer(repository):
    return load_transfer(repository / "models")


@pytest.fixture
def with_own(published):
    """The same and cells of a new machine, twice V100's speed."""

    def make(gpu=GPU, change=lambda cells: cells, name=NAME):
        table = published.cells[published.cells["instance"] == "p3.2xlarge"]
        cells = table.assign(instance=name, steps_profiled=pd.NA, batch_latency_ms=table["batch_latency_ms"] / 2)
        cells = change(cells.drop(columns=["gpu", "source"]))
        own = dataset_of(
            cells, published.operations.iloc[:0], Source(name, "collection", {}), {name: InstanceFacts(gpu)}
        )
        return merged([published, own], ["published", "own"])

    return make


@pytest.mark.parametrize(
    ("gpu", "change", "why"),
    [
        ("", lambda cells: cells, "the data don't say which GPU it has"),
        ("Cray-1", lambda cells: cells, "no specs of Cray-1: add the GPU with `profet gpus add`"),
        ("Tesla T4", lambda cells: cells, "Tesla T4 is one of the profiled GPUs"),
        (GPU, lambda cells: cells.assign(status="failed"), "none of its cells ran to the end in FP32 or TF32"),
        (GPU, lambda cells: cells.assign(precision="amp"), "none of its cells ran to the end in FP32 or TF32"),
        (GPU, lambda cells: cells.assign(model=cells["model"] + "x"), "is a workload that the models' instances"),
    ],
)
def test_why_nothing_is_learned(with_own, transfer, gpu, change, why):
    found, without = calibrate_gpus(with_own(gpu, change), transfer)
    assert found == [] and without.keys() == {NAME} and why in without[NAME]


def test_both_precisions_are_learned_apart(with_own, transfer):
    def change(cells):
        tf32 = cells.assign(
            precision="tf32", batch_latency_ms=cells["batch_latency_ms"] / 2, cell=cells["cell"] + 10**6
        )
        return pd.concat([cells, tf32])

    found, without = calibrate_gpus(with_own(change=change), transfer)
    by_precision = {one.tf32: one for one in found}
    assert without == {} and set(by_precision) == {True, False}
    assert by_precision[True].log_speed > by_precision[False].log_speed + 0.4
    assert by_precision[True].networks == 6
    assert set(by_precision[True].corrections) == set(transfer.instances)


def test_without_the_models_own_measurements_one_line_says_so(with_own, transfer):
    dataset = with_own()
    own = replace(dataset, instances={NAME: dataset.instances[NAME]})
    with pytest.raises(DataError, match="name the published measurements with --data too"):
        calibrate_gpus(own, transfer)


def test_of_two_machines_with_one_gpu_the_better_measured_counts(with_own, transfer):
    few = with_own(change=lambda cells: cells[cells["model"] == "VGG11"], name="other")
    both = merged([with_own(), few], ["one", "other"])
    found, without = calibrate_gpus(both, transfer)
    assert [one.instance for one in found] == [NAME]
    assert without == {"other": f"{NAME} has the same GPU and {found[0].cells} cells"}
