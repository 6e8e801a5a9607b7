"""Profiles, all of them side by side: every profile with its own anchor and latency, as profet_core predicts it."""

from __future__ import annotations

import csv
import io

import pytest

from pages.profiles.candidates import Candidate, compare
from pages.profiles.chosen import as_said
from pages.profiles.compare.figures import dots
from pages.profiles.compare.view import data_rows, instances_of, one_a_gpu, rows_of, table_row
from profet_core import predict, read_profile
from profet_core.profiles.profet_json.writer import write_profile
from profet_core.units import format_ms
from tests.pages.conftest import (
    as_version_1,
    as_version_2,
    column,
    compared,
    everything,
    give,
    go,
    lines,
    look_at,
    own,
    type_in,
)
from ui.basis import marked
from ui.charts.gpu_look import gpu_look
from ui.state.own_profiles import OwnProfile
from ui.state.resources import load_resources
from ui.tables import as_csv

VGG, LENET, ALEXNET = "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s", "alexnet-64px-b128-p2"


def predicted_ms(models, catalog, profile, anchor, latency_ms=None) -> dict[str, float]:
    return predict(models, catalog, profile, anchor, latency_ms=latency_ms).latencies_ms


def assert_shows(row, expected_ms):
    """Three significant digits of each GPU's; the four that were profiled are there."""
    shown = {name: row[name] for name in expected_ms if name in row}
    assert len(shown) > 15 and {"p2.xlarge", "p3.2xlarge"} <= set(shown)
    assert shown == pytest.approx({name: expected_ms[name] for name in shown}, rel=0.006)


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


def steps_on_answer(app) -> dict[str, float]:
    """Instance -> milliseconds of a step, as Answer's table has them; the comparison has as many digits."""
    cells = column(everything(go(app, "answer")), "Step")
    return {name: float(cell.split()[0].replace(",", "")) for name, cell in cells.items() if cell.endswith("ms")}


def assert_as_on_answer(app, name: str):
    shown = steps_on_answer(app)
    assert len(shown) >= 9
    row = compared(go(app, "profiles"))[name]
    compared_too = {instance: value for instance, value in shown.items() if instance in row}
    assert len(compared_too) >= 9 and {instance: row[instance] for instance in compared_too} == compared_too


def test_what_is_said_here_holds_on_answer_and_back(open_app, samples):
    app = open_app(source="upload")
    give(app, ("net.json", as_version_1(samples[VGG].profile.operations)))
    go(app, "profiles")
    key = own(app)["net.json"]
    assert app.selectbox(key=f"profiles:anchor:{key}").value is None
    app.selectbox(key=f"profiles:anchor:{key}").set_value("g3s.xlarge").run()
    type_in(app, f"profiles:latency:{key}", 130.0)
    go(app, "answer")
    assert app.selectbox(key="anchor").value == "g3s.xlarge"
    assert app.session_state["latency"] == 130.0
    type_in(app, "profiled_batch", 16)
    assert_as_on_answer(app, "net.json")
    type_in(go(app, "answer"), "latency", None)
    go(app, "profiles")
    assert app.session_state[f"profiles:latency:{key}"] is None
    assert compared(app)["net.json"]["g3s.xlarge"] != 130.0


@pytest.mark.parametrize(
    "settings",
    [
        {"tf32": "False"},
        {"latency": "330"},
        {"latency": "5000"},
        {"measured_g4dn.xlarge": "250"},
        {"anchor": "p2.xlarge", "latency": "none"},
    ],
    ids=str,
)
def test_a_sample_that_answer_shows_has_the_numbers_that_it_has_there(open_app, settings):
    """As its settings are there, also by a link to the comparison."""
    app = open_app(sample=VGG, compare_samples=f"{VGG},{LENET}", **settings)
    assert_as_on_answer(app, VGG)
    # As text: where there is no number, it is no number like any other.
    before = str(compared(app)[VGG])
    again = open_app("profiles", **dict(app.query_params))
    assert str(compared(again)[VGG]) == before
    assert str(compared(open_app("profiles", compare_samples=VGG))[VGG]) != before


def test_a_latency_that_answer_was_told_to_trust_counts_here(open_app):
    app = open_app(sample=VGG, latency="5000", compare_samples=VGG)
    go(app, "profiles")
    assert any("makes no sense" in line for line in lines(app.markdown))
    doubted = compared(app)[VGG]
    go(app, "answer").button(key=":use-typed").click().run()
    assert_as_on_answer(app, VGG)
    assert compared(app)[VGG] != doubted and not any("makes no sense" in line for line in lines(app.markdown))


