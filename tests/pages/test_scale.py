"""Scale: both ends typed or predicted from two profiles, and the latency read off between them."""

from __future__ import annotations

import json

import pytest
from pages.scale.figures import Curve, curves

from profet_core import predict, scale
from profet_core.scaling.axes import axis_range
from profet_core.scaling.context import scale_context
from profet_core.units import format_ms
from tests.pages.conftest import as_version_2, column, go, lines, type_in, upload

PAIRS = {
    "batch": ("resnet50-128px-b16-g4dn", "resnet50-128px-b256-g4dn"),
    "pixels": ("resnet18-32px-b64-g4dn", "resnet18-256px-b64-g4dn"),
}
WORDS = {"batch": "batch {}", "pixels": "{} pixels"}


def ends_of(models, catalog, samples, axis):
    """The pair's latencies on every instance, as profet_core predicts them."""
    return [
        predict(
            models, catalog, samples[name].profile, samples[name].anchor, latency_ms=samples[name].latency_ms
        ).latencies_ms
        for name in PAIRS[axis]
    ]


def warnings_of(models, catalog, samples, axis):
    """What profet_core warns of at either end, as the page puts it."""
    sizes = [WORDS[axis].format(size) for size in axis_range(axis)]
    found = [
        predict(models, catalog, samples[name].profile, samples[name].anchor, latency_ms=samples[name].latency_ms)
        for name in PAIRS[axis]
    ]
    return [f"At {size}: {line}" for size, prediction in zip(sizes, found, strict=True) for line in prediction.warnings]


def pair_context(samples, axis):
    """What the page knows of the sample pair besides its ends."""
    return scale_context(axis, samples[PAIRS[axis][1]].profile)


def expected_read_off(models, low, high, axis, at, context=None):
    return {
        name: format_ms(
            scale(models, models.profiled(name), axis, low[name], high[name], at, context=context).latency_ms
        )
        for name in low
        if name in high
    }


def read_off(app, axis, at):
    return column(app, f"At {WORDS[axis].format(at)} (slider)")


def type_ends(app, axis, ends):
    app.segmented_control(key="ends").set_value("typed").run()
    for name, (low, high) in ends.items():
        type_in(app, f"{axis}_min_ms_{name}", low)
        type_in(app, f"{axis}_max_ms_{name}", high)
    return app.run()


@pytest.mark.parametrize(("axis", "at"), [("batch", 64), ("pixels", 128)])
def test_the_first_screen_shows_the_sample_pair_s_result(open_app, models, catalog, samples, axis, at):
    app = open_app("scale", axis=axis)
    low, high = ends_of(models, catalog, samples, axis)
    assert read_off(app, axis, at) == expected_read_off(models, low, high, axis, at, pair_context(samples, axis))
    assert not app.error
    assert lines(app.warning) == warnings_of(models, catalog, samples, axis)


@pytest.mark.parametrize(
    ("axis", "at"), [("batch", 16), ("batch", 100), ("batch", 256), ("pixels", 32), ("pixels", 224)]
)
def test_the_slider_reads_off_every_instance(open_app, models, catalog, samples, axis, at):
    app = open_app("scale", axis=axis)
    app.slider(key=axis).set_value(at).run()
    low, high = ends_of(models, catalog, samples, axis)
    context = pair_context(samples, axis)
    assert read_off(app, axis, at) == expected_read_off(models, low, high, axis, at, context)


def test_one_instance_or_all(open_app):
    app = open_app("scale")
    everyone = read_off(app, "batch", 64)
    app.selectbox(key="show").set_value("p2.xlarge").run()
    assert read_off(app, "batch", 64) == {"p2.xlarge": everyone["p2.xlarge"]}


def test_typed_ends(open_app, models):
    ends = {"p3.2xlarge": (10.0, 100.0), "g4dn.xlarge": (20.0, 300.0)}
    app = type_ends(open_app("scale"), "batch", ends)
    low, high = ({name: pair[end] for name, pair in ends.items()} for end in (0, 1))
    assert read_off(app, "batch", 64) == {
        name: expected_read_off(models, low, high, "batch", 64)[name] for name in models.instances if name in ends
    }
    assert "g3s.xlarge, p2.xlarge" in lines(app.info)[0]


@pytest.mark.parametrize("largest", [10.0, 9.0])
def test_a_largest_not_above_the_smallest_is_one_line_for_that_instance(open_app, models, largest):
    app = type_ends(open_app("scale"), "batch", {"p3.2xlarge": (10.0, largest), "g4dn.xlarge": (20.0, 300.0)})
    assert lines(app.error) == [
        f"p3.2xlarge: The latency at batch 256 ({largest:g} ms) must be above the latency at batch 16 (10 ms)."
    ]
    expected = format_ms(scale(models, "g4dn.xlarge", "batch", 20.0, 300.0, 64).latency_ms)
    assert read_off(app, "batch", 64) == {"g4dn.xlarge": expected}


