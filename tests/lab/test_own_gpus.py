"""Your own measurements: which instances get models, and what is written."""

from __future__ import annotations

import errno
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from profet_core import ArtifactError, InputError
from profet_core.transfer.model import load_transfer
from profet_lab.datasets.dataset import Dataset, InstanceFacts, Source, dataset_of, merged, ordered
from profet_lab.datasets.files import write_dataset
from profet_lab.datasets.sources import read_tables
from profet_lab.measurements.tables import DataError, data_folder
from profet_lab.own_gpus import calibrate_gpus as own
from profet_lab.own_gpus.calibrate_gpus import calibrate_gpus, check_out, write_own
from profet_lab.own_gpus.groups import common_workloads, pair_groups, read_data

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


def profiled(workloads: dict[str, int], networks=("A", "B", "C"), **given) -> Dataset:
    """So many sizes of each network on each instance, each profiled once."""
    rows = [
        (name, model, 32, 16 * (size + 1), 1, 5.0 + size, 1)
        for name, sizes in workloads.items()
        for model in networks
        for size in range(sizes)
    ]
    columns = ["instance", "model", "pixels", "batch_size", "repeat", "batch_latency_ms", "steps_profiled"]
    cells = pd.DataFrame(rows, columns=columns).assign(**{"framework": "pytorch", **given})
    cells["cell"] = range(len(cells))
    operations = cells[["cell"]].assign(operation="Device_Conv2D", time_us=4_000.0)
    return dataset_of(cells, operations, Source("made", "collection", {}))


def test_enough_workloads_of_two_instances_are_what_both_have():
    found = common_workloads(profiled({"one": 5, "two": 3, "three": 1}))
    assert found.measurements.instances == ("one", "two")
    assert len(found.measurements.workloads) == 9
    assert (found.framework, found.precision) == ("pytorch", "fp32")
    assert found.without == {"three": "3 workloads in common with one, two: too few"}


@pytest.mark.parametrize(
    ("workloads", "given"),
    [
        ({"one": 5, "two": 2}, {}),
        ({"one": 5}, {}),
        ({"one": 9, "two": 9}, {"networks": ("A", "B")}),
        ({"one": 5, "two": 5}, {"precision": "amp"}),
    ],
)
def test_too_few_in_common_is_one_line(workloads, given):
    with pytest.raises(DataError, match="9 profiled workloads of 3 networks"):
        common_workloads(profiled(workloads, **given))


def test_sizes_that_were_not_all_measured_get_no_scaler():
    from profet_lab import train as training

    measurements = common_workloads(profiled({"one": 5, "two": 5})).measurements
    assert training._scaler_rows(measurements) == []
    runs = measurements.all_latencies
    whole = pd.concat(
        [runs.assign(pixels=256, batch_size=size, batch_latency_ms=1.0 * size) for size in (16, 32, 64, 128, 256)]
    )
    rows = training._scaler_rows(replace(measurements, all_latencies=whole))
    assert [(row["instance"], row["axis"]) for row in rows] == [("one", "batch"), ("two", "batch")]


def written(folder, name):
    size = {"model": "A", "pixels": 32, "batch_size": 16, "repeat": 1}
    run = {"cell": 0, "instance": name, "framework": "tensorflow", **size, "batch_latency_ms": 5.0, "steps_profiled": 1}
    cells = pd.DataFrame([run])
    operations = pd.DataFrame({"cell": [0], "operation": ["Device_Conv2D"], "time_us": [4_000.0]})
    write_dataset(dataset_of(cells, operations, Source("made", "collection", {})), folder)
    return folder


@pytest.mark.parametrize("name", ["../outside", "/etc/models", "a//b", ".", "a\\b"])
def test_a_name_that_leads_elsewhere_is_one_line(tmp_path, name):
    with pytest.raises(DataError, match="can't be an instance's name") as error:
        read_data([written(tmp_path / "data", name)])
    assert "\n" not in str(error.value)