def test_using_one_puts_it_on_answer_with_all_that_is_known_of_it(open_app, samples):
    app = open_app("profiles", compare_samples=ALEXNET)
    app.button(key="profiles:use").click().run()
    assert [title.value for title in app.title] == ["Which cloud GPU should train it?"]
    assert (app.session_state["source"], app.session_state["sample"]) == ("sample", ALEXNET)
    go(app, "profiles")
    assert "on Answer" in app.radio(key="inspected").proto.captions[0]
    give(app, ("mine.json", samples[VGG].data), ("other.json", samples[LENET].data))
    look_at(app, "mine.json")
    app.button(key="profiles:use").click().run()
    assert app.selectbox(key="anchor").value == samples[VGG].anchor
    assert app.session_state["latency"] == samples[VGG].latency_ms
    assert_as_on_answer(app, "mine.json")


def test_the_list_says_what_each_one_is(open_app, models, samples):
    app = open_app("profiles", compare_samples=VGG)
    give(app, ("bare.json", as_version_1(samples[LENET].profile.operations)), ("cpu.json", b'{"Host_MatMul": 5e4}'))
    bare, cpu, sample = (
        caption.replace("\\", "").split(" · ") for caption in app.radio(key="inspected").proto.captions
    )
    assert bare == ["**recorded on?**"]
    assert cpu == ["**recorded on?**", "**no prediction**"]
    assert sample == [
        "sample",
        "M60 (g3s.xlarge)",
        "batch 16",
        "224 px",
        samples[VGG].profile.meta.framework,
        f"{format_ms(samples[VGG].latency_ms)} a step",
        "like the training data",
    ]


def test_a_download_is_the_profile_as_it_was_told(samples):
    read = read_profile(as_version_1(samples[VGG].profile.operations))
    own = OwnProfile("key", read, "net", "upload", "g3s.xlarge", 130.0, precision="fp32", steps=4)
    again = read_profile(write_profile(as_said(own)))
    assert again.operations == pytest.approx({name: us / 2 for name, us in samples[VGG].profile.operations.items()})
    assert (again.steps, again.meta.step_latency_ms, again.meta.precision) == (1, 130.0, "fp32")


def test_names_that_are_alike_are_told_apart(open_app, samples):
    app = open_app("profiles", compare_samples=VGG)
    give(app, (VGG, samples[LENET].data))
    assert list(compared(app)) == [VGG, f"{VGG} (sample)"]
    app.radio(key="inspected").set_value(VGG).run()
    assert any(samples[VGG].title in line for line in lines(app.markdown))


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


def test_the_chart_names_profiles_as_text_and_tells_them_apart(models, catalog, samples):
    resources = load_resources()
    sample = samples[VGG]
    names = [
        "<b>bold</b>",
        "a very, very, very, very long name of a profile at batch 16.json",
        "a very, very, very, very long name of a profile at batch 64.json",
    ]
    candidates = [Candidate(name, name, sample.profile, sample.anchor, sample.latency_ms) for name in names]
    found = rows_of(compare(resources, candidates, "default"))
    instances = one_a_gpu(catalog, instances_of(found), models.instances)
    assert set(instances) > set(models.instances)
    figure = dots(found, "latency", {name: catalog[name].gpu for name in instances})
    labels = list(figure.data[0].y)
    assert len(set(labels)) == 3 and labels[0] == "&lt;b>bold&lt;/b>"
    assert labels[1].endswith("tch 16.json") and labels[2].endswith("tch 64.json")
    drawn = {trace.name.rstrip("*"): trace.x[0] for trace in figure.data}
    expected = found[0].prediction.latencies_ms
    assert drawn == {name: expected[name] for name in instances if name in expected}
    traces = {trace.name: trace for trace in figure.data}
    for row in found[0].prediction.predictions:
        if row.instance not in instances:
            continue
        marker, look = traces[marked(row.instance, row.basis)].marker, gpu_look(catalog[row.instance].gpu)
        assert (marker.color, marker.symbol.removesuffix("-open")) == (look.colour, look.symbol)
        assert marker.symbol.endswith("open") is (row.status == "retired")
    row = table_row(found[0], "latency", instances)
    # The fastest that can be rented is an estimate here, and marked as one.
    fastest = min(
        (one for one in found[0].prediction.predictions if one.latency_ms and one.status != "retired"),
        key=lambda one: (one.latency_ms, one.usd_per_hour),
    )
    assert row["Lowest to rent"] == f"{fastest.instance}*" and catalog[fastest.instance].gpu == "B200"
