"""The accuracy of the models: every figure of the report is read, and a file that isn't one is refused in one line."""

from __future__ import annotations

import json

import pytest

from profet_core import ArtifactError
from profet_core.accuracy.errors import Errors
from profet_core.accuracy.validation import WITH_TWIN
from profet_core.accuracy.validation_report import VALIDATION_NAME, load_validation
from profet_core.artifacts.models import Models
from tests.made.validation_report import ARCHITECTURES, FAMILIES, INSTANCES, made_report


@pytest.fixture
def folder(models, tmp_path) -> Models:
    """The shipped models in a folder of their own, that a report may be laid into."""
    return Models(tmp_path, models.manifest)


@pytest.fixture
def report(models):
    return made_report(models.manifest["checksum"])


def loaded(folder: Models, report: object):
    (folder.folder / VALIDATION_NAME).write_text(report if isinstance(report, str) else json.dumps(report))
    return load_validation(folder)


def both(row: dict, name: str = "mape_{}") -> Errors:
    return Errors(row[name.format("with_latency")], row[name.format("without_latency")])


def test_the_figures_are_those_of_the_report(folder, report):
    found = loaded(folder, report)
    default, original = report["default"], report["original"]
    assert found.mean.error == both(default["mean"])
    assert found.mean.covered.with_latency == default["mean"]["coverage_90"]
    assert found.mean.half_width.without_latency == default["mean"]["median_interval_pct_without_latency"]
    assert found.with_sizes == both(default["mean"], "mape_{}_and_sizes")
    assert found.family_unlike == both(default["family"], "mape_without_twin_{}")
    assert found.original_worst_pair == Errors(
        *(max(row[f"mape_{case}"] for row in original["pairs"]) for case in ("with_latency", "without_latency"))
    )
    assert tuple(found.architectures) == ARCHITECTURES and tuple(found.families) == FAMILIES
    assert tuple(found.fastest_by_anchor) == tuple(found.noise) == INSTANCES
    pair, row = found.pairs[3], default["pairs"][3]
    assert (pair.anchor, pair.target, pair.n, pair.left_out.error) == (row["anchor"], row["target"], 9, both(row))
    assert pair.documented == both(report["profet"]["pairs"][3]) and pair.original == both(original["pairs"][3])
    assert [row.original is None for row in found.scalers] == [False, True] * 2
    assert found.points[0].low_ms == report["scatter"][0]["low_ms"]


def test_networks_without_a_relative_count_by_their_workloads(folder, report):
    """AlexNet has half of the others' workloads here."""
    report["scatter"] = [row for row in report["scatter"] if (row["model"], row["batch_size"]) != ("AlexNet", 64)]
    rows = report["original"]["by_model"]
    unlike = [name for name in ARCHITECTURES if name not in WITH_TWIN]
    weights = {name: 1 if name == "AlexNet" else 2 for name in unlike}
    expected = sum(weights[name] * rows[name]["mape_with_latency"] for name in unlike) / sum(weights.values())
    assert loaded(folder, report).unlike_original.with_latency == pytest.approx(expected)


def test_a_report_without_the_measured_gain_has_none(folder, report):
    del report["default"]["measured"]
    assert loaded(folder, report).measured is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda report: "", "is damaged"),
        (lambda report: "[]", "is damaged"),
        (lambda report: "[" * 100_000, "is damaged"),
        (lambda report: {**report, "scatter": []}, "is damaged"),
        (lambda report: {**report, "scatter": [{**report["scatter"][0], "low_ms": 0}]}, "is damaged"),
        (lambda report: {**report, "scatter": [{**report["scatter"][0], "model": "VGG11"}]}, "is damaged"),
        (lambda report: {**report, "scatter": [{**report["scatter"][0], "pixels": 1.5}]}, "is damaged"),
        (lambda report: {**report, "noise_percent": {"a": "much"}}, "is damaged"),
        (lambda report: {**report, "models_checksum": "0" * 64}, "belong to other models than those loaded"),
    ],
)
def test_another_file_is_refused_in_one_line(folder, report, change, says):
    with pytest.raises(ArtifactError, match=says) as caught:
        loaded(folder, change(report))
    assert "\n" not in str(caught.value) and "`profet validate --card`" in str(caught.value)


def test_a_missing_report_is_one_line(folder):
    with pytest.raises(ArtifactError, match=r"^The accuracy report .*validation\.json is missing: get it again"):
        load_validation(folder)


def test_the_shipped_report_belongs_to_the_shipped_models(models):
    assert load_validation(models).models_checksum == models.manifest["checksum"]
