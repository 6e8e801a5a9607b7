"""Training writes a models folder, whole or not at all, that serving runs alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from profet_core import ArtifactError, InputError, load_models
from profet_core.ensemble.members import DenseStack, Fitted, read_fitted, written
from profet_core.files import lock_path, manifest_checksum, only_one, put_aside, sha256_hex, shipped_folder
from profet_lab import train as training
from profet_lab.class_members import PARAMETERS
from profet_lab.documented import fit_forest, fit_line
from profet_lab.models_folder import (
    boosted_stack,
    dense_stack,
    forest_stack,
    line_stack,
    new_models_folder,
    write_fitted,
)
from tests.core.conftest import tiny_manifest
from tests.made.uncompiled import without_compiling


@pytest.fixture(scope="module")
def five_sizes(classed):
    """The made-up set has no full size axis: scalers are fitted elsewhere."""
    rows = [{"instance": name, "axis": "batch", "coefficients": [-1 / 15, 1 / 240, 0.0]} for name in classed.instances]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "_scaler_rows", lambda measurements: rows)
        patch.setattr(training, "learned_scalers", lambda measurements: {})
        without_compiling(patch)
        yield classed


def train(measurements, out, epochs=1, steps=1, **how):
    return training.train(measurements, out, length=training.Length(epochs, steps), **how)


@pytest.fixture(scope="module")
def trained(five_sizes, tmp_path_factory):
    """A folder trained in as few steps as can be: what it says is not the point."""
    out = tmp_path_factory.mktemp("trained") / "models"
    train(five_sizes, out, epochs=2, steps=1)
    with_transfer(out)
    return out


@pytest.fixture
def copied(trained, tmp_path):
    """A copy to train over."""
    return shutil.copytree(trained, tmp_path / "models")


def test_a_trained_folder_loads_and_answers_as_its_members_do(trained, classed):
    models = load_models(trained)
    models.verify()
    assert models.instances == ("slow", "fast")
    assert models.manifest["training_data"]["architectures"] == ["A", "B", "C", "D"]
    latency_ms = np.array([[10.0], [40.0]], np.float32)
    predicted_ms = models.run_members("slow", ["fast"], "line", {"latency_ms": latency_ms})[0]
    np.testing.assert_allclose(predicted_ms, [5.0, 20.0], rtol=1e-4)
    assert models.method("default").kind == "classes"
    assert len(models.reference("slow")) == len(classed.workloads) / 2
    for known in (True, False):
        assert models.interval_scales[known].quantile["slow"]["fast"] > 0
        for member in models.method("default").rules[known].members:
            for sizes in (True, False):
                assert models.stack("slow", member, latency_known=known, sizes_known=sizes).targets == ("fast",)


def test_an_unknown_anchor_is_refused_before_anything_is_written(five_sizes, tmp_path):
    with pytest.raises(InputError, match="Unknown instance 'p9'"):
        train(five_sizes, tmp_path / "models", anchors=["p9"])
    assert not (tmp_path / "models").exists()


def test_a_new_training_of_one_anchor_removes_members_of_the_old_one(five_sizes, copied):
    manifest = train(five_sizes, copied, anchors=["slow"], epochs=1, steps=1)
    assert {row["anchor"] for row in (*manifest["members"], *manifest["stacks"])} == {"slow"}
    assert sorted(path.name for path in copied.iterdir()) == ["manifest.json", "slow", "transfer.json"]
    with pytest.raises(ArtifactError, match="no member"):
        load_models(copied).run_members("fast", ["slow"], "line", {})


def run(fitted: Fitted, rows: np.ndarray) -> np.ndarray:
    """Answers of the file, (models, rows)."""
    return read_fitted(written(fitted)).run(rows)[..., 0]


def test_lines_forests_and_dense_networks_answer_as_before_export(tmp_path):
    latency_ms = np.array([1.0, 2.0, 3.0])
    lines = [fit_line(latency_ms, np.array(target_ms)) for target_ms in ([5.0, 7.0, 9.0], [1 / 3, 2 / 3, 1.0])]
    rows = np.array([[10.0], [0.0], [1e5]])
    np.testing.assert_allclose(run(line_stack(lines), rows), [line.predict(rows) for line in lines], rtol=1e-14)
    np.testing.assert_allclose(run(line_stack(lines[:1]), rows[:2]), [[23.0, 3.0]], rtol=1e-12)
    # Its file lies in its anchor's folder.
    assert write_fitted(line_stack(lines), tmp_path, "slow", "line") == "slow/line.npz"
    assert (tmp_path / "slow" / "line.npz").read_bytes() == written(line_stack(lines))
    random = np.random.default_rng(0)
    features = random.uniform(0, 1e6, (300, 7))
    forests = [fit_forest(features, features[:, part].sum(axis=1) / 1_000, seed=0) for part in (slice(7), slice(3))]
    rows = np.concatenate([features, random.uniform(0, 1e6, (300, 7))]).astype(np.float32)
    np.testing.assert_allclose(
        run(forest_stack(forests), rows), [forest.predict(rows) for forest in forests], rtol=1e-14
    )
    # relu([1000, 2000] @ [[1, -1], [1, 0]]) = [3000, 0]; [3000, 0] @ [[2], [5]] + 500 = 6500 us.
    kernels = [np.array([[[1.0, -1.0], [1.0, 0.0]]]), np.array([[[2.0], [5.0]]])]
    one, other = (
        DenseStack(kernels, [np.zeros((1, 1, 2)), np.full((1, 1, 1), bias_us)], "relu") for bias_us in (500.0, 1_500.0)
    )
    rows = np.array([[1_000.0, 2_000.0]])
    # In single precision, to three digits of a latency.
    np.testing.assert_allclose(run(dense_stack([one, other]), rows), [[6.5], [7.5]], rtol=1e-5)
    third = DenseStack([np.full((1, 2, 1), 1 / 3)], [np.zeros((1, 1, 1))], "relu")
    (kernel,) = read_fitted(written(dense_stack([third]))).kernels
    assert kernel.dtype == np.float32 and kernel[0, 0, 0] == np.float32(1 / 3_000)


@pytest.fixture(scope="module")
def boosted() -> list:
    """Three LightGBM models of four inputs, with other trees and another number of them each."""
    random = np.random.default_rng(0)
    seen = random.uniform(-3, 3, (400, 4))
    wanted = [np.sin(seen[:, 0]) + seen[:, 1], 5 - seen[:, 2] ** 2, np.abs(seen[:, 3])]
    return [
        lightgbm.train({**PARAMETERS, "seed": number}, lightgbm.Dataset(seen, values), 30 + 10 * number)
        for number, values in enumerate(wanted)
    ]


@pytest.mark.parametrize(("models", "rows"), [(1, 1), (3, 500)])
def test_boosted_trees_answer_as_before_export_each_on_its_own_target(boosted, models, rows):
    seen = np.random.default_rng(1).uniform(-3, 3, (rows, 4))
    outputs = run(boosted_stack(boosted[:models]), seen)
    assert outputs.shape == (models, rows)
    expected = [boosted[number].predict(seen) for number in range(models)]
    np.testing.assert_allclose(outputs, expected, rtol=1e-12, atol=1e-13)
    assert written(boosted_stack(boosted)) == written(boosted_stack(boosted)), "equal members are equal bytes"


def test_boosted_trees_send_thresholds_left_end_in_leaves_and_know_no_missing_values(boosted):
    thresholds = read_fitted(written(boosted_stack(boosted[:1]))).numbers
    rows = np.repeat(np.concatenate([thresholds, np.nextafter(thresholds, np.inf)])[:, None], 4, axis=1)
    np.testing.assert_allclose(
        run(boosted_stack(boosted[:1]), rows)[0], boosted[0].predict(rows), rtol=1e-12, atol=1e-13
    )
    seen = np.zeros((50, 2))
    constant = lightgbm.train(PARAMETERS, lightgbm.Dataset(seen, np.full(50, 7.0)), 3)
    np.testing.assert_allclose(run(boosted_stack([constant]), seen[:2]), [[7.0, 7.0]])
    seen = np.random.default_rng(0).normal(size=(200, 2))
    seen[::3, 0] = np.nan
    missing = lightgbm.train(PARAMETERS, lightgbm.Dataset(seen, np.isnan(seen[:, 0]) + seen[:, 1]), 3)
    with pytest.raises(ValueError, match="none missing"):
        boosted_stack([missing])


MEMBERS = 12


def write_set(folder: Path, number: int) -> None:
    """Models whose members all hold `number`, so that a mixed set shows."""
    manifest = {**tiny_manifest(), "seed": number}
    for member in range(MEMBERS):
        data = f"set {number}, member {member}".encode() * 1000
        path = folder / f"g4dn.xlarge/{member}.onnx"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        manifest["files"][f"g4dn.xlarge/{member}.onnx"] = sha256_hex(data)
    manifest["checksum"] = manifest_checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with_transfer(folder)


def with_transfer(folder: Path) -> None:
    """Add the shipped transfer model, which no folder of models is without."""
    shutil.copy(shipped_folder("models") / "transfer.json", folder)


def set_in(out: Path) -> int:
    """The number of the one whole set that is served from `out`."""
    models = load_models(out)
    models.verify()
    return models.manifest["seed"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    out = tmp_path / "models"
    with new_models_folder(out) as folder:
        write_set(folder, 1)
    (out / "CARD.md").write_text("written by hand")
    return out


def beside(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir())


def test_a_new_set_takes_the_place_of_the_old_one_and_the_card_stays(out):
    (out / "g4dn.xlarge" / "notes.txt").write_text("mine")
    with new_models_folder(out) as folder:
        write_set(folder, 2)
        (folder / "g4dn.xlarge" / "0.onnx").rename(folder / "0.onnx")
        assert set_in(out) == 1
    assert json.loads((out / "manifest.json").read_text())["seed"] == 2
    assert (out / "CARD.md").read_text() == "written by hand"
    assert (out / "g4dn.xlarge" / "notes.txt").read_text() == "mine"
    assert not (out / "g4dn.xlarge" / "0.onnx").exists(), "a member of the old set"
    assert beside(out) == ["models"]


def test_killed_between_the_two_renames_the_old_set_is_served_and_put_back(out):
    out.rename(put_aside(out))
    assert set_in(out) == 1
    with pytest.raises(RuntimeError), new_models_folder(out) as folder:
        assert not list(folder.iterdir())
        raise RuntimeError
    assert (set_in(out), beside(out)) == (1, ["models"])
    assert (out / "CARD.md").exists()


def test_what_has_not_read_its_files_says_that_they_were_replaced(out):
    models = load_models(out)
    with new_models_folder(out) as folder:
        write_set(folder, 2)
    with pytest.raises(ArtifactError, match=r"changed while this program was running: restart it"):
        models.verify()


@pytest.mark.parametrize("what", ["file", "other things", "locked"])
def test_what_can_not_be_replaced_is_refused_before_anything_is_trained(tmp_path, what):
    out = tmp_path / "out"
    if what == "file":
        out.write_text("x")
    else:
        out.mkdir()
    if what == "other things":
        (out / "thesis.tex").write_text("years")
    says = {"file": "not a folder", "other things": "holds other things than models", "locked": "Another program"}[what]
    with pytest.raises(InputError if what == "locked" else ArtifactError, match=says):
        if what == "locked":
            with only_one(out), new_models_folder(out):
                pytest.fail("two at once")
        with new_models_folder(out):
            pytest.fail("it was not refused")
    assert not lock_path(out).exists()
    assert what != "other things" or (out / "thesis.tex").read_text() == "years"


def test_a_folder_may_have_a_catalog_and_data_before_it_has_models(tmp_path):
    home = tmp_path / "home"
    (home / "data" / "mine").mkdir(parents=True)
    for name in ("instances.csv", "gpus.csv", "data/mine/cells.parquet"):
        (home / name).write_text(name)
    with new_models_folder(home) as folder:
        write_set(folder, 1)
    assert set_in(home) == 1
    for name in ("instances.csv", "gpus.csv", "data/mine/cells.parquet"):
        assert (home / name).read_text() == name
    assert beside(home) == ["home"]


def test_collections_go_on_in_the_folder_and_old_coefficients_are_not_taken_for_new(out):
    cells = out / "collected" / "mine" / "cells.jsonl"
    cells.parent.mkdir(parents=True)
    with cells.open("a") as file:
        file.write("one\n")
        with new_models_folder(out) as folder:
            write_set(folder, 2)
        file.write("two\n")
    assert set_in(out) == 2
    assert cells.read_text() == "one\ntwo\n"
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["coefficients"] = ["transfer.json"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    (out / "transfer.json").write_text("{}")
    with new_models_folder(out) as folder:
        write_set(folder, 2)
    assert (out / "transfer.json").read_text() != "{}"


def test_killed_before_the_data_were_moved_they_are_moved_by_the_next_training(out):
    kept = put_aside(out) / "data" / "old"
    kept.mkdir(parents=True)
    (kept / "cells.parquet").write_text("old")
    (out / "data" / "new").mkdir(parents=True)
    with new_models_folder(out) as folder:
        write_set(folder, 2)
    assert sorted(path.name for path in (out / "data").iterdir()) == ["new", "old"]
    assert (out / "data" / "old" / "cells.parquet").read_text() == "old"
    assert beside(out) == ["models"]
