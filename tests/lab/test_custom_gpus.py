"""Measured cells of custom GPUs: what is learned, or why nothing, and what is written."""

from __future__ import annotations

import errno
import json
import shutil

import pandas as pd
import pytest
from msgspec.structs import replace

from profet_core import ArtifactError, InputError
from profet_core.transfer.model import load_transfer
from profet_lab import custom_gpus
from profet_lab.custom_gpus import calibrate_gpus, check_out, write_calibrated
from profet_lab.dataset import Dataset, DataSource, InstanceFacts, dataset_from_tables, merged, ordered
from profet_lab.dataset_files import read_tables
from profet_lab.measurements.tables import DataError, data_folder

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
def with_custom_gpu(published):
    """The same and cells of a new machine, twice V100's speed."""

    def make(gpu=GPU, change=lambda cells: cells, name=NAME):
        table = published.cells[published.cells["instance"] == "p3.2xlarge"]
        cells = table.assign(instance=name, steps_profiled=pd.NA, batch_latency_ms=table["batch_latency_ms"] / 2)
        cells = change(cells.drop(columns=["gpu", "source"]))
        own = dataset_from_tables(
            cells, published.operations.iloc[:0], DataSource(name, "collection", {}), {name: InstanceFacts(gpu)}
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
def test_why_nothing_is_learned(with_custom_gpu, transfer, gpu, change, why):
    found, without = calibrate_gpus(with_custom_gpu(gpu, change), transfer)
    assert found == [] and without.keys() == {NAME} and why in without[NAME]


def test_both_precisions_are_learned_apart(with_custom_gpu, transfer):
    def change(cells):
        tf32 = cells.assign(
            precision="tf32", batch_latency_ms=cells["batch_latency_ms"] / 2, cell=cells["cell"] + 10**6
        )
        return pd.concat([cells, tf32])

    found, without = calibrate_gpus(with_custom_gpu(change=change), transfer)
    by_precision = {one.tf32: one for one in found}
    assert without == {} and set(by_precision) == {True, False}
    assert by_precision[True].compute > by_precision[False].compute + 0.4
    assert by_precision[True].networks == 6
    assert set(by_precision[True].corrections) == set(transfer.instances)


def test_the_better_measured_of_two_machines_counts_beside_the_models_own_measurements(with_custom_gpu, transfer):
    dataset = with_custom_gpu()
    own = replace(dataset, instances={NAME: dataset.instances[NAME]})
    with pytest.raises(DataError, match="name the published measurements with --data too"):
        calibrate_gpus(own, transfer)
    few = with_custom_gpu(change=lambda cells: cells[cells["model"] == "VGG11"], name="other")
    both = merged([with_custom_gpu(), few], ["one", "other"])
    found, without = calibrate_gpus(both, transfer)
    assert [one.instance for one in found] == [NAME]
    assert without == {"other": f"{NAME} has the same GPU and {found[0].cells} cells"}


@pytest.fixture
def base(repository, tmp_path):
    """A models folder that was shipped, read-only."""
    folder = shutil.copytree(
        repository / "models", tmp_path / "base", ignore=shutil.ignore_patterns("*.npz", "*validation*", "*CARD*")
    )
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder


def content_of(folder) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def calibrated(version: int) -> dict:
    return {"schema_version": version, "gpus": []}


def test_calibrations_come_to_copied_models_in_the_place_of_earlier_ones(base, tmp_path):
    write_calibrated(base, tmp_path / "out", calibrated(1))
    there, shipped = content_of(tmp_path / "out"), content_of(base)
    assert {name: there[name] for name in shipped} == shipped
    assert set(there) - set(shipped) == {"calibrated.json"}
    out = tmp_path / "out"
    write_calibrated(base, out, calibrated(1))
    (out / "prices.txt").write_text("somebody's own")
    # Over itself, as who names the same folder twice.
    write_calibrated(out, out, calibrated(2))
    assert json.loads((out / "calibrated.json").read_text()) == calibrated(2)
    assert set(content_of(out)) == {*content_of(base), "prices.txt", "calibrated.json"}


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_what_ends_midway_leaves_the_old_models_as_they_were(base, tmp_path, monkeypatch, failure):
    out = tmp_path / "out"
    write_calibrated(base, out, calibrated(1))
    before = content_of(out)

    def broken(content, path):
        path.write_text("half")
        raise failure

    monkeypatch.setattr(custom_gpus, "write_coefficients", broken)
    raised = ArtifactError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(raised) as error:
        write_calibrated(base, out, calibrated(2))
    assert content_of(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["base", "out"] or not list(tmp_path.glob(".out*"))
    if raised is ArtifactError:
        assert "is unchanged because writing failed: No space left on device" in str(error.value)
        assert "\n" not in str(error.value)


def test_what_ships_is_not_written_over(repository, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="can't be overwritten"):
        check_out(repository / "models")
    monkeypatch.setattr(custom_gpus, "shipped_folder", lambda name: tmp_path / name)
    (tmp_path / "models").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "models")
    with pytest.raises(InputError, match="can't be overwritten"):
        check_out(tmp_path / "link")