def test_other_names_stand(tmp_path):
    for place, name in enumerate(("gcp/a2-highgpu-1g", "my rig")):
        assert list(read_data([written(tmp_path / str(place), name)]).instances) == [name]


CALIBRATED = {"schema_version": 1, "gpus": []}


@pytest.fixture
def base(repository, tmp_path):
    """A models folder that was shipped, read-only."""
    folder = shutil.copytree(
        repository / "models", tmp_path / "base", ignore=shutil.ignore_patterns("*.npz", "*validation*", "*CARD*")
    )
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder


def layer(text):
    """Writes a layer that says `text`."""

    def write(folder):
        (folder / "own_pairs" / "0").mkdir(parents=True)
        (folder / "own_pairs" / "0" / "manifest.json").write_text(text)
        (folder / "own_pairs.json").write_text(text)

    return write


def content_of(folder) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_models_are_copied_and_what_is_one_s_own_comes_to_them(base, tmp_path):
    out = tmp_path / "out"
    write_own(base, out, calibrated=CALIBRATED, write_pairs=layer("first"))
    there, shipped = content_of(out), content_of(base)
    assert {name: there[name] for name in shipped} == shipped
    assert set(there) - set(shipped) == {"calibrated.json", "own_pairs.json", "own_pairs/0/manifest.json"}


def test_a_later_training_takes_the_place_of_an_earlier_one(base, tmp_path):
    out = tmp_path / "out"
    write_own(base, out, calibrated=CALIBRATED, write_pairs=layer("first"))
    (out / "own_pairs" / "7").mkdir()
    (out / "own_pairs" / "7" / "left.npz").write_text("of an older version")
    (out / "prices.txt").write_text("somebody's own")
    write_own(base, out, calibrated=CALIBRATED, write_pairs=layer("second"))
    assert (out / "own_pairs.json").read_text() == "second" and not (out / "own_pairs" / "7").exists()
    write_own(base, out, calibrated=None, write_pairs=None)
    assert set(content_of(out)) == {*content_of(base), "prices.txt"}


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_what_ends_midway_leaves_the_old_models_as_they_were(base, tmp_path, failure):
    out = tmp_path / "out"
    write_own(base, out, calibrated=CALIBRATED, write_pairs=layer("first"))
    before = content_of(out)

    def broken(folder):
        layer("second")(folder)
        raise failure

    raised = ArtifactError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(raised) as error:
        write_own(base, out, calibrated=CALIBRATED, write_pairs=broken)
    assert content_of(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["base", "out"] or not list(tmp_path.glob(".out*"))
    if raised is ArtifactError:
        assert "is unchanged because writing failed: No space left on device" in str(error.value)
        assert "\n" not in str(error.value)


def test_what_ships_is_not_written_over(repository, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="can't be overwritten"):
        check_out(repository / "models")
    monkeypatch.setattr(own, "shipped_folder", lambda name: tmp_path / name)
    (tmp_path / "models").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "models")
    with pytest.raises(InputError, match="can't be overwritten"):
        check_out(tmp_path / "link")


FOUR = ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
DESK, DESK_GPU = "desk", "GeForce RTX 2080 Ti"


def made(*machines: dict, networks: int = 5) -> Dataset:
    """The four with 150 workloads each, and machines: `name`, `workloads`, and what else their cells say."""
    runs = [{"name": name, "workloads": 150, "gpu": ""} for name in FOUR]
    rows, facts = [], {}
    for machine in [*runs, *machines]:
        machine = {"framework": "tensorflow", "precision": "fp32", "gpu": DESK_GPU, "steps_profiled": 1, **machine}
        name, count = machine.pop("name"), machine.pop("workloads")
        facts[name] = InstanceFacts(machine.pop("gpu"))
        for number in range(count):
            size = {"model": f"net{number % networks}", "pixels": 32, "batch_size": 1 + number, "repeat": 1}
            rows.append({"instance": name, **size, "batch_latency_ms": 5.0, **machine})
    cells = pd.DataFrame(rows)
    cells["cell"] = range(len(cells))
    operations = cells[["cell"]].assign(operation="Device_Conv2D", time_us=4_000.0)
    operations = operations[cells["steps_profiled"].notna().to_numpy()]
    return dataset_of(cells, operations, Source("made", "collection", {}), facts)


