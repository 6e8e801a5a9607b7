"""`profet data`: imported, checked and merged as a person does it; what fails leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow", reason="the training set is not installed: pip install -r requirements.txt")

RUN = ["instance", "model", "pixels", "batch_size", "repeat", "batch_latency_ms", "epoch_latency_s"]
LAYOUT = ["cells.parquet", "dataset.json", "operations.parquet"]


def write_tables(folder: Path, instances: list[str], latency_ms: float = 10.0) -> Path:
    """PROFET's tables of one workload, twice on each instance."""
    rows = [
        (
            name,
            "VGG11",
            32,
            16,
            repeat,
            (latency_ms + number) * (1 + repeat / 1_000),
            7.0,
            20_000.0 + number + repeat,
            8.0,
        )
        for number, name in enumerate(instances)
        for repeat in (1, 2)
    ]
    profiles = pd.DataFrame(rows, columns=[*RUN, "Device_Conv2D", "Host_IDLE"])
    folder.mkdir(parents=True)
    profiles.to_parquet(folder / "profiles.parquet")
    profiles[RUN].to_parquet(folder / "latencies.parquet")
    return folder


@pytest.fixture
def tables(tmp_path) -> Path:
    return write_tables(tmp_path / "tables", ["p2.xlarge", "p3.2xlarge"])


@pytest.fixture
def imported(run, tables, tmp_path) -> Path:
    out = tmp_path / "imported"
    assert run("data", "import", tables, "--out", out)[0] == 0
    return out


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_import_writes_the_layout_and_says_what(run, document, tables, tmp_path):
    status, out, err = run("data", "import", tables, "--out", tmp_path / "one")
    assert (status, err) == (0, "")
    assert out == (f"{tmp_path}/one: 4 cells of p2.xlarge, p3.2xlarge; 4 with a profile, 8 times of operations\n")
    assert files_of(tmp_path / "one") == LAYOUT
    told = document("data", "import", tables, "--out", tmp_path / "two")
    assert list(told) == ["out", "cells", "profiled", "operations", "instances", "sources"]
    assert (told["cells"], told["profiled"], told["operations"]) == (4, 4, 8)
    (source,) = told["sources"]
    assert list(source) == ["name", "kind", "files", "licence"] and source["kind"] == "profet tables"
    operations = pd.read_parquet(tmp_path / "two" / "operations.parquet")
    # Half of what two steps took.
    assert operations["time_us"].tolist()[:2] == [10_000.5, 4.0]
    assert pd.read_parquet(tmp_path / "two" / "cells.parquet")["steps_profiled"].tolist() == [2] * 4


def test_check_tells_what_there_is(run, document, imported):
    told = document("data", "check", imported)
    assert list(told) == ["instances", "pairs", "findings"] and told["findings"] == []
    assert list(told["instances"][0]) == [
        "instance", "gpu", "gpu_known", "ok", "out_of_memory", "failed", "profiled", "workloads", "models", "pixels",
        "batch_sizes", "repeats", "frameworks", "precisions", "step_ratio", "noise_percent",
    ]  # fmt: skip
    assert told["pairs"][0] == {
        "anchor": "p2.xlarge", "target": "p3.2xlarge", "common": 1, "out_of_memory": 0, "missing_workloads": [],
        "missing": 0,
    }  # fmt: skip
    status, out, err = run("data", "check", imported)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[1].split() == ["p2.xlarge", "Tesla", "K80", "2", "0", "0", "2", "2", "1.00", "0.05", "%"]
    assert "p2.xlarge: 1 workload: VGG11; pixels 32; batch 16; tensorflow 2.5; fp32" in lines
    assert "p2.xlarge -> p3.2xlarge       1        0          0" in lines and lines[-1] == "Nothing looks wrong."


def test_check_names_what_is_missing_and_wrong(run, tmp_path):
    own = write_tables(tmp_path / "own", ["desk.x1"], latency_ms=5.0)
    other = write_tables(tmp_path / "other", ["p2.xlarge"])
    table = pd.read_parquet(other / "profiles.parquet").assign(model="LeNet5")
    table.to_parquet(other / "profiles.parquet")
    table[RUN].to_parquet(other / "latencies.parquet")
    assert run("data", "import", own, other, "--out", tmp_path / "out")[0] == 0
    lines = run("data", "check", tmp_path / "out")[1].splitlines()
    assert "desk.x1 -> p2.xlarge lacks VGG11 32x16 (tensorflow fp32)" in lines
    assert "gpu: desk.x1, 2 cells: its GPU is not known: `profet gpus add` gives it one." in lines
    steps = "tensorflow fp32: device rows are 2.00 times the latency: profiles seem to cover 2 steps"
    assert f"steps: desk.x1, 2 cells: {steps}" in lines


def test_merge_joins_and_keeps_sources(document, imported, run, tmp_path):
    other = write_tables(tmp_path / "other", ["desk.x1"])
    assert run("data", "import", other, "--out", tmp_path / "mine")[0] == 0
    told = document("data", "merge", imported, tmp_path / "mine", imported, "--out", tmp_path / "all")
    assert (told["cells"], told["instances"]) == (6, ["desk.x1", "p2.xlarge", "p3.2xlarge"])
    assert [source["name"] for source in told["sources"]] == ["profet", "profet-2"]
    assert files_of(tmp_path / "all") == LAYOUT


