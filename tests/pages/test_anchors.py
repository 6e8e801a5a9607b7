"""Any GPU is an anchor; where there is no number the page says why and what to do."""

from __future__ import annotations

import json

import pytest

from profet_core import read_profile
from profet_core.prediction.checks import refusal
from profet_core.prediction.models import Sample
from profet_profiles.record import NO_DEVICE
from profet_profiles.units import format_ms
from tests.pages.conftest import (
    answer,
    as_version_2,
    assert_shows,
    column,
    compared,
    custom,
    everything,
    give,
    go,
    has_results,
    inside,
    lines,
    missing,
    notices,
    say_missing,
    upload,
)

VGG = "vgg16-224px-b16-g3s"
A100, RTX = "A100-SXM4-80GB", "GeForce RTX 2080 Ti"
#: unprofiled GPUs, as frameworks name them, and by their specs; no offer has the second one.
FOREIGN = {"NVIDIA A100-SXM4-80GB": A100, "NVIDIA GeForce RTX 2080 Ti": RTX}
foreign = pytest.mark.parametrize(("named", "gpu"), FOREIGN.items(), ids=FOREIGN.values())


def as_torch(sample: Sample, **meta: object) -> bytes:
    """A sample's operations as a PyTorch profile."""
    known = {"batch_size": sample.batch_size, "pixels": sample.pixels, "framework": "PyTorch 2.9", "precision": "fp32"}
    return as_version_2(dict(sample.profile.operations), **{**known, **meta})


def opened(open_app, data: bytes, **query: str):
    return upload(open_app(**query), ("net.json", data))


def anchor(app):
    return app.selectbox(key="anchor")


@foreign
def test_a_profile_of_any_gpu_is_recognized_and_says_what_it_rests_on(open_app, core, samples, named, gpu):
    data = as_torch(samples[VGG], gpu=named)
    app = everything(opened(open_app, data))
    assert (anchor(app).value, list(app.error), list(app.exception)) == (gpu, [], [])
    assert [line for line in notices(app) if gpu in line]
    expected = {row.instance: row for row in core.predict(read_profile(data), anchor=gpu).predictions}
    stated, step = (column(app, title) for title in ("Basis", "Step"))
    assert "g4dn.xlarge" in step and gpu not in step
    for name in step:
        assert step[name] == format_ms(expected[name].latency_ms)
        assert stated[name] == expected[name].basis.word in ("Scaled", "Estimated"), "not as from a profiled GPU"
    assert expected["g4dn.xlarge"].basis == expected["g4dn.12xlarge"].basis == "mapped"


def test_an_anchor_may_be_chosen_where_the_profile_tells_none(open_app, core, samples):
    data = as_torch(samples[VGG])
    app = upload(open_app(), ("net.json", data), recorded_on=None)
    for page in ("sizes", "predict"):
        # Nothing is assumed, whatever the sample before it was recorded on.
        assert not has_results(app) and anchor(app).value is None and not app.exception
        assert list(missing(app)) == ["anchor"] and not app.error
        app = go(app, page)
    app = everything(say_missing(app, anchor=RTX))
    assert_shows(app, core.advise(read_profile(data), anchor=RTX))
    app = go(go(app, "compare"), "predict")
    assert anchor(app).value == RTX and list(custom(app)) == ["net.json"] and answer(app)


@pytest.mark.parametrize(
    ("named", "query", "says"),
    [
        ("AMD Instinct MI355X", {}, "specs are unknown"),
        ("Tesla P100-PCIE-16GB", {"method": "profet"}, "use the default method"),
    ],
)
def test_what_nothing_can_start_from_is_one_line_everywhere(open_app, samples, named, query, says):
    app = opened(open_app, as_torch(samples[VGG], gpu=named), **query)
    for page in ("sizes", "predict"):
        (line,) = lines(app.error)
        assert says in line and not has_results(app) and not app.exception
        app = go(app, page)
    app = go(app, "compare")
    assert any(says in line for line in lines(app.error)) and not app.exception


BUSY = {"Device_Conv2D": 45_000.0, "Device_Conv2DBackpropFilter": 45_000.0, "Device_MatMul": 9_000.0, "Host_IDLE": 9e5}
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
    assert "Look inside the profile" in links(app)
    assert not has_results(app) and not app.header and not app.exception


@sand
def test_answer_and_sizes_show_one_line_and_the_way_inside(open_app, data, says):
    app = upload(open_app(), ("net.json", data))
    assert_refused(app, data, says)
    go(app, "sizes")
    assert_refused(app, data, says)
    assert any(line.startswith("net.json: ") for line in lines(app.caption))
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
    assert "good.json" in compared(app) and "good.json" not in lines(app.error)[0]


def test_numbers_say_that_another_gpu_shortens_its_own_part_only(open_app):
    busy = {"Device_Conv2D": 35_000.0, "Device_Conv2DBackpropInput": 30_000.0}
    waiting = {**busy, "Device_IDLE": 35_000.0, "Host_IDLE": 9e5}
    app = upload(open_app(), ("net.json", as_version_2(waiting, step_latency_ms=100.0, batch_size=16)))
    assert notices(app).count("The GPU is busy for about 65% of the step: a faster GPU shortens only that part.") == 1
    inside(go(app, "compare"))
    assert lines(app.info) == ["The GPU is busy for about 65% of the step: a faster GPU shortens only that part."]
