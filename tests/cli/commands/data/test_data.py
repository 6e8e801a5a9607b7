"""`profet data`: imported, checked and merged as a person does it; what fails leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow", reason="the training set is not installed: pip install -r requirements.txt")

RUN = ["instance", "model", "pixels", "batch_size", "repeat", "batch_latency_ms", "epoch_latency_s"]
LAYOUT = ["cells.parquet", "dataset.json", "operations.parquet"]


def write_tables(folder: Path, instances: list[str], latency_ms: float = 10.0) -> Path:
    """PROFET's tables of one workload, twice on each instance."""
    rows = [
        (name, "VGG11", 32, 16, repeat, (latency_ms + at) * (1 + repeat / 1_000), 7.0, 20_000.0 + at + repeat, 8.0)
        for at, name in enumerate(instances)
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
    assert "4 cells of p2.xlarge, p3.2xlarge; 4 with a profile" in out and out.count("\n") == 1
    assert files_of(tmp_path / "one") == LAYOUT
    stated = document("data", "import", tables, "--out", tmp_path / "two")
    assert list(stated) == ["out", "cells", "profiled", "operations", "instances", "sources"]
    assert (stated["cells"], stated["profiled"], stated["operations"]) == (4, 4, 8)
    (source,) = stated["sources"]
    assert list(source) == ["name", "kind", "files", "licence"] and source["kind"] == "profet tables"
    operations = pd.read_parquet(tmp_path / "two" / "operations.parquet")
    # Half of what two steps took.
    assert operations["time_us"].tolist()[:2] == [10_000.5, 4.0]
    assert pd.read_parquet(tmp_path / "two" / "cells.parquet")["steps_profiled"].tolist() == [2] * 4


def test_check_tells_what_there_is(run, document, imported):
    stated = document("data", "check", imported)
    assert list(stated) == ["instances", "pairs", "findings"] and stated["findings"] == []
    pair = stated["pairs"][0]
    assert (pair["anchor"], pair["target"], pair["common"], pair["missing"]) == ("p2.xlarge", "p3.2xlarge", 1, 0)
    status, out, err = run("data", "check", imported)
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[1] == ["p2.xlarge", "Tesla", "K80", "2", "0", "0", "2", "2", "1.00", "0.05%"]
    assert [
        "p2.xlarge:",
        "1",
        "workload:",
        "VGG11;",
        "pixels",
        "32;",
        "batch",
        "16;",
        "tensorflow",
        "2.5;",
        "fp32",
    ] in lines
    assert ["p2.xlarge", "->", "p3.2xlarge", "1", "0", "0"] in lines


def test_check_names_what_is_missing_and_wrong(run, tmp_path):
    own = write_tables(tmp_path / "own", ["desk.x1"], latency_ms=5.0)
    other = write_tables(tmp_path / "other", ["p2.xlarge"])
    table = pd.read_parquet(other / "profiles.parquet").assign(model="LeNet5")
    table.to_parquet(other / "profiles.parquet")
    table[RUN].to_parquet(other / "latencies.parquet")
    assert run("data", "import", own, other, "--out", tmp_path / "out")[0] == 0
    lines = run("data", "check", tmp_path / "out")[1].splitlines()
    assert "desk.x1 -> p2.xlarge lacks VGG11 32x16 (tensorflow fp32)" in lines
    assert any(line.startswith("gpu: desk.x1, 2 cells: ") for line in lines)
    assert any(line.startswith("steps: desk.x1, 2 cells: ") and " 2.00 times " in line for line in lines)


def test_merge_joins_and_keeps_sources(document, imported, run, tmp_path):
    other = write_tables(tmp_path / "other", ["desk.x1"])
    assert run("data", "import", other, "--out", tmp_path / "mine")[0] == 0
    stated = document("data", "merge", imported, tmp_path / "mine", imported, "--out", tmp_path / "all")
    assert (stated["cells"], stated["instances"]) == (6, ["desk.x1", "p2.xlarge", "p3.2xlarge"])
    assert [source["name"] for source in stated["sources"]] == ["profet", "profet-2"]
    assert files_of(tmp_path / "all") == LAYOUT


def test_a_conflict_is_one_line_and_what_is_there_not_replaced(refused, run, imported, tmp_path, tables):
    other = write_tables(tmp_path / "other", ["p2.xlarge"], latency_ms=11.0)
    assert run("data", "import", other, "--out", tmp_path / "mine")[0] == 0
    before = files_of(tmp_path)
    message = refused("data", "merge", imported, tmp_path / "mine", "--out", tmp_path / "all")
    assert "mine has different numbers for VGG11, 32 pixels, batch 16, repeat 1 on p2.xlarge" in message
    assert files_of(tmp_path) == before
    before = (imported / "dataset.json").read_bytes()
    for command in (("import", tables), ("merge", imported)):
        assert "exists and is not overwritten" in refused("data", *command, "--out", imported)
    assert "is already in the layout: use `profet data merge`" in refused(
        "data", "import", imported, "--out", imported / "x"
    )
    assert (imported / "dataset.json").read_bytes() == before


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (None, "does not exist"),
        ((), "no collection or tables"),
        (("profiles.parquet", "latencies.parquet"), "profiles.parquet is damaged"),
        # PROFET's repository has pickles, which run what they name: nothing opens one.
        (("target_preprocessing.pickle",), "PROFET's are in a checkout's data folder"),
        (("cells.jsonl",), "has no manifest.json"),
    ],
)
def test_a_source_that_is_none_is_one_line(made, message, refused, tmp_path):
    if made is not None:
        (tmp_path / "source").mkdir()
    for name in made or ():
        (tmp_path / "source" / name).write_text("nothing of the kind")
    before = files_of(tmp_path)
    assert message in refused("data", "import", tmp_path / "source", "--out", tmp_path / "out")
    assert files_of(tmp_path) == before
    (tmp_path / "file").write_text("x")
    assert "is a file: name a folder" in refused("data", "import", tmp_path / "file", "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("pixels", 2**40, "'1099511627776' as pixels"),
        ("batch_size", 16.5, "'16.5' as batch_size"),
        ("pixels", "large", "texts in pixels"),
        ("model", "VGG\n\x1b[31m", "as model"),
        ("instance", None, "as instance"),
        ("batch_latency_ms", 99.0, "differ in batch_latency_ms"),
    ],
)
def test_tables_that_hold_something_else_are_one_line(column, value, message, refused, tables, tmp_path):
    table = pd.read_parquet(tables / "profiles.parquet").assign(**{column: value})
    table.to_parquet(tables / "profiles.parquet")
    assert message in refused("data", "import", tables, "--out", tmp_path / "out")
    assert files_of(tmp_path) == ["tables"]
