"""Compare, side by side: every profile with its own anchor and latency, as profet_core predicts it."""

from __future__ import annotations

import pytest
from plotly.graph_objects import Figure

from pages.compare.listing import Candidate, as_said, compare
from pages.compare.shown import bars, offer_rows, table_row
from profet_core import predict, read_profile
from profet_core.advice.advise import ORIGINAL
from profet_core.profiles.profet_json import write_profile
from tests.pages.conftest import (
    as_version_1,
    column,
    compared,
    give,
    go,
    lines,
    look_at,
    own,
    say_missing,
    type_in,
)
from ui.state.resources import Held, load_resources

VGG, LENET, ALEXNET = "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s", "alexnet-64px-b128-p2"


def predicted_ms(models, catalog, profile, anchor, latency_ms=None) -> dict[str, float]:
    found = predict(models, catalog, profile, anchor, latency_ms=latency_ms, without_latency=latency_ms is None)
    return found.latencies_ms


def assert_shows(row, expected_ms):
    """Three significant digits of each instance of the preset."""
    shown = {name: row[name] for name in expected_ms if name in row}
    assert len(shown) > 15
    assert shown == pytest.approx({name: expected_ms[name] for name in shown}, rel=0.006)


def test_an_empty_page_loads_samples_with_one_click(open_app, models, catalog, samples):
    app = open_app("compare", compare_samples="../x,")
    assert not app.dataframe and not app.error
    app.button(key="profiles:examples").click().run()
    names = list(samples)[:3]
    assert list(compared(app)) == names
    for name in names:
        sample = samples[name]
        assert_shows(
            compared(app)[name], predicted_ms(models, catalog, sample.profile, sample.anchor, sample.latency_ms)
        )
    assert dict(app.query_params) == {"compare_samples": ",".join(names)}
    again = open_app("compare", **dict(app.query_params))
    assert compared(again) == compared(app)


def test_each_own_profile_with_its_own_anchor_and_latency_beside_a_sample(open_app, models, catalog, samples):
    app = open_app("compare", compare_samples=ALEXNET)
    give(app, (f"{VGG}.json", samples[VGG].data), (f"{LENET}.json", samples[LENET].data))
    shown = compared(app)
    assert list(shown) == [f"{VGG}.json", f"{LENET}.json", ALEXNET]
    for row, name in zip(shown.values(), (VGG, LENET, ALEXNET), strict=True):
        sample = samples[name]
        assert row["Anchor"] == sample.anchor
        assert_shows(row, predicted_ms(models, catalog, sample.profile, sample.anchor, sample.latency_ms))
    app.segmented_control(key="compare_by").set_value("cost").run()
    sample = samples[VGG]
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    costs = {row.instance: row.cost_per_1000_steps_usd for row in expected.predictions}
    assert_shows(compared(app)[f"{VGG}.json"], costs)


def test_where_it_was_recorded_is_asked_in_one_line_and_then_predicted(open_app, models, catalog, samples):
    app = open_app("compare")
    files = [(f"{name}.json", as_version_1(samples[name].profile.operations)) for name in (VGG, LENET)]
    give(app, *files)
    (line,) = lines(app.warning)
    assert f"{VGG}.json, {LENET}.json" in line
    assert not app.dataframe
    key = own(app)[f"{VGG}.json"]
    look_at(app, f"{VGG}.json")
    app.selectbox(key=f"compare:anchor:{key}").set_value("g3s.xlarge").run()
    assert VGG not in lines(app.warning)[0] and LENET in lines(app.warning)[0]
    bare = read_profile(files[0][1])
    assert_shows(compared(app)[f"{VGG}.json"], predicted_ms(models, catalog, bare, "g3s.xlarge"))
    type_in(app, f"compare:latency:{key}", 330.0)
    assert_shows(compared(app)[f"{VGG}.json"], predicted_ms(models, catalog, bare, "g3s.xlarge", 330.0))
    # What is said here holds on Answer, and back.
    app.button(key="compare:use").click().run()
    assert (app.selectbox(key="anchor").value, app.session_state["latency"]) == ("g3s.xlarge", "330 ms")
    say_missing(app, batch_size=16)
    assert_as_on_predict(app, f"{VGG}.json")
    type_in(go(app, "predict"), "latency", None)
    assert go(app, "compare").session_state[f"compare:latency:{key}"] is None


