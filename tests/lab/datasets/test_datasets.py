"""The data layout: read, written, checked, merged, and turned into measurements."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from profet_core.catalog import load_gpus
from profet_core.errors import InputError
from profet_core.files import sha256_hex
from profet_lab.dataset import (
    CELLS_FILE,
    MANIFEST_FILE,
    OPERATIONS_FILE,
    SCHEMAS,
    Dataset,
    DataSource,
    InstanceFacts,
    check_dataset,
    measurements_from_dataset,
    merged,
    ordered,
)
from profet_lab.dataset_files import read_dataset, read_tables, write_dataset
from profet_lab.measurements.tables import DataError, Measurements, data_folder

RUN = ["instance", "model", "pixels", "batch_size", "repeat"]


def assert_same(read: Measurements, true: Measurements) -> None:
    assert (read.instances, read.operations) == (true.instances, true.operations)
    assert (read.workloads == true.workloads).all(axis=None)
    for name in true.instances:
        np.testing.assert_array_equal(read.times_us[name], true.times_us[name])
        np.testing.assert_array_equal(read.latency_ms[name], true.latency_ms[name])
    latencies = true.all_latencies.sort_values(RUN, ignore_index=True)
    pd.testing.assert_frame_equal(read.all_latencies, latencies, check_dtype=False)


def replaced(dataset: Dataset, cells: pd.DataFrame) -> Dataset:
    return Dataset(cells, dataset.operations, dataset.sources, dataset.instances)


def test_they_are_what_the_published_tables_give(measurements, tmp_path):
    write_dataset(read_tables(data_folder() / "profet"), tmp_path / "out")
    dataset = read_dataset(tmp_path / "out")
    assert (len(dataset.cells), len(dataset.profiled), len(dataset.operations)) == (11_736, 11_052, 413_827)
    assert {name: fact.gpu for name, fact in dataset.instances.items()} == {
        "g3s.xlarge": "Tesla M60",
        "g4dn.xlarge": "Tesla T4",
        "p2.xlarge": "Tesla K80",
        "p3.2xlarge": "Tesla V100-SXM2-16GB",
    }
    assert_same(measurements_from_dataset(dataset), measurements)


def test_runs_are_those_that_all_named_instances_have(dataset):
    cells = dataset.cells.copy()
    lacks = (cells["instance"] == "p2.xlarge") & (cells["batch_size"] == 10) & (cells["repeat"] == 2)
    fewer = replaced(dataset, cells.assign(status=np.where(lacks, "failed", "ok")))
    assert measurements_from_dataset(fewer).workloads[["batch_size", "repeat"]].to_numpy().tolist() == [
        [10, 1],
        [20, 1],
        [20, 2],
    ]
    alone = measurements_from_dataset(fewer, ["p3.2xlarge"])
    assert alone.latency_ms["p3.2xlarge"].tolist() == [5, 5, 10, 10]
    # The same columns, whoever is asked about: one operation is in a single run of the other instance.
    only_p2 = measurements_from_dataset(fewer, ["p2.xlarge"])
    assert only_p2.operations == alone.operations == ("Device_Conv2D", "Device_IDLE", "Host_Dataset", "Host_IDLE")
    assert only_p2.times_us["p2.xlarge"][:, 2].tolist() == [0, 0, 0]
    assert alone.times_us["p3.2xlarge"][:, 2].tolist() == [0, 0, 0, 2]


def test_frameworks_are_a_choice_and_unknown_instances_and_impossible_times_refused(dataset):
    cells = dataset.cells.copy()
    cells.loc[cells["repeat"] == 2, ["framework", "repeat"]] = ["pytorch", 1]
    both = replaced(dataset, cells)
    with pytest.raises(DataError, match="measured in pytorch fp32, tensorflow fp32: choose one framework"):
        measurements_from_dataset(both)
    assert len(measurements_from_dataset(both, framework="pytorch").workloads) == 2
    for bad in (0.0, np.nan, np.inf):
        cells = dataset.cells.copy()
        cells.loc[3, "batch_latency_ms"] = bad
        with pytest.raises(DataError, match="not positive numbers"):
            measurements_from_dataset(replaced(dataset, cells))
    with pytest.raises(InputError, match=r"No measurements of 'p9'"):
        measurements_from_dataset(dataset, ["p9"])


def checked(dataset: Dataset, **changes: object) -> dict:
    return check_dataset(replace(dataset, **changes), load_gpus())


def with_cells(dataset: Dataset, rows: object, **values: object) -> dict:
    cells = dataset.cells.copy()
    for name, value in values.items():
        cells.loc[rows, name] = value
    return checked(dataset, cells=cells)


@pytest.fixture
def varied(dataset) -> Dataset:
    """Every run with numbers of its own, a thousandth apart."""
    first = (dataset.cells["instance"] == "p2.xlarge").to_numpy()
    factor = 1 + dataset.cells["repeat"].to_numpy() / 1_000 + np.where(first, 0.0, 0.000_1)
    cells = dataset.cells.assign(batch_latency_ms=dataset.cells["batch_latency_ms"] * factor)
    by_cell = pd.Series(factor, index=dataset.cells["cell"])
    times_us = dataset.operations["time_us"] * dataset.operations["cell"].map(by_cell)
    return replace(dataset, cells=cells, operations=dataset.operations.assign(time_us=times_us))


def test_what_is_there_is_described(varied):
    report = checked(varied)
    one = next(row for row in report["instances"] if row["instance"] == "p3.2xlarge")
    stated = {
        name: one[name] for name in ("gpu", "gpu_known", "ok", "out_of_memory", "failed", "profiled", "workloads")
    }
    assert list(stated.values()) == ["Tesla V100-SXM2-16GB", True, 5, 0, 0, 4, 3]
    sizes = [one[name] for name in ("models", "pixels", "batch_sizes", "repeats", "frameworks", "precisions")]
    assert sizes == [["VGG11"], [32, 64], [10, 20], 2, ["tensorflow 2.5"], ["fp32"]]
    # 2,100 us of device rows over two steps of 1 ms an image.
    assert one["step_ratio"] == pytest.approx(1.05)
    # Two runs 0.1 % apart are each half of that off their median.
    assert one["noise_percent"] == pytest.approx(0.05, rel=0.01)
    assert report["findings"] == []


def test_pairs_tell_what_is_missing_and_what_did_not_fit(varied):
    larger = varied.cells["pixels"] == 64
    row = varied.cells[larger].assign(instance="p2.xlarge", status="out-of-memory", batch_latency_ms=np.nan, cell=99)
    cells = pd.concat([varied.cells, row], ignore_index=True)
    cells.loc[cells["pixels"] == 64, "steps_profiled"] = [1, None]
    lacks = (cells["instance"] == "p2.xlarge") & (cells["batch_size"] == 10)
    pairs = {(pair["anchor"], pair["target"]): pair for pair in checked(varied, cells=cells[~lacks])["pairs"]}
    there, back = pairs["p3.2xlarge", "p2.xlarge"], pairs["p2.xlarge", "p3.2xlarge"]
    workload = {"framework": "tensorflow", "precision": "fp32", "model": "VGG11", "pixels": 32, "batch_size": 10}
    assert there["missing_workloads"] == [workload]
    counts = ("common", "missing", "out_of_memory")
    assert [[pair[name] for name in counts] for pair in (there, back)] == [[1, 1, 1], [1, 0, 0]]


def stated(report: dict) -> list[tuple[str, str, int]]:
    """Findings without their sentences."""
    return [(finding["kind"], finding["instance"], finding["cells"]) for finding in report["findings"]]


def lines(report: dict) -> list[str]:
    return [finding["line"] for finding in report["findings"]]


@pytest.mark.parametrize(
    ("factor", "kind", "says"),
    [
        (2, "steps", "2.10 times the latency: profiles seem to cover 2 steps"),
        (0.25, "steps", "0.26 times the latency: profiles seem to miss device time"),
        (1000, "units", "1.05e+03 times the latency: units differ"),
        (0.001, "units", "0.00105 times the latency: units differ"),
    ],
)
def test_profiles_of_other_steps_and_units_are_found(factor, kind, says, varied):
    report = checked(varied, operations=varied.operations.assign(time_us=varied.operations["time_us"] * factor))
    assert stated(report) == [(kind, "p2.xlarge", 4), (kind, "p3.2xlarge", 4)]
    assert says in lines(report)[0]


def test_profiles_without_device_rows_noise_duplicates_and_unknown_gpus_are_found(varied):
    without = varied.operations[~varied.operations["operation"].str.startswith("Device_")]
    assert "no device rows" in lines(checked(varied, operations=without))[0]
    rows = (varied.cells["instance"] == "p2.xlarge") & (varied.cells["repeat"] == 2)
    slower = with_cells(varied, rows, batch_latency_ms=varied.cells.loc[rows, "batch_latency_ms"] * 1.2)
    assert stated(slower) == [("noise", "p2.xlarge", 4)] and " 9.1% " in lines(slower)[0]
    assert ("duplicates", "p2.xlarge", 1) in stated(with_cells(varied, 1, repeat=1))
    facts = {"p2.xlarge": InstanceFacts("Made-up 9000"), "p3.2xlarge": InstanceFacts()}
    first, second = lines(checked(varied, instances=facts))
    assert "'Made-up 9000'" in first and "unknown" in second


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_times_that_are_none_are_found(value, varied):
    assert ("time", "p2.xlarge", 1) in stated(with_cells(varied, 1, batch_latency_ms=value))
    if not value > 0:
        wrong = -1.0 if value == 0 else value
        times_us = varied.operations["time_us"].where(varied.operations["cell"] != 1, wrong)
        report = checked(varied, operations=varied.operations.assign(time_us=times_us))
        assert ("time", "p2.xlarge", 1) in stated(report)


def test_the_published_measurements_hold_one_step_and_little_noise():
    report = check_dataset(read_tables(data_folder() / "profet"), load_gpus())
    rows = {
        facts["instance"]: (round(facts["step_ratio"], 2), round(facts["noise_percent"], 2))
        for facts in report["instances"]
    }
    assert rows == {
        "g3s.xlarge": (1.02, 0.55),
        "g4dn.xlarge": (1.03, 1.50),
        "p2.xlarge": (1.15, 0.59),
        "p3.2xlarge": (1.12, 2.39),
    }
    assert {pair["common"] for pair in report["pairs"]} == {307}
    assert [(kind, cells) for kind, _, cells in stated(report)] == [("noise", 1), ("noise", 1)]


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
    dataset = read_dataset(folder)
    first = dataset.cells.iloc[0]
    assert (first["instance"], first["batch_size"], first["repeat"]) == ("p2.xlarge", 10, 1)
    assert (first["steps_profiled"], first["batch_latency_ms"], first["epoch_latency_s"]) == (2, 10.0, 7.0)
    own = dataset.operations[dataset.operations["cell"] == 0]
    # 18,000, 3,000 and 5,000 us of two steps; what took no time is not listed.
    assert dict(zip(own["operation"], own["time_us"], strict=True)) == {
        "Device_Conv2D": 9_000.0,
        "Device_IDLE": 1_500.0,
        "Host_IDLE": 2_500.0,
    }
    assert dataset.instances["p2.xlarge"].gpu == "Tesla K80"
    assert dataset.cells["steps_profiled"].isna().sum() == 1


def test_an_unknown_version_is_refused_and_the_document_lists_every_column(folder, repository):
    for version in (2, "1", None, True):
        change_manifest(folder, layout_version=version)
        with pytest.raises(DataError, match=rf"has layout version {version!r}, this program reads 1"):
            read_dataset(folder)
    stated = (repository / "docs" / "DATA.md").read_text(encoding="utf-8")
    for schema in SCHEMAS.values():
        for field in schema:
            assert f"| `{field.name}` | {field.type} | {field.metadata[b'what'].decode()} |" in stated


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
    ("content", "says"),
    [
        ("", "is damaged"),
        ("[1]", "has an unknown layout"),
        ('{"layout": "profet-measurements", "layout_version": 1}', "is damaged"),
        ("[" * 100_000, "is damaged"),
    ],
    ids=["empty", "no layout", "no tables", "deep"],
)
def test_a_manifest_that_is_none_is_refused(folder, content, says):
    (folder / MANIFEST_FILE).write_text(content)
    with pytest.raises(DataError, match=says):
        read_dataset(folder)


def test_a_missing_file_is_named_and_a_failed_writing_leaves_nothing(folder, tmp_path, dataset):
    (folder / OPERATIONS_FILE).unlink()
    with pytest.raises(DataError, match=r"No operations\.parquet in"):
        read_dataset(folder)
    with pytest.raises(DataError, match=r"No dataset\.json in"):
        read_dataset(tmp_path / "nowhere")
    broken = Dataset(dataset.cells, dataset.operations.assign(time_us="soon"), dataset.sources, dataset.instances)
    with pytest.raises(pa.ArrowException):
        write_dataset(broken, tmp_path / "other")
    assert {path.name for path in tmp_path.iterdir()} == {"data", folder.name}


def part_of(dataset: Dataset, rows: pd.Series, source: DataSource) -> Dataset:
    """Some cells under another source, numbered anew."""
    cells = dataset.cells[rows].assign(source=source.name)
    operations = dataset.operations[dataset.operations["cell"].isin(cells["cell"])]
    instances = {name: dataset.instances[name] for name in cells["instance"].unique()}
    return Dataset(*ordered(cells, operations), (source,), instances)


@pytest.fixture
def halves(dataset) -> list[Dataset]:
    """The cells of one repeat each; the first holds all of the other instance too."""
    first = (dataset.cells["repeat"] == 1) | (dataset.cells["instance"] == "p2.xlarge")
    one = part_of(dataset, first, DataSource("a", "collection", {"cells.jsonl": "1"}))
    other = part_of(dataset, dataset.cells["repeat"] == 2, DataSource("a", "collection", {"cells.jsonl": "2"}, "MIT"))
    return [one, other]


def test_halves_in_any_order_are_the_whole_and_shared_cells_are_there_once(halves, dataset):
    assert [len(half.cells) for half in halves] == [7, 4]
    joined = merged(halves, ["one", "other"])
    pd.testing.assert_frame_equal(joined.operations, dataset.operations)
    columns = [name for name in dataset.cells if name not in ("latency_repeats_ms", "source")]
    pd.testing.assert_frame_equal(joined.cells[columns], dataset.cells[columns])
    # The same name with other files is another source; what both have is the first one's.
    assert [(source.name, source.licence) for source in joined.sources] == [("a", ""), ("a-2", "MIT")]
    assert joined.cells["source"].value_counts().to_dict() == {"a": 7, "a-2": 2}
    assert measurements_from_dataset(joined).latency_ms["p3.2xlarge"].tolist() == [5, 5, 10, 10]
    joined = merged([dataset, dataset, dataset], ["a", "b", "c"])
    assert (len(joined.cells), len(joined.operations), joined.sources) == (9, len(dataset.operations), dataset.sources)
    third = part_of(dataset, dataset.cells["model"] == "VGG11", DataSource("b", "profet tables", {"all files": "3"}))
    all_three = [*halves, third]
    first = merged(all_three, ["one", "other", "third"])
    for order in permutations(all_three):
        merged_sources = merged(order, ["x", "y", "z"])
        pd.testing.assert_frame_equal(merged_sources.cells.drop(columns="latency_repeats_ms"),
                                      first.cells.drop(columns="latency_repeats_ms"))  # fmt: skip
        pd.testing.assert_frame_equal(merged_sources.operations, first.operations)
        assert (merged_sources.sources, merged_sources.instances) == (first.sources, first.instances)


def test_another_number_time_or_operation_is_a_conflict(dataset):
    for name, value in (("batch_latency_ms", 11.0), ("epoch_latency_s", None), ("peak_memory_bytes", 5)):
        cells = dataset.cells.copy()
        cells.loc[1, name] = value
        with pytest.raises(DataError, match=r"batch 10, repeat 2 on p2\.xlarge than another source \(1 cells\)"):
            merged([dataset, replace(dataset, cells=cells)], ["one", "other"])
    operations = dataset.operations.copy()
    operations.loc[0, "time_us"] += 1
    for other in (operations, dataset.operations[1:]):
        with pytest.raises(DataError, match=r"batch 10, repeat 1 on p2\.xlarge than another source"):
            merged([dataset, replace(dataset, operations=other)], ["one", "other"])


def test_machines_that_differ_are_a_conflict_and_what_one_lacks_is_filled_in(dataset):
    other = replace(dataset, instances={**dataset.instances, "p2.xlarge": InstanceFacts("Tesla K80", "470", "")})
    assert merged([dataset, other], ["one", "other"]).instances["p2.xlarge"] == InstanceFacts("Tesla K80", "470", "")
    wrong = replace(dataset, instances={**dataset.instances, "p2.xlarge": InstanceFacts("Tesla T4")})
    with pytest.raises(DataError, match=r"other says that p2\.xlarge has gpu Tesla T4, another source says Tesla K80"):
        merged([dataset, wrong], ["one", "other"])
