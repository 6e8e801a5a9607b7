"""About's part on many-core processors: its figures are those of the report beside the loaded models."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from profet_core.accuracy.manycore_report import MANYCORE_REPORT_NAME, load_manycore_accuracy
from profet_core.files import manifest_checksum
from tests.made.manycore_report import made_report
from tests.pages.conftest import lines, rows, sentences


@pytest.fixture
def report() -> dict:
    content = json.loads(json.dumps(asdict(made_report())))
    return {**content, "checksum": manifest_checksum(content)}


def test_the_shipped_report_is_shown(open_app):
    shipped = load_manycore_accuracy()
    app = open_app("about", open="accuracy", part="manycore")
    assert not app.error and not app.exception
    predictions, own = rows(app, 0), rows(app, 1)
    assert [row["Published"] for row in predictions] == [row["Ours"] for row in predictions]
    assert len(predictions) == 12
    measured = [row for way in shipped.own_cores.ways for row in way.rows]
    assert [row["Measured"] for row in own] == [f"{row.measured_s:.3f} s" for row in measured]
    assert [row["Off by"] for row in own] == [f"{row.off_percent:+.1f} %" for row in measured]


def test_its_words_are_the_report_s(open_beside, report):
    app = open_beside(MANYCORE_REPORT_NAME, json.dumps(report), part="manycore")
    (lead,) = [line for line in sentences(app) if line.startswith("Model (a) gives")]
    assert lead.startswith("Model (a) gives 12 of 12 published predictions to the printed digit")
    assert "above, the large network by 53.6 %" in lead
    assert "measured as 103.5: (a) says 99.5, (b) 115.1." in lead
    assert any("Made <b>CPU, 2,596 MHz, 2 cores, 640 images" in line for line in sentences(app))
    assert [row["Machine quiet"] for row in rows(app, 1)] == ["yes", "no"] * 2


def test_a_missing_or_changed_report_is_one_line(open_beside, report):
    app = open_beside(MANYCORE_REPORT_NAME, None, part="manycore")
    assert [line.split(":")[0] for line in lines(app.error)] == [
        "The report on many-core models models/manycore_validation.json is missing"
    ]
    app = open_beside(MANYCORE_REPORT_NAME, json.dumps({**report, "made": "yesterday"}), part="manycore")
    assert ["is damaged" in line for line in lines(app.error)] == [True]
