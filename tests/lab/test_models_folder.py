"""A models folder is replaced as a whole: killed at any moment the old or the new set works, and nothing else stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from profet_core import ArtifactError, InputError, load_models
from profet_core.files import manifest_checksum, put_aside, sha256_hex
from profet_core.whole_files import lock_path, only_one
from profet_lab.models_folder import new_models_folder
from tests.core.conftest import tiny_manifest

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


# --- a folder of your own ------------------------------------------------------------------------------------------


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


def test_who_collects_into_the_folder_goes_on_writing_to_the_same_file(out):
    cells = out / "collected" / "mine" / "cells.jsonl"
    cells.parent.mkdir(parents=True)
    with cells.open("a") as file:
        file.write("one\n")
        with new_models_folder(out) as folder:
            write_set(folder, 2)
        file.write("two\n")
    assert set_in(out) == 2
    assert cells.read_text() == "one\ntwo\n"


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


def test_coefficients_of_the_old_models_are_not_taken_for_the_new_ones(out):
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["coefficients"] = ["transfer.json"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    (out / "transfer.json").write_text("{}")
    with new_models_folder(out) as folder:
        write_set(folder, 2)
    assert not (out / "transfer.json").exists()
