"""The data layout: what is written is read as it was, and what isn't of the layout is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from profet_core.files import sha256_hex
from profet_lab.datasets.dataset import CELLS_FILE, MANIFEST_FILE, OPERATIONS_FILE, SCHEMAS, Dataset
from profet_lab.datasets.files import read_dataset, write_dataset
from profet_lab.measurements.tables import DataError


@pytest.fixture
def folder(dataset, tmp_path) -> Path:
    out = tmp_path / "out"
    write_dataset(dataset, out)
    return out


def same(one: Dataset, other: Dataset) -> None:
    pd.testing.assert_frame_equal(one.operations, other.operations)
    columns = [name for name in one.cells if name != "latency_repeats_ms"]
    pd.testing.assert_frame_equal(one.cells[columns], other.cells[columns])
    assert [list(row) for row in one.cells["latency_repeats_ms"]] == [
        list(row) for row in other.cells["latency_repeats_ms"]
    ]
    assert (one.sources, dict(one.instances)) == (other.sources, dict(other.instances))


def change_manifest(folder: Path, **changes: object) -> None:
    path = folder / MANIFEST_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def replace_table(folder: Path, name: str, table: pa.Table) -> None:
    """Another table, with its hash."""
    pq.write_table(table, folder / name)
    files = json.loads((folder / MANIFEST_FILE).read_text())["files"]
    change_manifest(folder, files={**files, name: sha256_hex((folder / name).read_bytes())})


def test_what_is_written_is_read_as_it_was(dataset, folder):
    peaked = dataset.cells.assign(
        peak_memory_bytes=pd.array([2**40 + 1, *[None] * (len(dataset.cells) - 1)], dtype="Int64"),
        latency_repeats_ms=[[1.25, 2.5], *[[]] * (len(dataset.cells) - 1)],
    )
    with_more = Dataset(peaked, dataset.operations, dataset.sources, dataset.instances)
    write_dataset(with_more, folder.with_name("more"))
    same(read_dataset(folder.with_name("more")), with_more)
    assert sorted(path.name for path in folder.iterdir()) == [CELLS_FILE, MANIFEST_FILE, OPERATIONS_FILE]


def test_a_profile_of_two_steps_is_halved_once_and_recorded_as_such(folder):
    found = read_dataset(folder)
    first = found.cells.iloc[0]
    assert (first["instance"], first["batch_size"], first["repeat"]) == ("p2.xlarge", 10, 1)
    assert (first["steps_profiled"], first["batch_latency_ms"], first["epoch_latency_s"]) == (2, 10.0, 7.0)
    own = found.operations[found.operations["cell"] == 0]
    # 18,000, 3,000 and 5,000 us of two steps; what took no time is not listed.
    assert dict(zip(own["operation"], own["time_us"], strict=True)) == {
        "Device_Conv2D": 9_000.0,
        "Device_IDLE": 1_500.0,
        "Host_IDLE": 2_500.0,
    }
    assert found.instances["p2.xlarge"].gpu == "Tesla K80"
    assert found.cells["steps_profiled"].isna().sum() == 1


def test_the_document_lists_every_column(repository):
    stated = (repository / "docs" / "DATA.md").read_text(encoding="utf-8")
    for schema in SCHEMAS.values():
        for field in schema:
            assert f"| `{field.name}` | {field.type} | {field.metadata[b'what'].decode()} |" in stated


def test_an_unknown_version_is_refused(folder):
    for version in (2, "1", None, True):
        change_manifest(folder, layout_version=version)
        with pytest.raises(DataError, match=rf"has layout version {version!r}, this program reads 1"):
            read_dataset(folder)


def test_a_changed_table_is_refused(folder):
    data = bytearray((folder / CELLS_FILE).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / CELLS_FILE).write_bytes(data)
    with pytest.raises(DataError, match=r"cells\.parquet is damaged or was changed"):
        read_dataset(folder)


def test_other_columns_cells_and_names_are_refused(folder):
    table = pq.read_table(folder / OPERATIONS_FILE)
    replace_table(folder, OPERATIONS_FILE, table.rename_columns(["cell", "operation", "time_ms"]))
    with pytest.raises(DataError, match=r"operations\.parquet has other columns"):
        read_dataset(folder)
    numbers = pa.array(np.full(len(table), 99, np.int32))
    replace_table(folder, OPERATIONS_FILE, table.set_column(0, table.schema.field("cell"), numbers))
    with pytest.raises(DataError, match=r"operations\.parquet is damaged"):
        read_dataset(folder)
    replace_table(folder, OPERATIONS_FILE, table)
    cells = pq.read_table(folder / CELLS_FILE)
    place = cells.schema.get_field_index("model")
    names = pa.array(["VGG\x1b[31m"] * len(cells))
    replace_table(folder, CELLS_FILE, cells.set_column(place, cells.schema.field(place), names))
    with pytest.raises(DataError, match=r"cells\.parquet is damaged"):
        read_dataset(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is damaged"),
        ("[1]", "has an unknown layout"),
        ('{"layout": "profet-measurements", "layout_version": 1}', "is damaged"),
        ("[" * 100_000, "is damaged"),
    ],
    ids=["empty", "no layout", "no tables", "deep"],
)
def test_a_manifest_that_is_none_is_refused(folder, content, said):
    (folder / MANIFEST_FILE).write_text(content)
    with pytest.raises(DataError, match=said):
        read_dataset(folder)


def test_a_missing_file_is_named(folder, tmp_path):
    (folder / OPERATIONS_FILE).unlink()
    with pytest.raises(DataError, match=r"No operations\.parquet in"):
        read_dataset(folder)
    with pytest.raises(DataError, match=r"No dataset\.json in"):
        read_dataset(tmp_path / "nowhere")


def test_a_failed_writing_leaves_nothing(dataset, tmp_path):
    broken = Dataset(dataset.cells, dataset.operations.assign(time_us="soon"), dataset.sources, dataset.instances)
    with pytest.raises(pa.ArrowException):
        write_dataset(broken, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
