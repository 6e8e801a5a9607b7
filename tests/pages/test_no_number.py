"""No number on sand: one line and the way inside where nothing can be predicted, and nothing else breaks."""

from __future__ import annotations

import json

import pytest

from profet_core import read_profile
from profet_core.prediction.checks import refusal
from profet_core.profiles.record import NO_DEVICE
from tests.pages.conftest import (
    answer,
    as_version_2,
    compared,
    give,
    go,
    has_results,
    inside,
    lines,
    notices,
    upload,
)

VGG = "vgg16-224px-b16-g3s"
BUSY = {"Device_Conv2D": 90_000.0, "Device_MatMul": 9_000.0, "Host_IDLE": 9e5}
#: What nothing can be predicted from, each with the first words of its line.
ON_SAND = {
    "no GPU time": (as_version_2({"Host_Dataset": 1000.0, "Host_IDLE": 50_000.0}), NO_DEVICE),
    "the reader's word": (
        json.dumps({"operations": BUSY, "meta": {}, "refusal": "Only forward passes: record training."}).encode(),
        "Only forward passes: record training.",
    ),
}
sand = pytest.mark.parametrize(("data", "says"), ON_SAND.values(), ids=ON_SAND)


def links(app) -> list[str]:
    return [link.proto.label for link in app.get("page_link")]


def assert_refused(app, data: bytes, says: str):
    line = refusal(read_profile(data))
    assert lines(app.error) == [line] and line.startswith(says)
    assert "See what is in it" in links(app)
    assert not has_results(app) and not app.header and not app.exception


@sand
def test_answer_and_sizes_show_one_line_and_the_way_inside(open_app, data, says):
    app = upload(open_app(), ("net.json", data))
    assert_refused(app, data, says)
    go(app, "sizes")
    assert_refused(app, data, says)
    assert any("Shown: your upload net.json" in line for line in lines(app.caption))
    go(app, "predict")
    app.segmented_control(key="source").set_value("sample").run()
    assert not app.error and answer(app) == answer(open_app())


@sand
def test_a_second_profile_on_sand_is_left_out_and_said(open_app, data, says):
    before = answer(open_app(batch="100"))
    app = open_app(second="True", batch="100")
    upload(app, ("net.json", data), slot="second")
    assert (
        lines(app.error) == [f"Second profile: {refusal(read_profile(data))} It is not used."] and answer(app) == before
    )


def test_a_comparison_shows_the_others_and_a_line_for_each(open_app, samples):
    files = [(f"{name}.json", data) for name, (data, _) in ON_SAND.items()]
    app = give(open_app("compare"), *files)
    (line,) = lines(app.error)
    assert all(f"- **{name}.json**: {says}" in line for name, (_, says) in ON_SAND.items())
    assert not app.dataframe and not app.exception
    app = give(app, ("good.json", samples[VGG].data))
    assert list(compared(app)) == ["good.json"] and "good.json" not in lines(app.error)[0]


def test_numbers_say_that_another_gpu_shortens_its_own_part_only(open_app):
    waiting = {"Device_Conv2D": 65_000.0, "Device_IDLE": 35_000.0, "Host_IDLE": 9e5}
    app = upload(open_app(), ("net.json", as_version_2(waiting, step_latency_ms=100.0, batch_size=16)))
    assert notices(app).count("The GPU is busy for about 65% of the step: a faster GPU shortens only that part.") == 1
    inside(go(app, "compare"))
    assert lines(app.info) == ["The GPU is busy for about 65% of the step: a faster GPU shortens only that part."]
