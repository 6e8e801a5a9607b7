"""Profiles, all of them side by side: every profile with its own anchor and latency, as profet_core predicts it."""

from __future__ import annotations

import csv
import io

import pytest

from pages.profiles.candidates import Candidate, compare
from pages.profiles.compare.figures import dots
from pages.profiles.compare.view import data_rows, instances_of, rows_of, table_row
from profet_core import predict, read_profile
from tests.pages.conftest import (
    as_version_1,
    as_version_2,
    column,
    compared,
    give,
    go,
    lines,
    look_at,
    own,
    type_in,
)
from ui.state.resources import load_resources
from ui.tables import as_csv

VGG, LENET, ALEXNET = "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s", "alexnet-64px-b128-p2"


def predicted_ms(models, catalog, profile, anchor, latency_ms=None) -> dict[str, float]:
    return predict(models, catalog, profile, anchor, latency_ms=latency_ms).latencies_ms


def assert_shows(row, expected_ms):
    """Three significant digits of each."""
    shown = {name: row[name] for name in expected_ms}
    assert shown == pytest.approx(expected_ms, rel=0.006)


def test_an_empty_page_loads_samples_with_one_click(open_app, models, catalog, samples):
    app = open_app("profiles")
    assert not app.dataframe and "No profile of yours yet" in lines(app.markdown)[0]
    app.button(key="profiles:examples").click().run()
    names = list(samples)[:3]
    assert list(compared(app)) == names
    for name in names:
        sample = samples[name]
        assert_shows(
            compared(app)[name], predicted_ms(models, catalog, sample.profile, sample.anchor, sample.latency_ms)
        )
    assert dict(app.query_params) == {"compare_samples": ",".join(names)}
    again = open_app("profiles", **dict(app.query_params))
    assert compared(again) == compared(app)


@pytest.mark.parametrize("link", ["no-such-sample", "../x", ","])
def test_a_senseless_link_is_an_empty_page(open_app, link):
    app = open_app("profiles", compare_samples=link)
    assert not app.dataframe and not app.error and not app.exception


def test_each_own_profile_with_its_own_anchor_and_latency_beside_a_sample(open_app, models, catalog, samples):
    app = open_app("profiles", compare_samples=ALEXNET)
    give(app, (f"{VGG}.json", samples[VGG].data), (f"{LENET}.json", samples[LENET].data))
    shown = compared(app)
    assert list(shown) == [f"{VGG}.json", f"{LENET}.json", ALEXNET]
    for row, name in zip(shown.values(), (VGG, LENET, ALEXNET), strict=True):
        sample = samples[name]
        assert row["Recorded on"] == sample.anchor
        assert_shows(row, predicted_ms(models, catalog, sample.profile, sample.anchor, sample.latency_ms))
    app.segmented_control(key="compare_by").set_value("cost").run()
    sample = samples[VGG]
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    costs = {row.instance: row.cost_per_1000_steps_usd for row in expected.predictions}
    assert_shows(compared(app)[f"{VGG}.json"], costs)


def test_where_it_was_recorded_is_asked_in_one_line_and_then_predicted(open_app, models, catalog, samples):
    app = open_app("profiles")
    files = [(f"{name}.json", as_version_1(samples[name].profile.operations)) for name in (VGG, LENET)]
    give(app, *files)
    (line,) = lines(app.warning)
    assert line.startswith(f"Say above where {VGG}.json, {LENET}.json were recorded")
    assert not app.dataframe
    key = own(app)[f"{VGG}.json"]
    look_at(app, f"{VGG}.json")
    app.selectbox(key=f"profiles:anchor:{key}").set_value("g3s.xlarge").run()
    assert f"{LENET}.json was recorded" in lines(app.warning)[0]
    bare = read_profile(files[0][1])
    assert_shows(compared(app)[f"{VGG}.json"], predicted_ms(models, catalog, bare, "g3s.xlarge"))
    type_in(app, f"profiles:latency:{key}", 330.0)
    assert_shows(compared(app)[f"{VGG}.json"], predicted_ms(models, catalog, bare, "g3s.xlarge", 330.0))


def test_what_is_said_here_holds_on_predict_and_back(open_app, samples):
    app = open_app(source="upload")
    give(app, ("net.json", as_version_1(samples[VGG].profile.operations)))
    go(app, "profiles")
    key = own(app)["net.json"]
    assert app.selectbox(key=f"profiles:anchor:{key}").value is None
    app.selectbox(key=f"profiles:anchor:{key}").set_value("g3s.xlarge").run()
    type_in(app, f"profiles:latency:{key}", 130.0)
    here = compared(app)["net.json"]
    go(app, "predict")
    assert app.selectbox(key="anchor").value == "g3s.xlarge"
    assert app.session_state["latency"] == 130.0
    assert float(column(app, "Step latency")["p2.xlarge"].split()[0]) == here["p2.xlarge"]
    type_in(app, "latency", None)
    go(app, "profiles")
    assert app.session_state[f"profiles:latency:{key}"] is None
    assert compared(app)["net.json"]["g3s.xlarge"] != 130.0


