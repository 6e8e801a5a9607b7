"""Tables that ship: signed as they are, and refused when they are another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from profet_collect import run
from profet_core import shipped
from profet_core.errors import ArtifactError, ProfetError
from profet_core.shipped import CHECKSUMS, shipped_bytes, signed_text
from profet_profiles import pytorch_events

NAMES = [line.split()[1] for line in CHECKSUMS.read_text().splitlines()]


def test_the_tables_are_signed_as_they_are_written_with_either_end_of_line(monkeypatch, tmp_path):
    assert CHECKSUMS.read_text() == signed_text(), "python -m profet_core.shipped"
    original = shipped_bytes("catalog/gpus.csv")
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "gpus.csv").write_bytes(original.replace(b"\n", b"\r\n"))
    monkeypatch.setattr(shipped, "_PACKAGE", tmp_path)
    assert shipped_bytes("catalog/gpus.csv").count(b"\r\n") == original.count(b"\n")


@pytest.mark.parametrize("damage", ["half", "empty", "missing", "folder", "bit"])
@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_table_is_one_line(name, damage, monkeypatch, tmp_path, repository: Path):
    path = tmp_path / name
    path.parent.mkdir()
    shutil.copy(repository / "profet_core" / name, path)
    data = path.read_bytes()
    flipped = bytes([data[40] ^ 1])
    if damage in ("missing", "folder"):
        path.unlink()
        if damage == "folder":
            path.mkdir()
    else:
        path.write_bytes({"half": data[: len(data) // 2], "empty": b"", "bit": data[:40] + flipped + data[41:]}[damage])
    monkeypatch.setattr(shipped, "_PACKAGE", tmp_path)
    with pytest.raises(ArtifactError, match=name) as refused:
        shipped_bytes(name)
    assert "\n" not in str(refused.value) and str(tmp_path) not in str(refused.value)


@pytest.mark.parametrize(
    ("module", "load", "name"),
    [(pytorch_events, "load_translations", "pytorch_operations.csv"), (run, "quick_workloads", "quick_cells.csv")],
)
def test_so_is_a_table_of_another_package(module, load, name, monkeypatch, tmp_path):
    data = Path(module.__file__).with_name(name).read_bytes()
    monkeypatch.setattr(module, "__file__", str(tmp_path / "module.py"))
    read = getattr(module, load).__wrapped__
    (tmp_path / name).write_bytes(data.replace(b"\n", b"\r\n"))
    assert read()
    for damaged in (data[: len(data) // 2], b"", data.replace(b",", b";", 1)):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(ProfetError, match=name):
            read()
    (tmp_path / name).unlink()
    with pytest.raises(ProfetError, match=name):
        read()
