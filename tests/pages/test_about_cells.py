"""About's part on GPUs with few measured steps, and how one's own is measured: figures are the shipped report's."""

from __future__ import annotations

import json

import pytest

from pages.about.accuracy.figures import errors_by_cells
from profet_core.accuracy.cells_report import CELLS_REPORT_NAME, load_cells_accuracy
from profet_core.catalog.gpus import gpu_model
from tests.pages.conftest import lines, rows, sentences


@pytest.fixture(scope="module")
def report(repository) -> dict:
    return json.loads((repository / "models" / CELLS_REPORT_NAME).read_text())


def percent(value: float) -> str:
    return f"{value:.1f} %"


def test_the_shipped_report_is_shown(open_app, report, catalog):
    app = open_app("about", open="accuracy", part="cells")
    assert not app.error and not app.exception
    for row, told in zip(rows(app, 0), report["rows"], strict=True):
        assert (row["Cells"], row["Mean"]) == (str(told["cells"]), percent(told["mean"]))
        for name, errors in told["gpus"].items():
            assert row[gpu_model(catalog[name].gpu)] == percent(errors["mape"])
        for column, figure in (("Missed", "missed_90"), ("As anchor", "as_anchor_mape")):
            each = [errors[figure] for errors in told["gpus"].values()]
            assert row[column] == percent(sum(each) / len(each))
    by_cells = {row["cells"]: row["mean"] for row in report["rows"]}
    said = " ".join(sentences(app))
    assert f"20 cells: {percent(by_cells[20])} off; 50 cells: {percent(by_cells[50])}." in said
    assert "server's own" not in " ".join(lines(app.subheader)), "the shipped models are nobody's own"


def test_the_chart_has_a_line_a_gpu_and_their_mean(report, catalog):
    accuracy = load_cells_accuracy()
    figure = errors_by_cells(accuracy, {name: catalog[name].gpu for name in accuracy.instances})
    assert [trace.name for trace in figure.data] == ["M60", "T4", "K80", "V100", "mean"]
    assert list(figure.data[1].y) == [row["gpus"]["g4dn.xlarge"]["mape"] for row in report["rows"]]
    assert list(figure.data[-1].y) == [row["mean"] for row in report["rows"]]
    assert list(figure.data[-1].x) == [1, 3, 10, 20, 50]


@pytest.mark.parametrize("content", [None, '{"rows": 1}'])
def test_a_missing_or_damaged_report_is_one_line(open_beside, content):
    app = open_beside(CELLS_REPORT_NAME, content, part="cells")
    (line,) = lines(app.error)
    assert "cells_validation.json" in line and not app.exception
    assert open_beside(CELLS_REPORT_NAME, content, part="sizes").error == []


def test_the_guide_tells_the_error_of_the_report(open_app, report):
    app = open_app("about", open="own_gpu")
    (row,) = [row for row in report["rows"] if row["cells"] == 20]
    assert f"With 20 steps measured, GPUs were {percent(row['mean'])} off" in " ".join(sentences(app))
    assert any("profet collect --instance" in code.value for code in app.code)


def test_a_rough_estimate_says_how_it_would_be_surer(open_app, report, serve_report):
    (row,) = [row for row in report["rows"] if row["cells"] == 20]

    def surer(name: str) -> list[str]:
        app = open_app(answer_open=name, retired="True")
        assert not app.error and not app.exception
        return [line for line in sentences(app) if line.startswith("Surer: ")]

    how = "Surer: `profet collect --quick` on such a GPU"
    assert surer("g6.xlarge") == [f"{how}: with 20 steps measured, GPUs were {percent(row['mean'])} off."]
    assert surer("p3.2xlarge") == [], "profiled"
    serve_report(CELLS_REPORT_NAME, None)
    assert surer("g6.xlarge") == [f"{how}."]
    assert not open_app("about", open="own_gpu").error
