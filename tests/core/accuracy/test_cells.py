"""The report on GPUs with few measured cells is read whole, or refused in one line."""

from __future__ import annotations

import json

import pytest

from profet_core.accuracy.cells_report import CELLS_REPORT_NAME, load_cells_accuracy
from profet_core.errors import ArtifactError
from profet_core.files import shipped_folder


@pytest.fixture
def report() -> dict:
    return json.loads((shipped_folder("models") / CELLS_REPORT_NAME).read_text())


@pytest.fixture
def read(tmp_path):
    def write_and_read(content: object):
        (tmp_path / CELLS_REPORT_NAME).write_text(json.dumps(content))
        return load_cells_accuracy(tmp_path)

    return write_and_read


def test_every_figure_is_there(read, report):
    found = read(report)
    assert [row.cells for row in found.rows] == [row["cells"] for row in report["rows"]]
    for row, shipped in zip(found.rows, report["rows"], strict=True):
        assert row.mean == shipped["mean"]
        for name, errors in row.gpus.items():
            assert errors.mape == shipped["gpus"][name]["mape"]
            assert errors.missed_90 == shipped["gpus"][name]["missed_90"]
    assert found.instances == ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")


def test_so_many_cells_are_told_by_the_row_below(read, report):
    found = read(report)
    assert [found.of(cells).cells for cells in (1, 9, 20, 49, 1000)] == [1, 3, 20, 20, 50]
    assert found.of(0) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda report: [],
        lambda report: {**report, "rows": []},
        lambda report: {**report, "rows": report["rows"][::-1]},
        lambda report: {**report, "rows": [*report["rows"], report["rows"][-1]]},
        lambda report: {**report, "rows": [{**report["rows"][0], "mean": "much"}]},
        lambda report: {**report, "rows": [report["rows"][0], {**report["rows"][1], "gpus": {}}]},
        lambda report: {**report, "made": None},
    ],
)
def test_what_is_damaged_is_one_line(read, report, damage):
    with pytest.raises(ArtifactError, match=r"is damaged: get it again .* or run `profet validate --cells --card`\.$"):
        read(damage(report))


def test_a_missing_one_is_one_line(tmp_path):
    with pytest.raises(ArtifactError, match=r"cells_validation.json is missing: "):
        load_cells_accuracy(tmp_path)
