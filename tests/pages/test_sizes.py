"""Sizes: curves and a table that say what Predict says; each GPU of the first chart in a color of its own."""

from __future__ import annotations

import json

import pytest

from profet_core.answers.advise import answer_advise
from profet_core.answers.context import Context
from profet_core.answers.questions import AdviseQuestion
from profet_core.catalog import load_gpus
from profet_core.training.advise import Preset, preset_rows
from profet_core.units import format_ms, format_usd
from tests.pages.conftest import (
    as_version_1,
    column,
    go,
    has_results,
    missing,
    open_more,
    result_rows,
    say_missing,
    upload,
)

SAMPLE = "resnet50-128px-b64-g4dn"
SIZE = {"batch": 64, "pixels": 128}


@pytest.fixture(scope="module")
def advised(models, catalog, samples):
    """`advised(preset, ...)`: label -> plan, as Predict has it."""
    context, sample = Context(models, catalog, load_gpus()), samples[SAMPLE]

    def advise(preset="gpus", **fields):
        values = {"anchor": sample.anchor, "latency_ms": sample.latency_ms, "images": 1_281_167, "epochs": 90}
        question = AdviseQuestion.from_fields(profile=sample.profile, include_retired=True, **{**values, **fields})
        rows = preset_rows(answer_advise(context, question).rows, Preset(preset))
        return {row.label: row.plan for row in rows if row.plan is not None}

    return advise


def open_sizes(open_app, **query: str):
    return open_app("sizes", **{"sample": SAMPLE, **query})


def move(app, key: str, size: int):
    return app.select_slider(key=key).set_value(size).run()


def traces(app) -> list[dict]:
    return json.loads(app.get("plotly_chart")[0].proto.spec)["data"]


def curves(app) -> dict[str, dict[float, str]]:
    """GPU and cloud -> size -> what the curve says there."""
    found: dict[str, dict[float, str]] = {}
    for trace in traces(app):
        for size, text in zip(trace["x"], trace.get("customdata", ()), strict=False):
            name, _, words = text.partition(": ")
            found.setdefault(name.removesuffix(" (anchor)"), {})[size] = words
    return found


@pytest.mark.parametrize("preset", ["original", "aws", "gpus", "all"])
def test_the_table_has_the_rows_and_numbers_of_predict(open_app, advised, preset):
    app = open_sizes(open_app, preset=preset)
    assert not app.error and not app.exception
    expected = advised(preset)
    assert column(app, "Step") == {label: format_ms(plan.latency_ms) for label, plan in expected.items()}
    assert column(app, "Cost") == {label: format_usd(plan.total_usd) for label, plan in expected.items()}


@pytest.mark.parametrize(("axis", "at"), [("batch", 112), ("batch", 256), ("pixels", 32)])
def test_the_slider_is_that_of_predict_and_moves_every_number(open_app, advised, axis, at):
    app = open_sizes(open_app, axis=axis)
    assert app.select_slider(key=f"slider:{axis}").value == SIZE[axis]
    move(app, f"slider:{axis}", at)
    expected = advised(**{f"at_{axis}": at})
    assert column(app, "Step") == {label: format_ms(plan.latency_ms) for label, plan in expected.items()}
    assert app.query_params[axis] == str(at)
    go(app, "predict")
    assert app.select_slider(key=f"slider:{axis}").value == at
    move(go(app, "sizes"), f"slider:{axis}", SIZE[axis])
    assert axis not in dict(app.query_params), "the profiled size"


@pytest.mark.parametrize(("shows", "title"), [("latency", "Step"), ("cost", "Cost"), ("time", "Training time")])
def test_the_curves_say_what_the_table_says(open_app, shows, title):
    app = open_sizes(open_app, shows=shows, preset="original", batch="100")
    table = {row["Instance"]: row[title] for row in result_rows(app)}
    drawn = curves(app)
    assert len(table) == 4 and set(drawn) == set(table)
    assert {name: at[100] for name, at in drawn.items()} == table
    assert len([trace for trace in traces(app) if trace.get("fill")]) == 4, "every curve has its band"


@pytest.mark.parametrize("preset", ["original", "aws", "gpus"])
@pytest.mark.parametrize("sample", [SAMPLE, "vgg16-224px-b16-g3s", "alexnet-64px-b128-p2"])
def test_gpus_shown_at_first_have_a_color_each(open_app, preset, sample):
    found = traces(open_sizes(open_app, preset=preset, sample=sample))
    colors = {trace["name"]: trace["line"]["color"] for trace in found if trace.get("customdata")}
    assert len(colors) >= 4 and len(set(colors.values())) == len(colors), colors


def test_the_slider_has_every_size_the_chart_the_chosen_scale_and_each_instance_its_largest_batch(open_app, advised):
    app = open_more(open_sizes(open_app), "sizes")
    app.segmented_control(key="scale").set_value("linear").run()
    assert [int(option) for option in app.select_slider(key="slider:batch").options] == list(range(16, 257))
    layout = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("linear", "linear")
    app = open_sizes(open_app, pixels="256", preset="original", each_at="largest")
    (table,) = (json.loads(one.proto.json) for one in app.get("bidi_component"))
    assert "largest batch" in table["title"]
    batches = {label: int(text) for label, text in column(app, "Batch size").items()}
    assert min(batches.values()) < 256
    for label, batch in batches.items():
        plan = advised("original", at_pixels=256, at_batch=batch)[label]
        assert column(app, "Step")[label] == format_ms(plan.latency_ms)


def test_what_the_profile_does_not_say_is_asked(open_app, samples):
    app = upload(open_app("sizes"), ("old.json", as_version_1(samples[SAMPLE].profile.operations)))
    assert list(missing(app)) == ["batch_size", "pixels"] and not app.error and not has_results(app)
    say_missing(app, batch_size=64)
    assert not app.error and has_results(app)
    app.segmented_control(key="axis").set_value("pixels").run()
    assert list(missing(app)) == ["pixels"] and not app.error and not app.exception
    say_missing(app, pixels=128)
    assert not app.error and has_results(app) and not missing(app)
