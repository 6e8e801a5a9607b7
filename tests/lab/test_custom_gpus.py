"""Measured cells of custom GPUs: what is learned, or why nothing, and what is written."""

from __future__ import annotations

import errno
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from profet_core import ArtifactError, InputError
from profet_core.catalog.gpus import FP32, PLAIN, host_named
from profet_core.ensemble.work import GROUPS
from profet_core.layers.by_name import Asked, Recorded, read_step
from profet_core.layers.rates import KINDS, rate_model_of
from profet_core.prediction.models import load_models
from profet_lab import custom_gpus
from profet_lab.custom_gpus import calibrate_gpus, check_out, write_calibrated
from profet_lab.dataset import Dataset, DataSource, InstanceFacts, dataset_from_tables, merged, ordered
from profet_lab.dataset_files import read_tables
from profet_lab.measurements.tables import data_folder
from profet_profiles import Profile

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
def models(repository):
    return load_models(repository / "models")


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
        (GPU, lambda cells: cells.assign(status="failed"), "none of its cells ran to the end"),
        (GPU, lambda cells: cells.assign(model=cells["model"] + "x"), "is of a network that is known by its layers"),
    ],
)
def test_why_nothing_is_learned(with_custom_gpu, models, gpu, change, why):
    measured, without = calibrate_gpus(with_custom_gpu(gpu, change), models)
    assert measured == [] and without.keys() == {NAME} and why in without[NAME]


def test_every_precision_counts_and_the_published_measurements_are_not_needed(with_custom_gpu, models):
    def in_precisions(cells):
        tf32, amp = (
            cells.assign(precision=name, batch_latency_ms=cells["batch_latency_ms"] / times, cell=cells["cell"] + place)
            for name, times, place in (("tf32", 2.0, 10**6), ("amp", 3.0, 2 * 10**6))
        )
        return pd.concat([cells, tf32, amp])

    whole = with_custom_gpu(change=in_precisions)
    (effects,), without = calibrate_gpus(replace(whole, instances={NAME: whole.instances[NAME]}), models)
    (fp32,), _ = calibrate_gpus(with_custom_gpu(), models)
    assert without == {} and (effects.gpu, effects.instance, effects.networks) == (GPU, NAME, 6)
    # No GPU gains the same in every network, so these steps are none that the rates expect.
    assert effects.rows == 3 * fp32.rows and 0 < effects.log_sd <= 1.2 * fp32.log_sd


def test_the_better_measured_of_two_machines_counts(with_custom_gpu, models):
    few = with_custom_gpu(change=lambda cells: cells[cells["model"] == "VGG11"], name="other")
    both = merged([with_custom_gpu(), few], ["one", "other"])
    (effects,), without = calibrate_gpus(both, models)
    assert effects.instance == NAME and without == {"other": f"{NAME} has the same GPU and {effects.rows} cells"}


def test_twice_as_slow_cells_make_twice_as_slow_steps(with_custom_gpu, models):
    def slower(cells):
        return cells.assign(batch_latency_ms=cells["batch_latency_ms"] * 2)

    costs = [calibrate_gpus(with_custom_gpu(change=change), models)[0][0] for change in (lambda cells: cells, slower)]
    apart = (costs[1].log_costs - costs[0].log_costs)[KINDS.index("convolution")]
    assert apart == pytest.approx(np.log(2), abs=0.1)
    assert costs[0].log_sd < rate_model_of(models).unknown_gpu_log_sd


def test_steps_of_measured_gpus_are_the_same_beside_others_and_surer(with_custom_gpu, models):
    (effects,), _ = calibrate_gpus(with_custom_gpu(), models)
    (in_pytorch,), _ = calibrate_gpus(with_custom_gpu(change=lambda cells: cells.assign(framework="pytorch")), models)
    assert (effects.in_tensorflow, in_pytorch.in_tensorflow) == (True, False)
    gpus, host = models.transfer.gpus, host_named("broadwell")
    asked, groups_ms = Asked(FP32, PLAIN, 64, 224), np.linspace(5.0, 10.0, len(GROUPS))
    recorded = Recorded(gpus["Tesla T4"], host, asked, 110.0, 0.02, 95.0)

    def steps(effects, *names):
        own = models.with_transfer(models.transfer)
        own.__dict__["rates"] = rate_model_of(models).with_gpus({GPU: effects})
        step = read_step(own, "g4dn.xlarge", groups_ms, recorded, Profile({"Device_Conv2D": 1.0}))
        return step.on([(gpus[name], host) for name in names], asked, [recorded])(64, 224)

    other, another = "A100-SXM4-40GB", "L4"
    together, alone, others = (steps(effects, *names) for names in ((other, GPU, another), (GPU,), (other, another)))
    assert together.latency_ms[1] == alone.latency_ms[0] and together.log_sd[1] == alone.log_sd[0]
    np.testing.assert_array_equal(together.latency_ms[[0, 2]], others.latency_ms)
    # Another program's kernels are less like those that were profiled.
    assert alone.log_sd[0] < 0.7 * steps(in_pytorch, GPU).log_sd[0]


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
