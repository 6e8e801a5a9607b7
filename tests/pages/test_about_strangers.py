"""About, the accuracy on profiles of strangers: every figure is the report's, and a missing one is said."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest

from profet_core.accuracy.real_report import REAL_REPORT_NAME
from tests.made.real_report import made_real_report
from tests.pages.conftest import clean, lines, rows


@pytest.fixture
def open_with(open_beside):
    """Open Accuracy beside a report; None takes it away."""
    return partial(open_beside, REAL_REPORT_NAME, part="strangers")


@pytest.fixture
def report(models):
    return made_real_report(models.manifest["checksum"])


def text_of(app) -> str:
    return "\n".join(map(clean, lines(app.markdown))).replace("**", "")


@pytest.mark.parametrize(
    ("latency_is", "off", "inside", "pytorch", "v100"),
    [
        ("given", "15.0 %", "2 of 3", "15.0 %", ("80.0 ms", "72.0–96.0 ms", "15.0 %", "1 of 2")),
        ("not", "20.0 %", "1 of 3", "30.0 %", ("80.0 ms", "84.0–100 ms", "15.0 %", "1 of 2")),
    ],
)
def test_predicted_beside_measured(open_with, report, latency_is, off, inside, pytorch, v100):
    app = open_with(json.dumps(report.document()), latency_is=latency_is)
    text = text_of(app)
    assert "4 profiles that others recorded and published were read; 3 of them could be compared" in text
    assert f"were off by {off}, and {inside} measurements lay inside" in text
    assert "very few: 2 kinds of step" in text
    assert f"PyTorch (ResNet-50): off by {pytorch}, judged by what TensorFlow took" in text
    assert "the same step took 104 ms with TensorFlow, 122 ms with PyTorch" in text
    table = rows(app, len(app.table) - 1)
    assert [(row["From"], row["To"], row["Recorded with"]) for row in table] == [
        ("T4", "V100", "TensorFlow 2.4"),
        ("T4", "P100", "TensorFlow 2.4"),
        ("V100", "T4", "PyTorch 2.9"),
    ]
    assert tuple(table[0][name] for name in ("Measured", "Predicted", "Off by", "Inside interval")) == v100
    assert "Nobody profiled P100 for the models: not part of the figures above." in lines(app.caption)
    assert not app.error and not app.exception


def test_a_stranger_s_text_stays_text(open_with, report):
    checks = tuple(replace(check, kind="<b>*net*</b>") for check in report.checks)
    app = open_with(json.dumps(replace(report, checks=checks).document()))
    assert rows(app, len(app.table) - 1)[0]["Step"] == "<b>*net*</b>"
    assert not any("<b>" in markdown.value for markdown in app.markdown)


def test_profiles_that_could_not_be_compared(open_with, report):
    app = open_with(json.dumps(replace(report, checks=()).document()))
    assert "none of them could be compared" in text_of(app)
    assert not app.error and not app.exception


def test_a_missing_report_is_said(open_with, report):
    app = open_with(None)
    assert [metric.value for metric in app.metric][1] == "not measured"
    assert lines(app.info) == [
        "There is no report on profiles of strangers for these models: profet validate --real DIR --card."
    ]
    assert not app.error and not app.exception


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda report: "{", "is damaged"),
        (lambda report: json.dumps(replace(report, models_checksum="0" * 64).document()), "belong to other models"),
    ],
)
def test_a_report_that_can_t_be_shown_is_one_line(open_with, report, content, said):
    app = open_with(content(report))
    in_the_summary, error = lines(app.error)
    assert said in error and "\n" not in error and in_the_summary == error
    assert len(app.metric) == 2 and not app.exception