def pairs_of(groups) -> set[tuple[str, str]]:
    return {pair for group in groups for pair in group.pairs}


BOTH_WAYS = {(name, DESK) for name in FOUR} | {(DESK, name) for name in FOUR}


@pytest.mark.parametrize(
    ("workloads", "trained"),
    [(49, set()), (50, {(DESK, name) for name in FOUR}), (99, {(DESK, name) for name in FOUR}), (100, BOTH_WAYS)],
)
def test_so_many_workloads_are_enough_from_a_machine_and_to_it(transfer, workloads, trained):
    groups, without = pair_groups(made({"name": DESK, "workloads": workloads}), transfer)
    assert pairs_of(groups) == trained
    assert without.keys() == BOTH_WAYS - trained
    assert all(f"{workloads} workloads of 5 networks" in why for why in without.values())


def test_what_one_instance_lacks_is_common_to_the_others(transfer):
    dataset = made({"name": DESK, "workloads": 120})
    small = (dataset.cells["instance"] == "g3s.xlarge") & (dataset.cells["batch_size"] > 30)
    cells = dataset.cells[~small]
    operations = dataset.operations[dataset.operations["cell"].isin(cells["cell"])]
    groups, without = pair_groups(replace(dataset, cells=cells, operations=operations), transfer)
    assert pairs_of(groups) == BOTH_WAYS - {("g3s.xlarge", DESK), (DESK, "g3s.xlarge")}
    assert {group.measurements.distinct_workloads for group in groups} == {120}
    assert all("30 workloads of 5 networks" in why for why in without.values()) and len(without) == 2


def test_few_networks_are_too_few(transfer):
    groups, without = pair_groups(made({"name": DESK, "workloads": 150}, networks=4), transfer)
    assert groups == [] and all("of 5:" in why for why in without.values())


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        ({"gpu": ""}, "its GPU's specs are unknown"),
        ({"gpu": "Cray-1"}, "its GPU's specs are unknown"),
        ({"framework": "pytorch"}, "none of its cells has a profile"),
        ({"precision": "amp"}, "none of its cells has a profile"),
        ({"steps_profiled": None}, "none of its cells has a profile"),
    ],
)
def test_a_machine_that_can_be_in_no_pair_says_why(transfer, machine, why):
    groups, without = pair_groups(made({"name": DESK, "workloads": 120, **machine}), transfer)
    assert groups == [] and without.keys() == BOTH_WAYS
    assert all(why in said for said in without.values())


def test_two_machines_are_a_pair_too_and_one_gpu_counts_once(transfer):
    other = {"name": "rig", "workloads": 120, "gpu": "GeForce RTX 3090", "precision": "tf32"}
    twin = {"name": "twin", "workloads": 110}
    groups, without = pair_groups(made({"name": DESK, "workloads": 120}, other, twin), transfer)
    assert [tuple(one.instance for one in group.machines) for group in groups] == [(DESK,), ("rig",), (DESK, "rig")]
    assert [one.tf32 for one in groups[2].machines] == [False, True]
    assert groups[2].measurements.instances == (DESK, "rig") and groups[2].measurements.distinct_workloads == 120
    assert {(anchor, why) for (anchor, _), why in without.items() if anchor not in FOUR} == {
        ("twin", f"{DESK} has the same GPU and more cells")
    }


def test_published_measurements_that_are_missing_leave_the_machines_alone(transfer):
    dataset = made({"name": DESK, "workloads": 100}, {"name": "rig", "workloads": 100, "gpu": "L4"})
    own = {name: facts for name, facts in dataset.instances.items() if name not in FOUR}
    cells = dataset.cells[dataset.cells["instance"].isin(own)]
    groups, _ = pair_groups(replace(dataset, cells=cells, instances=own), transfer)
    assert (DESK, "rig") in pairs_of(groups)
