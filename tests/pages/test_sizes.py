"""Sizes: what batch and pixel size do, from one profile, two, or measured steps at both ends; one number everywhere."""

from __future__ import annotations

import json

import pytest

from profet_core import load_catalog, scale
from profet_core.catalog.naming import machine_words
from profet_core.catalog.nodes import without_larger_nodes
from profet_core.scaling.axes import axis_range
from profet_core.units import format_ms
from tests.pages.conftest import (
    as_version_1,
    as_version_2,
    column,
    everything,
    go,
    has_results,
    lines,
    link,
    notices,
    result_rows,
    type_in,
    upload,
)
from tests.pages.expected import FIRST
from ui.tables import gpu_cell

SIZE = {"batch": "batch_size", "pixels": "pixels"}
#: The first sample and one of another size, of the same network, recorded on the same GPU.
BATCHES = (FIRST, "resnet50-128px-b256-g4dn")


def open_sizes(open_app, **query: str):
    """With retired GPUs, as their measurements are what others are read off, and every offer of one GPU."""
    return open_app("sizes", **{"retired": "True", "rows": "all", **query})


def steps(app) -> dict[str, str]:
    return column(app, "Step")


def expected(app, rows) -> dict[str, str]:
    """Of the offers with one GPU, and of GPUs that are rented in nodes only."""
    offers = without_larger_nodes(load_catalog().values())
    known = {row.instance: format_ms(row.latency_ms) for row in rows if row.latency_ms is not None}
    return {offer.name: known[offer.name] for offer in offers if offer.name in known}


def drawn(app, at: int = 64) -> dict[str, str]:
    """GPU and cloud -> what the curve says at a size."""
    traces = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    said = (
        text for one in traces for size, text in zip(one["x"], one.get("customdata", ()), strict=False) if size == at
    )
    return dict(text.split(": ", 1) for text in said)


def move(app, axis: str, size: int):
    return app.slider(key=f"slider:{axis}").set_value(size).run()


# --- from one profile -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ["batch", "pixels"])
def test_at_the_profiled_size_every_page_gives_the_prediction(open_app, core, samples, axis):
    sample = samples[FIRST]
    app = open_sizes(open_app, axis=axis)
    assert app.slider(key=f"slider:{axis}").value == getattr(sample, SIZE[axis])
    assert steps(app) == expected(app, core.predict(sample).predictions)
    assert not app.error and not app.warning
    assert steps(everything(go(app, "answer"))) == steps(app)


@pytest.mark.parametrize(
    ("axis", "at"), [("batch", 16), ("batch", 100), ("batch", 256), ("pixels", 32), ("pixels", 224)]
)
def test_the_slider_reads_off_every_instance_and_the_answer_follows(open_app, core, samples, axis, at):
    sample = samples[FIRST]
    app = move(open_sizes(open_app, axis=axis), axis, at)
    size = {"batch_size": sample.batch_size, "pixels": sample.pixels, SIZE[axis]: at}
    assert steps(app) == expected(app, core.steps_at(sample, **size))
    assert app.query_params[axis] == str(at)
    assert steps(everything(go(app, "answer"))).items() <= steps(app).items()
    assert app.session_state[axis] == at


def test_the_other_size_is_the_training_s_too(open_app, core, samples):
    sample = samples[FIRST]
    app = open_sizes(open_app, batch="200", pixels="224")
    rows = expected(app, core.steps_at(sample, batch_size=200, pixels=224))
    assert steps(app) == rows
    assert any("224 pixels" in line for line in lines(app.caption))
    app.segmented_control(key="axis").set_value("pixels").run()
    assert steps(app) == rows
    assert steps(everything(go(app, "answer"))).items() <= rows.items()


def test_moving_back_to_the_profiled_size_leaves_nothing_in_the_link(open_app):
    app = move(open_sizes(open_app), "batch", 200)
    assert link(app) == {"batch": "200"}
    assert link(move(app, "batch", 64)) == {}


@pytest.mark.parametrize(
    ("shows", "title"),
    [("latency", "Step"), ("images", "Images a second"), ("time", "Time"), ("cost", "Cost")],
)
def test_the_curves_say_what_the_table_says(open_app, shows, title):
    app = everything(open_sizes(open_app, shows=shows, rows="best"), "sizes")
    told, curves = {row["GPU"].split(", host-limited")[0]: row[title] for row in result_rows(app)}, drawn(app)
    assert len(told) >= 6
    assert set(curves) == set(told)
    for name, text in told.items():
        assert curves[name].startswith(text), name


def test_each_gpu_at_the_largest_batch_that_fits(open_app, core, samples):
    sample = samples["vgg16-224px-b16-g3s"]
    app = everything(open_sizes(open_app, sample=sample.name), "sizes")
    app.segmented_control(key="each_at").set_value("largest").run()
    names = {(machine_words(offer), gpu_cell(offer)): offer.name for offer in core.catalog.values()}
    for row in result_rows(app):
        largest = int(row["Memory"].rpartition("≤ ")[2].replace(",", ""))
        batch_size = int(row["Batch size"].replace(",", ""))
        assert batch_size == min(largest, 256)
        at = {one.instance: one for one in core.steps_at(sample, batch_size=batch_size)}
        assert row["Step"] == format_ms(at[names[row["Instance"], row["GPU"]]].latency_ms)
    assert link(app) == {"sample": sample.name, "each_at": "largest"}


def test_retired_instances_only_where_they_are_asked_for(open_app):
    gone = {"g3s.xlarge", "p2.xlarge", "p3.2xlarge"}
    assert not gone & set(steps(open_app("sizes")))
    assert gone <= set(steps(open_sizes(open_app, rows="best")))


