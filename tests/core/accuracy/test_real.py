"""The report on real profiles: its figures by hand, and a file that isn't one is refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from profet_core import ArtifactError
from profet_core.accuracy.errors import Errors
from profet_core.accuracy.real_report import REAL_REPORT_NAME, load_real_report
from profet_core.artifacts.models import Models
from tests.made.real_report import READINGS, made_real_report


@pytest.fixture
def folder(models, tmp_path) -> Models:
    """The shipped models in a folder of their own, that a report may be laid into."""
    return Models(tmp_path, models.manifest)


@pytest.fixture
def report(models):
    return made_real_report(models.manifest["checksum"])


def test_the_mean_is_over_predictions_on_profiled_gpus(report):
    assert report.mean.n == 3
    assert report.mean.error.with_latency == pytest.approx((10 + 20 + 15) / 3)
    assert report.mean.error.without_latency == pytest.approx((25 + 5 + 30) / 3)
    assert report.mean.covered.with_latency == pytest.approx(200 / 3)
    assert report.mean.covered.without_latency == pytest.approx(100 / 3)


def test_pairs_have_derived_gpus_too_frameworks_and_kinds_have_not(report):
    assert {pair: row.n for pair, row in report.pairs.items()} == {
        ("g4dn.xlarge", "p3.2xlarge"): 2,
        ("g4dn.xlarge", "Tesla P100-PCIE-16GB"): 1,
        ("p3.2xlarge", "g4dn.xlarge"): 1,
    }
    derived = report.pairs["g4dn.xlarge", "Tesla P100-PCIE-16GB"]
    assert derived.error == Errors(pytest.approx(50), pytest.approx(50)) and derived.covered == Errors(0, 100)
    assert {name: (row.n, row.error.with_latency) for name, row in report.libraries.items()} == {
        "TensorFlow": (2, pytest.approx(15)),
        "PyTorch": (1, pytest.approx(15)),
    }
    assert list(report.kinds) == ["LeNet, Adam", "ResNet-50"]
    assert report.compared == ("a.json, 0", "a.json, 1", "b.json.gz")
    assert report.steps_here_ms(report.translated) == {104.5: (121.5,)}
    assert [len(group) for group in report.alike] == [2, 1, 1]


def test_a_report_without_comparisons_has_no_mean(report):
    empty = replace(report, checks=())
    assert empty.mean is None and empty.document()["mean"] is None and empty.document()["pairs"] == []


def test_the_document_follows_the_contract(report):
    document = report.document()
    assert document["pairs"][0] == {
        "anchor": "g4dn.xlarge",
        "anchor_gpu": "T4",
        "target": "p3.2xlarge",
        "target_gpu": "V100",
        "basis": "measured",
        "n": 2,
        "mape_with_latency": pytest.approx(15),
        "mape_without_latency": pytest.approx(15),
        "coverage_90": 50.0,
        "coverage_90_without_latency": 50.0,
    }
    assert document["profiles"][0]["with_latency"] == {"latency_ms": 72.0, "low_ms": 60.0, "high_ms": 90.0}
    assert [row["steps_right"] for row in document["read"]] == [True, True, True, False]
    assert replace(READINGS[0], steps=None).steps_right is None


def test_what_is_written_is_read_again(report, folder):
    assert load_real_report(folder) is None
    (folder.folder / REAL_REPORT_NAME).write_text(json.dumps(report.document()))
    assert load_real_report(folder) == report


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda document: "", "is damaged"),
        (lambda document: "[]", "is damaged"),
        (lambda document: {**document, "profiles": 3}, "is damaged"),
        (lambda document: {**document, "made": 2021}, "is damaged"),
        (lambda document: {**document, "read": [{**document["read"][0], "steps": 1.5}]}, "is damaged"),
        (lambda document: {**document, "read": [{**document["read"][0], "left_out": "0"}]}, "is damaged"),
        (lambda document: {**document, "profiles": [{**document["profiles"][0], "truth_ms": 0}]}, "is damaged"),
        (lambda document: {**document, "profiles": [{**document["profiles"][0], "trained_on": 1}]}, "is damaged"),
        (lambda document: {**document, "models_checksum": "0" * 64}, "belong to other models"),
    ],
)
def test_another_file_is_refused_in_one_line(report, folder, change, said):
    changed = change(report.document())
    text = changed if isinstance(changed, str) else json.dumps(changed)
    (folder.folder / REAL_REPORT_NAME).write_text(text)
    with pytest.raises(ArtifactError, match=said) as caught:
        load_real_report(folder)
    assert "\n" not in str(caught.value) and "validate --real DIR --card" in str(caught.value)