def test_a_latency_that_makes_no_sense_is_left_out_and_said(open_app, models, catalog, samples):
    app = open_app("profiles")
    give(app, (f"{VGG}.json", samples[VGG].data), (f"{LENET}.json", samples[LENET].data))
    key = own(look_at(app, f"{VGG}.json"))[f"{VGG}.json"]
    type_in(app, f"profiles:latency:{key}", 122_400.0)
    said = " ".join(lines(app.markdown))
    assert f"**{VGG}.json** - A latency of 122,400 ms makes no sense" in " ".join(said.split())
    sample = samples[VGG]
    assert_shows(compared(app)[f"{VGG}.json"], predicted_ms(models, catalog, sample.profile, "g3s.xlarge"))
    other = samples[LENET]
    assert_shows(
        compared(app)[f"{LENET}.json"], predicted_ms(models, catalog, other.profile, other.anchor, other.latency_ms)
    )


def test_warnings_are_grouped_by_profile(open_app, models, catalog, samples):
    app = open_app("profiles")
    tf32 = as_version_2(dict(samples[VGG].profile.operations), gpu="Tesla T4", precision="TF32")
    give(app, ("one.json", tf32), (f"{LENET}.json", samples[LENET].data))
    look_at(app, "one.json")
    app.selectbox(key=f"profiles:anchor:{own(app)['one.json']}").set_value("g3s.xlarge").run()
    (block,) = [text for text in lines(app.markdown) if text.startswith("**one.json**")]
    assert "- The profile says TF32" in block and "- The profile says it was recorded on" in block
    assert "LeNet" not in block


def test_removing_and_renaming_here(open_app, samples):
    app = open_app("profiles", compare_samples=ALEXNET)
    give(app, (f"{VGG}.json", samples[VGG].data), (f"{LENET}.json", samples[LENET].data))
    key = own(look_at(app, f"{VGG}.json"))[f"{VGG}.json"]
    app.text_input(key=f"profiles:name:{key}").set_value("mine").run()
    assert list(compared(app)) == ["mine", f"{LENET}.json", ALEXNET]
    app.button(key="profiles:remove").click().run()
    assert list(compared(app)) == [f"{LENET}.json", ALEXNET]
    give(app, (f"{VGG}.json", samples[VGG].data))
    app.button(key="profiles:remove-all").click().run()
    assert list(compared(app)) == [ALEXNET]
    assert not app.exception


def test_fifty_profiles_are_predicted_at_once(open_app, samples):
    operations = dict(samples[VGG].profile.operations)
    files = [
        (f"run-{number}.json", as_version_2({**operations, "Device_Relu": 9000.0 + number}, gpu="Tesla M60"))
        for number in range(50)
    ]
    app = give(open_app("profiles"), *files)
    assert not app.error and not app.exception
    assert len(compared(app)) == 50


def test_the_download_has_every_instance_of_every_profile(models, catalog, samples):
    resources = load_resources()
    sample = samples[VGG]
    candidate = Candidate("x", "=mine", sample.profile, sample.anchor, sample.latency_ms)
    (found,) = rows_of(compare(resources, [candidate], "default"))
    rows = data_rows(found)
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    assert {row["instance"]: row["latency_ms"] for row in rows} == expected.latencies_ms
    read = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [row["instance"] for row in read] == [row.instance for row in expected.predictions]
    assert float(read[0]["anchor_latency_ms"]) == sample.latency_ms


def test_the_chart_names_profiles_as_text_and_tells_them_apart(models, samples):
    resources = load_resources()
    sample = samples[VGG]
    names = [
        "<b>bold</b>",
        "a very, very, very, very long name of a profile at batch 16.json",
        "a very, very, very, very long name of a profile at batch 64.json",
    ]
    candidates = [Candidate(name, name, sample.profile, sample.anchor, sample.latency_ms) for name in names]
    found = rows_of(compare(resources, candidates, "default"))
    instances = instances_of(found)
    assert set(instances[:4]) == set(models.instances)
    figure = dots(found, "latency", instances)
    labels = list(figure.data[0].y)
    assert len(set(labels)) == 3 and labels[0] == "&lt;b>bold&lt;/b>"
    assert labels[1].endswith("tch 16.json") and labels[2].endswith("tch 64.json")
    drawn = {trace.name: trace.x[0] for trace in figure.data}
    assert drawn == found[0].prediction.latencies_ms
    shapes = {trace.name: trace.marker.symbol for trace in figure.data}
    for row in found[0].prediction.predictions:
        assert shapes[row.instance].startswith("diamond") is row.basis.is_rough
        assert shapes[row.instance].endswith("open") is (row.status == "retired")
    row = table_row(found[0], "latency", instances)
    # The fastest that can be rented is an estimate here, and marked as one.
    # The node of eight is as fast, and eight times as dear.
    assert row["Lowest to rent"] == "p5.4xlarge*"