def assert_as_on_predict(app, name: str):
    """The comparison has as many digits."""
    go(app, "predict")
    app.session_state["chart"], app.session_state["predict_columns"] = "table", ["latency_ms"]
    app.run()
    cells = column(app, "Step")
    shown = {name: float(cell.split()[0].replace(",", "")) for name, cell in cells.items() if cell.endswith("ms")}
    row = compared(go(app, "compare"))[name]
    both = {instance: value for instance, value in shown.items() if instance in row}
    assert len(both) >= 9 and {instance: row[instance] for instance in both} == both


def test_a_download_is_the_profile_as_it_was_told(samples):
    read = read_profile(as_version_1(samples[VGG].profile.operations))
    own = Held("key", read, "net", "upload", "g3s.xlarge", 130.0, precision="fp32", steps=4)
    again = read_profile(write_profile(as_said(own)))
    assert again.operations == pytest.approx({name: us / 2 for name, us in samples[VGG].profile.operations.items()})
    assert (again.steps, again.meta.step_latency_ms, again.meta.precision) == (1, 130.0, "fp32")


def test_removing_and_renaming_here(open_app, samples):
    app = open_app("compare", compare_samples=ALEXNET)
    give(app, (f"{VGG}.json", samples[VGG].data), (f"{LENET}.json", samples[LENET].data))
    key = own(look_at(app, f"{VGG}.json"))[f"{VGG}.json"]
    app.text_input(key=f"compare:name:{key}").set_value("mine").run()
    assert list(compared(app)) == ["mine", f"{LENET}.json", ALEXNET]
    app.button(key="compare:remove").click().run()
    assert list(compared(app)) == [f"{LENET}.json", ALEXNET]
    give(app, (f"{VGG}.json", samples[VGG].data))
    app.button(key="compare:remove-all").click().run()
    assert list(compared(app)) == [ALEXNET]
    assert not app.exception


def test_the_chart_has_one_group_per_profile_and_the_predictions(catalog, samples):
    sample = samples[VGG]
    names = ["<b>bold</b>", *(f"a very, very, very, very long name of a profile at batch {at}.json" for at in (16, 64))]
    held = [Held(name, sample.profile, name, "upload", sample.anchor, sample.latency_ms) for name in names]
    found = compare(load_resources(), [Candidate(one) for one in held])
    rows = [row for row in offer_rows(catalog, found) if row.offer.name in ORIGINAL]
    assert [row.offer.name for row in rows if row.is_anchor] == [sample.anchor]
    figure = Figure(bars(found, rows, "latency").to_dict())
    labels = figure.layout.yaxis.ticktext
    assert len(labels) == 3 and labels[0] == "&lt;b>bold&lt;/b>" and list(figure.data[0].y) == [0, 1, 2]
    expected = found[0].prediction.latencies_ms
    assert sorted(trace.x[0] for trace in figure.data) == sorted(expected[name] for name in ORIGINAL)
    costs = Figure(bars(found, rows, "cost").to_dict())
    known = {one.cost_per_1000_steps_usd for one in found[0].predictions if one.instance in ORIGINAL}
    assert {trace.x[0] for trace in costs.data} == known
    # The fastest that can be rented is an estimate here, and marked as one.
    fastest = min(
        (one for one in found[0].predictions if one.latency_ms and one.status != "retired"),
        key=lambda one: (one.latency_ms, one.usd_per_hour),
    )
    assert table_row(found[0], "latency", ORIGINAL)["Lowest"] == f"{fastest.instance}*"


def test_a_latency_that_predict_was_told_to_trust_counts_here(open_app):
    app = open_app(sample=VGG, latency="5000", compare_samples=VGG)
    go(app, "compare")
    assert any("doesn't fit this profile" in line for line in lines(app.markdown))
    doubted = compared(app)[VGG]
    go(app, "predict").button(key=":use-typed").click().run()
    assert_as_on_predict(app, VGG)
    assert compared(app)[VGG] != doubted and not any("doesn't fit this profile" in line for line in lines(app.markdown))
