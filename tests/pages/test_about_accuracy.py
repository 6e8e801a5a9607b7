"""About, the accuracy on profiled GPUs: every figure is the report's; a report of other models is one line."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest

from pages.about.accuracy.figures import chosen_points, coverage_dots, error_bars, predicted_against_measured
from pages.about.accuracy.percents import format_percent
from profet_core import ArtifactError, load_models
from profet_core.accuracy.real_report import load_real_report
from profet_core.accuracy.transfer_report import load_transfer_accuracy
from profet_core.accuracy.validation_report import VALIDATION_NAME, load_validation
from tests.made.validation_report import made_report
from tests.pages.conftest import lines, rows

CASES = {"given": "with_latency", "not": "without_latency"}


@pytest.fixture(scope="module")
def report(models) -> dict:
    """Made-up figures that say they are of the loaded models."""
    return made_report(models.manifest["checksum"])


@pytest.fixture
def other_report(serve_report):
    """Serve the models with another report; None takes it away."""
    return partial(serve_report, VALIDATION_NAME)


@pytest.fixture
def open_accuracy(open_beside, report):
    """Open Accuracy on that report."""
    return partial(open_beside, VALIDATION_NAME, json.dumps(report))


def percent(value: float) -> str:
    return format_percent(value)


def test_it_leads_with_networks_unlike_any_in_the_data(open_accuracy, report):
    app = open_accuracy()
    assert app.metric[0].value == percent(report["default"]["without_twin"]["mape_with_latency"])
    original = load_validation(load_models(Path(os.environ["PROFET_HOME"]))).unlike_original.with_latency
    assert f"Original PROFET: {percent(original)}." in lines(app.caption)[0]
    assert not app.error and not app.exception and not app.warning


def test_other_sizes_have_a_row_for_each_distance(open_app, models):
    app = open_app("about", open="accuracy", part="sizes")
    growth = load_validation(models).growth
    told = rows(app, 0)
    assert [(row["Mean error"], row["Inside the 90 % interval"], row["Predictions"]) for row in told] == [
        (percent(one.error), percent(one.covered), f"{one.n:,}") for one in growth
    ]
    assert {row["Steps"] for row in told} == {"1", "2", "3", "4", "all"} and not app.error


@pytest.mark.parametrize(
    ("part", "asked"),
    [("profiled", True), ("unprofiled", True), ("sizes", False), ("memory", False), ("strangers", True)],
)
def test_only_parts_that_differ_by_the_anchor_s_latency_ask_for_it(open_app, part, asked):
    app = open_app("about", open="accuracy", part=part, latency_is="not")
    assert not app.error and not app.exception
    shown = [group.label for group in app.segmented_control]
    assert ("The anchor's step latency" in shown) is asked
    # The choice is kept for the parts that it counts in.
    assert app.session_state["latency_is"] == "not"


def test_the_first_screen_has_three_figures_and_what_they_were_measured_on(open_app, models):
    """The shipped ones; everything else is folded."""
    app = open_app("about")
    strangers, gpus = load_real_report(models), load_transfer_accuracy(models.transfer, models.memory)
    assert [metric.value for metric in app.metric] == [
        percent(load_validation(models).unlike.with_latency),
        percent(strangers.mean.error.with_latency),
        percent(gpus.mean.point[True].mape),
    ]
    assert lines(app.caption)[1].startswith(f"{len(strangers.averaged)} published profiles, {strangers.mean.n} pred")
    assert percent(gpus.worst(True).point[True].mape) in lines(app.caption)[2]
    words = " ".join(element.value for element in (*app.markdown, *app.caption, *app.metric)).split()
    assert len(words) < 200
    assert not app.table and not app.dataframe and not app.get("plotly_chart")
    assert not any(section.proto.expanded for section in app.expander)


def test_where_it_fails_worst_comes_first_with_its_reason(open_accuracy, report):
    app = open_accuracy()
    listed = next(text for text in lines(app.markdown) if text.startswith("- **") and " off (original" in text)
    by_model = report["default"]["by_model"]
    worst = sorted(by_model, key=lambda name: -by_model[name]["mape_with_latency"])[:5]
    for line, name in zip(listed.splitlines(), worst, strict=True):
        error = percent(by_model[name]["mape_with_latency"])
        original = percent(report["original"]["by_model"][name]["mape_with_latency"])
        assert line.startswith(f"- **{name}**: **{error}** off (original {original}); ")
    if "MobileNetV2" in worst:
        assert "depthwise" in listed.splitlines()[worst.index("MobileNetV2")]


def test_all_pairs_beside_the_original(open_accuracy, report):
    (overall, per_pair, *_) = (rows(open_accuracy(), table) for table in range(2))
    found = {row["Mean error"]: (row["Latency given"], row["Not given"]) for row in overall}

    def both(values, name="mape_{}"):
        return tuple(percent(values[name.format(case)]) for case in CASES.values())

    default = report["default"]
    assert found["Default method"] == both(default["mean"])
    assert found["Its worst pair"] == both(default["worst_pair"], "{}")
    assert found["With batch and pixel size in the profile"] == both(default["mean"], "mape_{}_and_sizes")
    assert found["Unlike any in the data"] == both(default["without_twin"])
    assert found["Documented ensemble"] == both(report["profet"]["mean"])
    assert found["Original"] == both(report["original"]["mean"])
    original = {(row["anchor"], row["target"]): row for row in report["original"]["pairs"]}
    assert [
        (row["Anchor"], row["Target"], row["Off by"], row["Original"], row["Inside interval"]) for row in per_pair
    ] == [
        (
            row["anchor"],
            row["target"],
            percent(row["mape_with_latency"]),
            percent(original[row["anchor"], row["target"]]["mape_with_latency"]),
            percent(row["coverage_90"]),
        )
        for row in default["pairs"]
    ]


def test_families_fastest_and_scalers(open_accuracy, report):
    app = open_accuracy(latency_is="not")
    default = report["default"]
    families, fastest, scalers = (rows(app, table) for table in (2, 3, 4))
    assert {row["Family"]: (row["Off by"], row["Inside interval"]) for row in families} == {
        name: (percent(row["mape_without_latency"]), percent(row["coverage_90_without_latency"]))
        for name, row in (*default["by_family"].items(), ("All", default["family"]))
    }
    assert {row["Anchor"]: (row["Named rightly"], row["Time lost"]) for row in fastest} == {
        name: (percent(row["right_percent"]), percent(row["regret_percent"]))
        for name, row in (*default["fastest"]["by_anchor"].items(), ("All", default["fastest"]))
    }
    settings = [
        row["mean_mape"] for key in ("settings_default", "settings") for row in report["scaler"].get(key, {}).values()
    ]
    assert [row["Off by"] for row in scalers] == [percent(value) for value in settings]
    assert any(percent(default["mean"]["coverage_90_without_latency"]) in line for line in lines(app.markdown))


def test_the_points_can_be_chosen_and_the_link_keeps_the_choice(open_accuracy, report):
    app = open_accuracy()
    assert any(line.startswith(f"{len(report['scatter']):,} predictions") for line in lines(app.caption))
    app.selectbox(key="points_anchor").set_value("g4dn.xlarge")
    app.selectbox(key="points_target").set_value("p2.xlarge").run()
    count = sum((row["anchor"], row["target"]) == ("g4dn.xlarge", "p2.xlarge") for row in report["scatter"])
    assert any(line.startswith(f"{count:,} predictions") for line in lines(app.caption))
    link = dict(app.query_params)
    assert link == {"open": "accuracy", "points_anchor": "g4dn.xlarge", "points_target": "p2.xlarge"}
    again = open_accuracy(points_anchor="g4dn.xlarge", points_target="p2.xlarge")
    assert any(line.startswith(f"{count:,} predictions") for line in lines(again.caption))
    again.selectbox(key="points_target").set_value("g4dn.xlarge").run()
    assert "isn't predicted from itself" in lines(again.info)[0]


def test_the_figures_hold_the_report_s_numbers(report, other_report):
    accuracy = load_validation(load_models(other_report(json.dumps(report)).parent))
    points = chosen_points(accuracy.points, "p2.xlarge", "all")
    assert len(points) == sum(row["anchor"] == "p2.xlarge" for row in report["scatter"])
    _, inside, outside = predicted_against_measured(points).data
    assert len(inside.x) + len(outside.x) == len(points)
    assert all(point.anchor == "p2.xlarge" for point in points)
    named = next(point for point in points if point.measured_ms == inside.x[0])
    assert named.model in inside.text[0] and f"batch {named.batch_size}" in inside.text[0]
    original, here = error_bars({"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}).data
    assert (list(here.y), list(here.x), list(original.x)) == (["a", "b"], [1.0, 2.0], [3.0, 4.0])
    (dots,) = coverage_dots({"a": 95.0, "b": 80.0}, {"a": 10.0, "b": 20.0}, 0.9).data
    assert (list(dots.y), list(dots.x)) == (["a", "b"], [95.0, 80.0])
    assert dots.marker.color[0] != dots.marker.color[1]


def test_the_original_s_mean_over_unlike_networks_weighs_workloads(report, other_report):
    accuracy = load_validation(load_models(other_report(json.dumps(report)).parent))
    unlike = [row["model"] for row in report["scatter"] if row["model"] not in ("VGG11", "ResNet50")]
    errors = [report["original"]["by_model"][name]["mape_with_latency"] for name in unlike]
    assert accuracy.unlike_original.with_latency == pytest.approx(sum(errors) / len(errors))


def test_the_shipped_figures_belong_to_the_shipped_models(repository, models):
    if not (repository / "models/validation.json").exists():
        pytest.skip("no validation.json ships yet: run `profet validate --card`")
    assert load_validation(models).models_checksum == models.manifest["checksum"]


def test_figures_of_other_models_are_refused_in_one_line(open_app, report, other_report):
    other_report(json.dumps({**report, "models_checksum": "0" * 64}))
    app = open_app("about", open="accuracy")
    assert len(app.error) == 2 and len(app.metric) == 2, "where the figure would stand, and in the open section"
    assert all("belong to other models than those loaded" in line for line in lines(app.error))
    assert not app.table and not app.exception
    assert not open_app().error


def test_a_missing_report_is_one_line(open_app, other_report):
    other_report(None)
    app = open_app("about", open="accuracy")
    assert len(app.error) == 2 and "is missing" in lines(app.error)[0]
    assert not app.table and not app.exception


def _without(report: dict, key: str) -> dict:
    return {name: value for name, value in report.items() if name != key}


@pytest.mark.parametrize(
    "damage",
    [
        lambda report: "",
        lambda report: "[]",
        lambda report: json.dumps(report)[:-100],
        lambda report: json.dumps(_without(report, "scatter")),
        lambda report: json.dumps({**report, "scatter": []}),
        lambda report: json.dumps({**report, "noise_percent": {"p2.xlarge": float("nan")}}),
        lambda report: json.dumps({**report, "noise_percent": {"p2.xlarge": "1"}}),
        lambda report: json.dumps({**report, "default": _without(report["default"], "family")}),
        lambda report: json.dumps({**report, "scatter": [{**report["scatter"][0], "measured_ms": 0}]}),
    ],
)
def test_a_damaged_report_is_refused(repository, report, other_report, damage):
    path = other_report(damage(report))
    with pytest.raises(ArtifactError, match="is damaged") as caught:
        load_validation(load_models(path.parent))
    assert "\n" not in str(caught.value)


def test_percents_have_a_digit_that_tells():
    assert [format_percent(value) for value in (14.34, 0.389, 0.999, 90.0)] == ["14.3 %", "0.39 %", "1.0 %", "90.0 %"]
