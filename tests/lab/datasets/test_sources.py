"""Collections are imported, and train beside the published measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from profet_collect.store import Cell, CellResult, open_store
from profet_lab.dataset import measurements_from_dataset
from profet_lab.dataset_files import read_dataset, read_sources, read_store, write_dataset
from profet_lab.measurements.tables import DataError

MANIFEST = {"instance": "my.h200", "device": "gpu", "gpu": "NVIDIA H200", "driver": "570.1", "host": {"cores": 16}}
MANIFEST |= {"threads": None}
RAN = CellResult(
    Cell("pytorch", "tf32", "ResNet50", 224, 32),
    "2.13.0",
    "ok",
    "2026-11-22T07:00:00+00:00",
    batch_latency_ms=20.0,
    latency_repeats_ms=(19.5, 20.0, 21.0),
    peak_memory_bytes=3_000_000_001,
    operations_us={"Device_Conv2D": 15_000.0, "Device_IDLE": 0.0, "Host_IDLE": 1.5},
)
FULL = CellResult(
    Cell("pytorch", "tf32", "VGG19", 256, 256),
    "2.13.0",
    "out-of-memory",
    "2026-11-22T07:01:00+00:00",
    why="no\nmemory\x1b",
)


@pytest.fixture
def collected(tmp_path) -> Path:
    folder = tmp_path / "collected"
    with open_store(folder, MANIFEST) as store:
        store.append(RAN)
        store.append(FULL)
    return folder


def test_every_finished_cell_is_a_row(collected, tmp_path):
    write_dataset(read_sources([collected]), tmp_path / "out")
    dataset = read_dataset(tmp_path / "out")
    ran, full = (dataset.cells.iloc[place] for place in (0, 1))
    of = ran[["instance", "gpu", "framework", "framework_version", "precision"]].tolist()
    assert of == ["my.h200", "H200-SXM-141GB", "pytorch", "2.13.0", "tf32"]
    # Runs count from 1, as PROFET's.
    assert ran[["model", "pixels", "batch_size", "repeat", "status"]].tolist() == ["ResNet50", 224, 32, 1, "ok"]
    assert (ran["batch_latency_ms"], list(ran["latency_repeats_ms"])) == (20.0, [19.5, 20.0, 21.0])
    assert (ran["peak_memory_bytes"], ran["steps_profiled"]) == (3_000_000_001, 1)
    assert ran["recorded_at"] == "2026-11-22T07:00:00+00:00"
    times = dataset.operations[["operation", "time_us"]].to_numpy().tolist()
    assert times == [["Device_Conv2D", 15_000.0], ["Host_IDLE", 1.5]]
    assert (full["status"], full["why"], full["model"]) == ("out-of-memory", "no memory", "VGG19")
    assert full[["batch_latency_ms", "peak_memory_bytes", "steps_profiled"]].isna().all()
    facts = dataset.instances["my.h200"]
    assert (facts.gpu, facts.driver, facts.host) == ("H200-SXM-141GB", "570.1", '{"cores": 16}')
    assert (dataset.sources[0].kind, sorted(dataset.sources[0].files)) == (
        "collection",
        ["cells.jsonl", "manifest.json"],
    )


def test_it_trains_beside_the_published_ones(collected, tables, tmp_path):
    joined = read_sources([tables, collected])
    assert sorted(joined.instances) == ["my.h200", "p2.xlarge", "p3.2xlarge"]
    assert [source.name for source in joined.sources] == ["my.h200", "profet"]
    alone = measurements_from_dataset(joined, ["my.h200"])
    assert alone.latency_ms["my.h200"].tolist() == [20.0]
    assert alone.times_us["my.h200"][0, list(alone.operations).index("Device_Conv2D")] == 15_000.0


def test_torn_and_damaged_lines_and_no_cells(collected, tmp_path):
    path = collected / "cells.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    assert read_store(collected).cells["model"].tolist() == ["ResNet50"]
    path.write_bytes(data.replace(b"15000.0", b"15001.0"))
    with pytest.raises(DataError, match=r"line 1 of cells\.jsonl is damaged"):
        read_store(collected)
    with open_store(tmp_path / "empty", MANIFEST):
        pass
    with pytest.raises(DataError, match="holds no measurements"):
        read_store(tmp_path / "empty")


def test_a_processor_that_stands_in_keeps_its_name(tmp_path):
    with open_store(tmp_path / "cpu", {**MANIFEST, "device": "cpu", "gpu": "Made L4 processor"}) as store:
        store.append(RAN)
    assert read_store(tmp_path / "cpu").instances["my.h200"].gpu == "Made L4 processor"