def test_without_a_latency_the_anchor_has_no_curve(open_app, core, samples):
    app = open_sizes(open_app, latency="none")
    assert steps(app) == expected(app, core.predict(samples[FIRST], latency_ms=None).predictions)
    assert "g4dn.xlarge" not in steps(app) and "T4, AWS" not in drawn(app)


def test_a_doubted_latency_is_asked_about_here_too(open_app, samples):
    app = type_in(open_sizes(open_app), "latency", 1000 * samples[FIRST].latency_ms)
    assert "did you mean" in notices(app)[0]
    app.button(key=":use-suggested").click().run()
    assert not app.warning and steps(app) == steps(open_sizes(open_app))


def test_what_the_profile_doesn_t_tell_is_asked_or_said(open_app, core, samples):
    app = upload(open_sizes(open_app), ("old.json", as_version_1(samples[FIRST].profile.operations)))
    assert lines(app.error) == ["The profile doesn't say its batch size: give the batch size it was recorded at."]
    type_in(app, "profiled_batch", 64)
    assert not app.error and has_results(app)
    app.segmented_control(key="axis").set_value("pixels").run()
    (line,) = lines(app.error)
    assert line.startswith("The profile doesn't say its pixel size") and not app.exception
    type_in(app, "profiled_pixels", 128)
    assert not app.error and has_results(app)
    told = dict(app.query_params)
    assert (told["profiled_batch"], told["profiled_pixels"]) == ("64", "128")


# --- from two profiles ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [16, 64, 128, 256])
def test_two_profiles(open_app, core, samples, at):
    first, second = (samples[name] for name in BATCHES)
    app = open_sizes(open_app, second="True", second_sample=second.name)
    move(app, "batch", at)
    assert steps(app) == expected(app, core.steps_at(first, second, batch_size=at, pixels=128))
    assert notices(app) == [f"Second profile: {line}" for line in core.predict(second).warnings]
    if at == 256:
        assert steps(app)["g4dn.xlarge"] == format_ms(second.latency_ms), "as it was measured there"


def test_profiles_of_two_networks_are_noticed(open_app, samples):
    app = open_sizes(open_app, second="True")
    before = steps(open_sizes(open_app))
    meta = {"gpu": "Tesla T4", "batch_size": 256, "pixels": 128, "parameters": 7}
    upload(app, ("other.json", as_version_2(dict(samples[BATCHES[1]].profile.operations), **meta)), slot="second")
    assert any("are they the same network?" in line for line in lines(app.error))
    assert steps(app) == before


# --- measured at both ends ------------------------------------------------------------------------------------------


def type_ends(app, axis, ends):
    app.segmented_control(key="ends").set_value("typed").run()
    for name, (low, high) in ends.items():
        type_in(app, f"{axis}_min_ms_{name}", low)
        type_in(app, f"{axis}_max_ms_{name}", high)
    return app


@pytest.mark.parametrize(("axis", "at"), [("batch", 64), ("batch", 200), ("pixels", 128)])
def test_measured_steps(open_app, models, axis, at):
    ends = {"p3.2xlarge": (10.0, 100.0), "g4dn.xlarge": (20.0, 300.0)}
    app = move(type_ends(open_sizes(open_app, axis=axis), axis, ends), axis, at)
    assert steps(app) == {
        name: format_ms(scale(models, name, axis, *pair, at).latency_ms) for name, pair in ends.items()
    }
    again = open_sizes(open_app, **link(app))
    assert steps(again) == steps(app)
    for size, end in zip(axis_range(axis), (0, 1), strict=True):
        assert steps(move(app, axis, size)) == {name: format_ms(pair[end]) for name, pair in ends.items()}


@pytest.mark.parametrize("largest", [10.0, 9.0])
def test_a_largest_not_above_the_smallest_is_one_line_for_that_instance(open_app, models, largest):
    ends = {"p3.2xlarge": (10.0, largest), "g4dn.xlarge": (20.0, 300.0)}
    app = move(type_ends(open_sizes(open_app), "batch", ends), "batch", 64)
    assert set(lines(app.error)) == {
        f"p3.2xlarge: The latency at batch 256 ({largest:g} ms) must be above the latency at batch 16 (10 ms)."
    }
    assert steps(app) == {"g4dn.xlarge": format_ms(scale(models, "g4dn.xlarge", "batch", 20.0, 300.0, 64).latency_ms)}


def test_without_any_both_ends_the_page_says_what_to_give(open_app):
    app = open_sizes(open_app, ends="typed", **{"batch_min_ms_p2.xlarge": "10"})
    assert lines(app.info) == ["Give an instance's latency at both ends to see its curve."]
    assert not app.error and not has_results(app)


# --- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        {"batch": "9999"},
        {"batch": "1e3"},
        {"axis": "depth"},
        {"shows": "<b>"},
        {"each_at": "home"},
        {"ends": "loose"},
        {"batch_min_ms_p2.xlarge": "-1"},
        {"sizes_open": "<b>"},
    ],
    ids=str,
)
def test_a_senseless_link_opens_the_first_view(open_app, query):
    app = open_app("sizes", **query)
    assert steps(app) == steps(open_app("sizes")) and app.slider(key="slider:batch").value == 64
    assert not app.error and not app.exception


def test_a_link_reopens_the_view(open_app):
    app = open_sizes(open_app, axis="pixels", shows="cost", sizes_open="p5.4xlarge", sample="vgg16-224px-b16-g3s")
    move(app, "pixels", 100)
    given = link(app)
    assert given == {
        "sample": "vgg16-224px-b16-g3s",
        "axis": "pixels",
        "pixels": "100",
        "shows": "cost",
        "sizes_open": "p5.4xlarge",
    }
    again = open_sizes(open_app, **given)
    assert steps(again) == steps(app) and drawn(again, 128) == drawn(app, 128) != {}
