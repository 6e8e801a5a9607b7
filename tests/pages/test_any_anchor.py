"""A profile of any GPU: recognized by its name, answered, and never shown as if models had learned from that GPU."""

from __future__ import annotations

import pytest

from profet_core import read_profile
from profet_core.artifacts.samples import Sample
from profet_core.units import format_ms
from tests.pages.conftest import (
    answer,
    as_version_2,
    assert_shows,
    column,
    everything,
    go,
    has_results,
    lines,
    notices,
    own,
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
    stated, sure, step = (column(app, title) for title in ("Based on", "Confidence", "Step"))
    assert "g4dn.xlarge" in step and gpu not in step
    for name in step:
        assert step[name] == format_ms(expected[name].latency_ms)
        assert stated[name] == expected[name].basis.words
        assert sure[name] in ("fair", "rough"), "nothing is as sure as from a profiled GPU"
    assert expected["g4dn.xlarge"].basis == expected["g4dn.12xlarge"].basis == "carried-back"


def test_an_anchor_may_be_chosen_where_the_profile_tells_none(open_app, core, samples):
    data = as_torch(samples[VGG])
    app = upload(open_app(), ("net.json", data), recorded_on=None)
    for page in ("sizes", "predict"):
        # Nothing is assumed, whatever the sample before it was recorded on.
        assert not has_results(app) and anchor(app).value is None and not app.exception
        assert [line for line in lines(app.error) if "doesn't say" in line]
        app = go(app, page)
    app = everything(anchor(app).set_value(RTX).run())
    assert_shows(app, core.advise(read_profile(data), anchor=RTX))
    app = go(go(app, "compare"), "predict")
    assert anchor(app).value == RTX and list(own(app)) == ["net.json"] and answer(app)


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