def test_every_instance_is_filled_from_two_uploads(open_app, models, catalog, samples):
    app = open_app("scale", batch_min_sample="lenet5-32px-b16-g3s", batch_max_sample="vgg16-224px-b16-g3s")
    for slot, name in zip(("batch_min", "batch_max"), PAIRS["batch"], strict=True):
        upload(app, (f"{name}.json", samples[name].data), slot=slot)
    low, high = ends_of(models, catalog, samples, "batch")
    assert list(read_off(app, "batch", 64)) == list(low)
    assert read_off(app, "batch", 64) == expected_read_off(
        models, low, high, "batch", 64, pair_context(samples, "batch")
    )
    assert lines(app.warning) == warnings_of(models, catalog, samples, "batch")
    go(app, "about")
    assert read_off(go(app, "scale"), "batch", 64) == expected_read_off(
        models, low, high, "batch", 64, pair_context(samples, "batch")
    )


def test_without_latencies_the_anchor_has_no_curve_and_the_page_says_so(open_app, models, catalog, samples):
    app = open_app("scale", batch_min_latency="none", batch_max_latency="none")
    low, high = (
        predict(models, catalog, samples[name].profile, samples[name].anchor).latencies_ms for name in PAIRS["batch"]
    )
    assert read_off(app, "batch", 64) == expected_read_off(
        models, low, high, "batch", 64, pair_context(samples, "batch")
    )
    assert "g4dn.xlarge is the anchor" in lines(app.info)[0]


def test_a_profile_at_another_size_than_the_end_is_noticed(open_app):
    app = open_app("scale", batch_min_sample="resnet50-128px-b64-g4dn")
    assert any("batch size 16, but the one given says 64" in line for line in lines(app.warning))


def test_profiles_of_two_networks_are_noticed(open_app, samples):
    app = open_app("scale")
    other = as_version_2(dict(samples[PAIRS["batch"][1]].profile.operations), batch_size=256, parameters=7)
    upload(app, ("other.json", other), slot="batch_max")
    assert any("are they the same network?" in line for line in lines(app.warning))


def test_the_sample_pair_is_one_click_away(open_app, models, catalog, samples):
    app = open_app("scale")
    first = read_off(app, "batch", 64)
    app.selectbox(key="batch_min_sample").set_value("lenet5-32px-b16-g3s").run()
    app.button(key="use-sample-pair").click().run()
    assert read_off(app, "batch", 64) == first
    assert app.selectbox(key="batch_anchor").value == "g4dn.xlarge"
    assert lines(app.warning) == warnings_of(models, catalog, samples, "batch")


def test_a_doubted_latency_is_asked_about_at_its_end(open_app, models, catalog, samples):
    app = open_app("scale")
    type_in(app, "batch_max_latency", 731_524.0)
    assert "did you mean" in lines(app.warning)[0]
    app.button(key="batch_max:use-suggested").click().run()
    low, high = ends_of(models, catalog, samples, "batch")
    assert read_off(app, "batch", 64) == expected_read_off(
        models, low, high, "batch", 64, pair_context(samples, "batch")
    )


def test_a_link_reopens_the_view(open_app):
    app = type_ends(open_app("scale", axis="pixels"), "pixels", {"p3.2xlarge": (10.0, 100.0)})
    app.slider(key="pixels").set_value(200)
    app.selectbox(key="show").set_value("p3.2xlarge").run()
    link = dict(app.query_params)
    assert link == {
        "axis": "pixels",
        "ends": "typed",
        "pixels": "200",
        "show": "p3.2xlarge",
        "pixels_min_ms_p3.2xlarge": "10",
        "pixels_max_ms_p3.2xlarge": "100",
    }
    again = open_app("scale", **link)
    assert read_off(again, "pixels", 200) == read_off(app, "pixels", 200)


@pytest.mark.parametrize("query", [{"batch": "9999"}, {"batch": "1e3"}, {"axis": "depth"}, {"show": "p9.huge"}])
def test_a_senseless_link_opens_the_first_view(open_app, query):
    app = open_app("scale", **query)
    assert read_off(app, "batch", 64) == read_off(open_app("scale"), "batch", 64)
    assert not app.error and dict(app.query_params) == {}


def test_the_ends_of_what_nobody_profiled_say_so(open_app):
    app = open_app("scale")
    told = column(app, "Ends are")
    assert (told["g4dn.xlarge"], told["p2.xlarge"]) == ("your measurement", "predicted")
    assert (told["g5.xlarge"], told["p5.4xlarge"]) == ("derived, biased", "rough estimate")
    lines_drawn = [trace for trace in json.loads(app.get("plotly_chart")[0].proto.spec)["data"] if trace.get("name")]
    dashed = {trace["name"] for trace in lines_drawn if trace["line"]["dash"] == "dash"}
    assert {"g5.xlarge*", "p5.4xlarge*"} <= dashed == {t["name"] for t in lines_drawn if t["name"].endswith("*")}


def test_the_marker_stands_where_the_slider_does():
    figure = curves(range(16, 19), [Curve("a", [1.0, 2.0, 3.0], "#000")], 17, "batch")
    line, marker = figure.data
    assert list(line.y) == [1.0, 2.0, 3.0]
    assert (list(marker.x), list(marker.y)) == ([17], [2.0])
