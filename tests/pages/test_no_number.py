"""No number on sand: one line and the way inside where nothing can be predicted, and nothing else breaks."""

from __future__ import annotations

import json

import pytest

from profet_core import read_profile
from profet_core.prediction.refusals import refusal
from profet_core.profiles.record import NO_DEVICE
from tests.pages.conftest import (
    as_version_2,
    column,
    compared,
    give,
    go,
    inside,
    lines,
    rows,
    type_in,
    upload,
)

VGG = "vgg16-224px-b16-g3s"
BUSY = {"Device_Conv2D": 90_000.0, "Device_MatMul": 9_000.0, "Host_IDLE": 9e5}
#: What nothing can be predicted from, each with the first words of its line.
ON_SAND = {
    "no GPU time": (as_version_2({"Host_Dataset": 1000.0, "Host_IDLE": 50_000.0}), NO_DEVICE),
    "XLA": (as_version_2(BUSY, framework="TensorFlow 2.16", compiled=True), "XLA joined"),
    "no operations": (as_version_2({**BUSY, "Device_Unknown": 50_000.0}), "34% of the GPU's time"),
    "the reader's word": (
        json.dumps({"operations": BUSY, "meta": {}, "refusal": "Only forward passes: record training."}).encode(),
        "Only forward passes: record training.",
    ),
}
sand = pytest.mark.parametrize(("data", "says"), ON_SAND.values(), ids=ON_SAND)


def links(app) -> list[str]:
    return [link.proto.label for link in app.get("page_link")]


def assert_refused(app, data: bytes, says: str, before: str = ""):
    line = before + refusal(read_profile(data))
    assert lines(app.error) == [line] and line.startswith(before + says)
    assert "See what is in it" in links(app)
    assert not app.table and not app.metric and not app.exception


@sand
def test_predict_cost_and_advise_show_one_line_and_the_way_inside(open_app, data, says):
    app = upload(open_app(), ("net.json", data))
    assert_refused(app, data, says)
    for page in ("cost", "advise"):
        go(app, page)
        assert_refused(app, data, says)
        assert "For your upload net.json." in lines(app.markdown)
        assert "Change the profile on Predict" in links(app)
    go(app, "predict")
    app.segmented_control(key="source").set_value("sample").run()
    assert not app.error and column(app, "Step latency") == column(open_app(), "Step latency")


@sand
def test_inside_everything_is_shown(open_app, data, says):
    app = inside(go(upload(open_app(), ("net.json", data)), "profiles"))
    assert lines(app.warning)[0].startswith(says)
    assert not app.error and not app.exception
    assert set(app.dataframe[0].value["Operation"]) == set(read_profile(data).operations)
    assert rows(app, 0)[1]["In this profile"] == "one step, assumed"


@sand
def test_scale_says_which_end_and_cost_goes_on_without_it(open_app, samples, data, says):
    app = open_app("scale")
    upload(app, ("net.json", data), slot="batch_max")
    assert_refused(app, data, says, before="At batch 256: ")
    go(app, "cost")
    assert not app.error and app.table
    assert any("nothing can be predicted from one of the profiles on Scale" in line for line in lines(app.caption))


@sand
def test_a_comparison_shows_the_others_and_a_line_for_each(open_app, samples, data, says):
    app = give(open_app("profiles"), ("sand.json", data), ("good.json", samples[VGG].data))
    assert list(compared(app)) == ["good.json"]
    (line,) = lines(app.error)
    assert f"- **sand.json**: {says}" in line and "good.json" not in line
    assert not any("sand.json" in text for text in lines((*app.warning, *app.markdown)))
    assert not app.exception


def test_a_comparison_with_nothing_else_has_no_table(open_app):
    files = [(f"{name}.json", data) for name, (data, _) in ON_SAND.items()]
    app = give(open_app("profiles"), *files)
    (line,) = lines(app.error)
    assert [name for name, _ in files if f"**{name}**" in line] == [name for name, _ in files]
    assert not app.dataframe and not app.exception


def test_a_measured_size_on_sand_is_left_out_and_said(open_app, samples):
    app = open_app(measured_at="other", measured_source="upload")
    target = next(iter(samples[next(iter(samples))].measured_ms))
    type_in(app, f"measured_{target}", 50.0)
    give(app, ("cpu.json", ON_SAND["no GPU time"][0]), slot="measured")
    assert lines(app.error) == [f"The measured size: {NO_DEVICE} The numbers below are predicted without it."]
    assert column(app, "Step latency") == column(open_app(), "Step latency")


def test_a_torch_compiled_step_and_a_few_unknown_kernels_are_warned_of_only(open_app):
    compiled = as_version_2(BUSY, framework="PyTorch 2.13", compiled=True, precision="fp32")
    assert not upload(open_app(), ("net.json", compiled)).error
    some = as_version_2({**BUSY, "Device_Unknown": 10_000.0})
    app = upload(open_app(), ("net.json", some))
    assert not app.error and any("9% of the GPU's time belongs to no operation" in line for line in lines(app.warning))


def test_numbers_say_that_another_gpu_shortens_its_own_part_only(open_app):
    waiting = {"Device_Conv2D": 65_000.0, "Device_IDLE": 35_000.0, "Host_IDLE": 9e5}
    app = upload(open_app(), ("net.json", as_version_2(waiting, step_latency_ms=100.0)))
    assert (
        lines(app.caption).count("The GPU worked for about 65% of the step: a faster GPU shortens that part only.") == 1
    )
    inside(go(app, "profiles"))
    assert lines(app.info) == ["The GPU worked for about 65% of the step: a faster GPU shortens that part only."]
