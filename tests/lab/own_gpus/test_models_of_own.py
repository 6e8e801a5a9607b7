"""A models folder of your own is written whole or not at all, again and again into the same place."""

from __future__ import annotations

import errno
import shutil

import pytest

from profet_core import ArtifactError, InputError
from profet_lab.own_gpus import models_of_own
from profet_lab.own_gpus.calibrate_gpus import check_out, write_own

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
    monkeypatch.setattr(models_of_own, "shipped_folder", lambda name: tmp_path / name)
    (tmp_path / "models").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "models")
    with pytest.raises(InputError, match="can't be overwritten"):
        check_out(tmp_path / "link")
