"""Sizes and Scaler: curves and a table that say what Predict says; latencies prefilled from it, or typed."""

from __future__ import annotations

import json

import pytest

from profet_core import ScaleContext, scale
from profet_core.answers.advise import answer_advise
from profet_core.answers.context import Context
from profet_core.catalog import load_gpus
from profet_core.latency import BasisWord
from profet_core.questions import AdviseQuestion, ask
from profet_core.training.advise import Preset, preset_rows
from profet_profiles.units import format_ms, format_significant, format_usd, typed_positive
from tests.pages.conftest import (
    as_version_1,
    column,
    go,
    has_results,
    lines,
    link,
    missing,
    open_more,
    result_rows,
    result_tables,
    say_missing,
    type_in,
    upload,
)
from ui.charts import COLORS

SAMPLE = "resnet50-128px-b64-g4dn"
SIZE = {"batch": 64, "pixels": 128}


@pytest.fixture(scope="module")
def advised(models, catalog, samples):
    """`advised(preset, ...)`: label -> plan, as Predict has it."""
    context, sample = Context(models, catalog, load_gpus()), samples[SAMPLE]

    def advise(preset="gpus", **fields):
        values = {"anchor": sample.anchor, "latency_ms": sample.latency_ms, "images": 1_281_167, "epochs": 90}
        question = ask(AdviseQuestion, {"profile": sample.profile, "include_retired": True, **values, **fields})
        rows = preset_rows(answer_advise(context, question).rows, Preset(preset))
        return {row.label: row for row in rows if row.has_number}

    return advise


def open_sizes(open_app, **query: str):
    return open_app("sizes", **{"sample": SAMPLE, **query})


def move(app, key: str, size: int):
    return app.select_slider(key=key).set_value(size).run()


def traces(app) -> list[dict]:
    return json.loads(app.get("plotly_chart")[0].proto.spec)["data"]


def curves(app) -> dict[str, dict[float, str]]:
    """GPU and cloud -> size -> what the curve says there."""
    values: dict[str, dict[float, str]] = {}
    for trace in traces(app):
        for size, text in zip(trace["x"], trace.get("customdata", ()), strict=False):
            name, _, words = text.partition(": ")
            values.setdefault(name.removesuffix(" (anchor)"), {})[size] = words
    return values


@pytest.mark.parametrize("preset", ["original", "aws", "gpus", "all"])
def test_the_table_has_the_rows_and_numbers_of_predict(open_app, advised, preset):
    app = open_sizes(open_app, preset=preset)
    assert not app.error and not app.exception
    expected = advised(preset)
    assert column(app, "Step") == {label: format_ms(plan.latency_ms) for label, plan in expected.items()}
    assert column(app, "Training cost") == {label: format_usd(plan.total_usd) for label, plan in expected.items()}


@pytest.mark.parametrize(("axis", "at"), [("batch", 112), ("batch", 256), ("pixels", 32)])
def test_the_slider_is_that_of_predict_and_moves_every_number(open_app, advised, axis, at):
    app = open_sizes(open_app, axis=axis)
    assert app.select_slider(key=f"slider:{axis}").value == SIZE[axis]
    move(app, f"slider:{axis}", at)
    expected = advised(**{f"at_{axis}": at})
    assert column(app, "Step") == {label: format_ms(plan.latency_ms) for label, plan in expected.items()}
    assert app.query_params[f"at_{axis}"] == str(at)
    go(app, "predict")
    assert app.select_slider(key=f"slider:{axis}").value == at
    move(go(app, "sizes"), f"slider:{axis}", SIZE[axis])
    assert f"at_{axis}" not in dict(app.query_params), "the profiled size"


@pytest.mark.parametrize(
    ("shows", "title"), [("latency", "Step"), ("cost", "Training cost"), ("time", "Training time")]
)
def test_the_curves_say_what_the_table_says(open_app, shows, title):
    app = open_sizes(open_app, shows=shows, preset="original", batch="100")
    table = {row["Instance"].partition(" · ")[0]: row[title] for row in result_rows(app)}
    drawn = curves(app)
    assert len(table) == 4 and set(drawn) == set(table)
    assert {name: at[100] for name, at in drawn.items()} == table
    assert len([trace for trace in traces(app) if trace.get("fill")]) == 4, "every curve has its band"


@pytest.mark.parametrize("preset", ["original", "gpus"])
def test_color_is_the_basis_gpus_are_named_at_the_ends_and_one_band_of_many_is_drawn(open_app, preset):
    app = open_sizes(open_app, preset=preset)
    spec = json.loads(app.get("plotly_chart")[0].proto.spec)
    basis = {row["Instance"].partition(" · ")[0]: row["Basis"] for row in result_rows(app)}
    colors = {
        trace["name"].removesuffix(" (anchor)"): trace["line"]["color"] for trace in spec["data"] if "name" in trace
    }
    assert {basis[name]: color for name, color in colors.items()} == {
        basis[name]: COLORS[BasisWord(basis[name])] for name in colors
    }
    notes = spec["layout"]["annotations"]
    assert len(notes) == len(colors) and not spec["layout"]["showlegend"]
    bands = [trace for trace in spec["data"] if trace.get("fill")]
    assert len(bands) == (len(colors) if len(colors) <= 4 else 1)
    assert sum(note["text"].startswith("<b>") for note in notes) == 1