def test_a_conflict_is_one_line_and_leaves_nothing(refused, run, imported, tmp_path):
    other = write_tables(tmp_path / "other", ["p2.xlarge"], latency_ms=11.0)
    assert run("data", "import", other, "--out", tmp_path / "mine")[0] == 0
    before = files_of(tmp_path)
    said = refused("data", "merge", imported, tmp_path / "mine", "--out", tmp_path / "all")
    assert "mine has other numbers of VGG11, 32 pixels, batch 16, repeat 1 on p2.xlarge" in said
    assert files_of(tmp_path) == before


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda folder: None, "is not there: name a folder of measurements, or pickles"),
        (lambda folder: folder.mkdir(), "holds no collection, no pickles and no tables of measurements"),
        (lambda folder: folder.write_text("x"), "is no pickle of PROFET's: name its folder"),
        (
            lambda folder: _put(folder, "profiles.parquet", "latencies.parquet"),
            "profiles.parquet is damaged, or no Parquet",
        ),
        (lambda folder: _put(folder, "a.pickle"), "a.pickle: it is damaged, or no pickle: get it again"),
        (lambda folder: _put(folder, "cells.jsonl"), "has no manifest.json"),
        (lambda folder: _put(folder, "p2.xlarge-64-VGG16-SGD-32-1-20220301-101010.csv"), "holds raw files: add --raw"),
    ],
)
def test_a_source_that_is_none_is_one_line(made, said, refused, tmp_path):
    made(tmp_path / "source")
    before = files_of(tmp_path)
    assert said in refused("data", "import", tmp_path / "source", "--out", tmp_path / "out")
    assert files_of(tmp_path) == before


def _put(folder: Path, *names: str) -> None:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("nothing of the kind")


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("pixels", 2**40, "holds '1099511627776' as pixels: it is a whole number above 0"),
        ("batch_size", 16.5, "holds '16.5' as batch_size"),
        ("repeat", 0, "holds '0' as repeat"),
        ("pixels", "large", "holds texts in pixels"),
        ("model", "VGG\n\x1b[31m", "as model: give it a name of one line"),
        ("instance", None, "as instance: give it a name of one line"),
        ("Device_Conv2D", "long", "holds texts in Device_Conv2D"),
        ("batch_latency_ms", 99.0, "profiles and latencies differ in batch_latency_ms of the same runs"),
    ],
)
def test_tables_that_hold_something_else_are_one_line(column, value, said, refused, tables, tmp_path):
    table = pd.read_parquet(tables / "profiles.parquet").assign(**{column: value})
    table.to_parquet(tables / "profiles.parquet")
    assert said in refused("data", "import", tables, "--out", tmp_path / "out")
    assert files_of(tmp_path) == ["tables"]


def test_infinite_times_are_found_and_told_as_json(document, run, tables, tmp_path):
    for name in ("profiles.parquet", "latencies.parquet"):
        table = pd.read_parquet(tables / name)
        table.loc[0, "batch_latency_ms"] = float("inf")
        table.to_parquet(tables / name)
    assert run("data", "import", tables, "--out", tmp_path / "out")[0] == 0
    (finding,) = document("data", "check", tmp_path / "out")["findings"]
    assert (finding["kind"], finding["instance"], finding["cells"]) == ("time", "p2.xlarge", 1)


def test_a_pickle_that_calls_something_is_one_line_and_calls_nothing(refused, tmp_path):
    left = tmp_path / "left"
    (tmp_path / "a.pickle").write_bytes(f"cos\nsystem\n(Vtouch {left}\ntR.".encode())
    said = refused("data", "import", tmp_path / "a.pickle", "--out", tmp_path / "out")
    assert said.endswith("a.pickle: it names 'os.system', which no frame of measurements needs: it is not opened.")
    assert files_of(tmp_path) == ["a.pickle"]


def test_what_is_there_is_not_replaced(refused, imported, tables):
    before = (imported / "dataset.json").read_bytes()
    for command in (("import", tables), ("merge", imported)):
        assert "is there already and is not replaced" in refused("data", *command, "--out", imported)
    assert "is in the layout already: `profet data merge`" in refused(
        "data", "import", imported, "--out", imported / "x"
    )
    assert (imported / "dataset.json").read_bytes() == before


def test_a_full_disk_is_one_line_and_leaves_nothing(refused, tables, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    said = refused("data", "import", tables, "--out", tmp_path / "out")
    assert said == f"{tmp_path}/out can't be written: No space left on device."
    assert files_of(tmp_path) == ["tables"]


def test_another_version_is_one_line(refused, imported):
    document = json.loads((imported / "dataset.json").read_text())
    (imported / "dataset.json").write_text(json.dumps({**document, "layout_version": 2}))
    said = refused("data", "check", imported)
    assert said.endswith("has layout version 2, this program reads 1: import it again with `profet data import`.")


def test_an_action_must_be_chosen(refused):
    assert "ACTION" in refused("data") and "invalid choice" in refused("data", "export")