def test_the_slider_has_every_size_the_chart_the_chosen_scale_and_each_instance_its_largest_batch(open_app, advised):
    app = open_more(open_sizes(open_app), "sizes")
    app.segmented_control(key="scale").set_value("linear").run()
    assert [int(option) for option in app.select_slider(key="slider:batch").options] == list(range(16, 257))
    layout = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("linear", "linear")
    app = open_sizes(open_app, pixels="256", preset="original", each_at="largest")
    (table,) = result_tables(app)
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


SAMPLE = "resnet50-128px-b64-g4dn"
BATCH = ("scaler:Min:batch", "scaler:Max:batch")


def fields(app) -> tuple[float | None, float | None]:
    return tuple(field.value for field in app.number_input)


def predicted(core, sample, instance: str, **fields) -> float:
    """As the field shows it."""
    plans = {row.instance: row for row in core.advise(sample, **fields).rows}
    return typed_positive(format_significant(plans[instance].latency_ms))


@pytest.mark.parametrize(
    ("axis", "ends", "at", "method"), [("batch", (16, 256), 97, "profet"), ("pixels", (32, 256), 225, "default")]
)
def test_it_starts_with_predict_s_answer_and_has_every_size(open_app, core, models, samples, axis, ends, at, method):
    app = open_app("scaler", sample=SAMPLE, scaler_axis=axis, scaler_method=method)
    assert not app.error and not app.exception, lines(app.error)
    low, high = (predicted(core, samples[SAMPLE], "p3.2xlarge", **{f"at_{axis}": end}) for end in ends)
    assert fields(app) == (low, high) and len(app.get("plotly_chart")) == 1
    slider = app.slider(key=f"scaler_at_{axis}")
    assert (slider.min, slider.max, slider.step) == (*ends, 1)
    slider.set_value(at).run()
    own = {"batch": 64, "pixels": 128}[axis]
    predict_ms = predicted(core, samples[SAMPLE], "p3.2xlarge")
    context = ScaleContext(known_at=own, known_ms=predict_ms) if method == "default" else None
    expected = scale(models, "p3.2xlarge", axis, low, high, at, method=method, context=context)
    assert app.metric[0].value == f"{format_ms(expected.latency_ms)}/step"
    if method == "default":
        slider.set_value(own).run()
        assert app.metric[0].value == f"{format_ms(predict_ms)}/step", "what Predict says there"
    again = open_app("scaler", **link(app))
    assert again.metric[0].value == app.metric[0].value


def test_a_typed_latency_wins_until_its_field_is_emptied(open_app, models):
    app = open_app("scaler")
    low, high = fields(app)
    type_in(app, BATCH[0], 10)
    assert fields(app) == (10, high) and link(app) == {"scaler_min_batch": "10"}
    type_in(app, BATCH[1], 100)
    app.selectbox(key="scaler_instance").set_value("g4dn.xlarge").run()
    assert (
        10 not in fields(app) and 100 not in fields(app) and "Your latencies were for V100 SXM." in lines(app.caption)
    )
    next(button for button in app.button if button.label == "Use them for T4").click().run()
    assert fields(app) == (10, 100)
    expected = scale(models, "g4dn.xlarge", "batch", 10, 100, 128)
    assert app.metric[0].value == f"{format_ms(expected.latency_ms)}/step"
    app.selectbox(key="scaler_instance").set_value("p3.2xlarge").run()
    assert fields(app) == (low, high)
    app.selectbox(key="scaler_instance").set_value("g4dn.xlarge").run()
    assert fields(app) == (10, 100), "they are back with their GPU"
    app.selectbox(key="scaler_instance").set_value("p3.2xlarge").run()
    type_in(type_in(app, BATCH[0], None), BATCH[1], None)
    assert fields(app) == (low, high) and link(app) == {}


def test_it_follows_predict_and_latencies_that_fall_are_one_line(open_app):
    app = open_app("scaler")
    before = fields(app)
    go(app, "predict").selectbox(key="sample").set_value("vgg16-224px-b16-g3s").run()
    assert fields(go(app, "scaler")) != before and not app.error
    app = open_app("scaler", scaler_min_batch="100", scaler_max_batch="10")
    assert len(app.error) == 1 and not app.exception and not app.metric


def test_without_a_prediction_both_latencies_are_asked(open_app, models, samples):
    data = as_version_1(samples[SAMPLE].profile.operations)
    app = go(upload(open_app(), ("old.json", data), recorded_on=None), "scaler")
    assert fields(app) == (None, None) and len(app.info) == 1 and not app.error and not app.metric
    type_in(type_in(app, BATCH[0], 10), BATCH[1], 100)
    assert app.metric[0].value == f"{format_ms(scale(models, 'p3.2xlarge', 'batch', 10, 100, 128).latency_ms)}/step"
