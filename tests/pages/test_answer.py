"""Answer: from a sample, an upload or pasted text to what profet_core advises on its numbers."""

from __future__ import annotations

import gzip
import json

import pytest

from profet_core import Profile, read_profile
from profet_core.prediction.steps import steps_note
from profet_core.typed_numbers import as_understood
from profet_core.units import format_ms
from tests.pages.conftest import (
    answer,
    as_version_1,
    as_version_2,
    assert_says,
    column,
    everything,
    give,
    go,
    lines,
    link,
    notices,
    type_in,
    upload,
)
from tests.pages.expected import FIRST

VGG = "vgg16-224px-b16-g3s"


def test_the_first_screen_answers_for_the_first_sample(open_app, core, samples):
    sample = next(iter(samples.values()))
    app = open_app()
    assert app.selectbox(key="sample").value == sample.name == FIRST
    assert app.selectbox(key="anchor").value == sample.anchor
    assert app.session_state["latency"] == sample.latency_ms
    assert_says(app, core.advise(sample, core.predict(sample)))
    assert not app.warning and link(app) == {}


def test_every_sample_sets_its_anchor_and_latency(open_app, core, samples):
    app = open_app(retired="True")
    for sample in samples.values():
        app.selectbox(key="sample").set_value(sample.name).run()
        assert_says(app, core.advise(sample, core.predict(sample), retired=True))


def test_steps_are_profet_core_s(open_app, core, samples):
    sample = samples[FIRST]
    app = everything(open_app())
    expected = core.predict(sample).latencies_ms
    assert column(app, "Step") == {name: format_ms(expected[name]) for name in column(app, "Step")}
    assert set(column(app, "Step")) == {
        plan.label for plan in core.advise(sample, core.predict(sample), retired=True).plans
    }


def test_without_a_latency_the_anchor_itself_is_left_out_and_said_to_be(open_app, core, samples):
    sample = samples[FIRST]
    app = type_in(open_app(retired="True"), "latency", None)
    assert_says(app, core.advise(sample, core.predict(sample, latency_ms=None), retired=True))
    assert "Left out: g4dn.xlarge: its latency is not given." in lines(app.caption)


@pytest.mark.parametrize(("number", "unit"), [(203_295.0, "us"), (0.203295, "s")])
def test_a_latency_may_be_typed_in_any_unit(open_app, core, samples, number, unit):
    sample = samples[FIRST]
    app = open_app(sample=FIRST, retired="True")
    app.selectbox(key="unit").set_value(unit)
    type_in(app, "latency", number)
    assert_says(app, core.advise(sample, core.predict(sample, latency_ms=203.295), retired=True))


def test_an_upload_is_answered_for_and_its_meta_fills_the_form(open_app, core, samples):
    sample = samples[VGG]
    app = upload(open_app(retired="True"), ("net.json", sample.data))
    assert app.selectbox(key="anchor").value == "g3s.xlarge"
    assert app.session_state["latency"] == sample.latency_ms
    assert_says(app, core.advise(sample, core.predict(sample), retired=True))
    assert any("Shown: your upload net.json" in line for line in lines(app.caption))


def test_gzip_and_version_1_are_read_too(open_app, core, samples):
    data = b"[" + as_version_1(samples[VGG].profile.operations) + b"]"
    app = upload(open_app(anchor="g3s.xlarge", retired="True"), ("old.json.gz", gzip.compress(data)))
    assert app.session_state["latency"] is None
    type_in(app, "profiled_batch", 16)
    profile, anchor = read_profile(data), app.selectbox(key="anchor").value
    expected = core.predict(profile, anchor).latencies_ms
    shown = column(everything(app), "Step")
    assert shown == {name: format_ms(expected[name]) for name in shown}
    assert {"g3s.xlarge", "g4dn.xlarge", "verda/1V100.6V"} & set(expected) <= set(shown) and len(shown) > 40


def test_pasted_text_is_answered_for(open_app, core, samples):
    sample = samples["lenet5-32px-b16-g3s"]
    app = open_app(retired="True")
    app.segmented_control(key="source").set_value("paste").run()
    app.text_area(key="pasted").set_value(sample.data.decode()).run()
    assert_says(app, core.advise(sample, core.predict(sample), retired=True))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b'{"Device_Conv2D": NaN}',
        b'{"Device_Conv2D": -1}',
        b'{"Device_Conv2D": true}',
        b'{"Device_Conv2D": "12"}',
        b'{"Device_Conv2D": 1e999}',
        b'[{"Device_Conv2D": 1}, {"Device_Conv2D": 2}]',
        b"[" * 200_000,
        b'{"Device_Conv2D": ' + b"9" * 10_000 + b"}",
        '{"Device_Conv2D": 1}'.encode("utf-16"),
        gzip.compress(b'{"Device_Conv2D": 1}', mtime=0)[:-6],
        gzip.compress(gzip.compress(b'{"Device_Conv2D": 1}', mtime=0), mtime=0),
        b"PK\x03\x04 not a profile",
        b'{"<script>alert(1)</script>": 1, "**bold**": 2}',
    ],
    ids=lambda data: repr(data[:18]),
)
def test_a_bad_file_gets_one_line_and_changes_nothing(open_app, samples, data):
    good = samples[VGG]
    app = upload(open_app(), ("net.json", good.data))
    before = answer(app)
    give(app, ("bad_*name*.json", data))
    (line,) = lines(app.error)
    assert line.startswith("bad_*name*.json: ") and "\n" not in line
    assert answer(app) == before
    assert app.session_state["latency"] == good.latency_ms
    assert any("your upload net.json" in line for line in lines(app.caption))


def test_a_stranger_s_names_stay_text(open_app):
    hostile = {"Device_Conv2D": 50_000.0, "<img src=x onerror=alert(1)>": 1.0, "Device_" + "X" * 40: 9_000.0}
    app = upload(open_app(), ("[click](javascript:alert(1)).json", json.dumps(hostile).encode()))
    type_in(app, "profiled_batch", 16)
    assert not app.error and answer(app)
    for element in (*app.caption, *app.warning, *app.markdown, *app.header, *app.subheader):
        assert "<img" not in element.value.replace("\\<img", "")
        assert "[click]" not in element.value


def test_a_latency_in_the_wrong_unit_is_questioned_and_the_suggestion_used(open_app, core, samples):
    sample = samples[VGG]
    app = open_app(sample=VGG, retired="True")
    type_in(app, "latency", sample.latency_ms * 1000)
    assert "did you mean" in notices(app)[0]
    assert_says(app, core.advise(sample, core.predict(sample, latency_ms=None), retired=True))
    app.button(key=":use-suggested").click().run()
    assert not app.warning
    assert_says(app, core.advise(sample, core.predict(sample), retired=True))


def test_a_doubted_latency_is_used_if_the_visitor_insists(open_app, core, samples):
    sample = samples[VGG]
    app = open_app(sample=VGG, retired="True")
    type_in(app, "latency", 122_400.0)
    app.button(key=":use-typed").click().run()
    trusted = core.predict(sample, latency_ms=122_400.0, trust_latency=True)
    assert_says(app, core.advise(sample, trusted, retired=True))
    # Trust is in that number beside that profile only.
    type_in(app, "latency", 123_456.0)
    assert "did you mean" in notices(app)[0]


def test_a_latency_of_zero_gets_one_line_and_the_last_good_one_stays(open_app, samples):
    app = open_app()
    before = answer(app)
    type_in(app, "latency", 0.0)
    assert lines(app.error) == [f"Give a number above 0. Until then: {as_understood(samples[FIRST].latency_ms)} ms."]
    assert answer(app) == before


def test_a_wrong_anchor_is_noticed(open_app):
    app = open_app()
    app.selectbox(key="anchor").set_value("p2.xlarge").run()
    assert any("is the anchor right?" in line for line in notices(app))


def test_what_a_file_held_beside_operations_is_said(open_app, samples):
    operations = dict(samples[VGG].profile.operations)
    app = upload(open_app(), ("net.json", json.dumps({**operations, "loss_value": 1}).encode()))
    type_in(app, "profiled_batch", 16)
    (said,) = [line for line in lines(app.caption) if line.startswith("Left out of the file: ")]
    assert said == "Left out of the file: 1 entries that are no operations: 'loss_value'."
    assert not any("Left out" in line for line in notices(app))


def test_meta_names_the_gpu_so_nothing_is_typed_twice(open_app, samples):
    profile = samples[FIRST].profile
    data = as_version_2(dict(profile.operations), gpu="Tesla V100-SXM2-16GB", batch_size=64)
    app = upload(open_app(anchor="p2.xlarge"), ("net.json", data))
    assert app.selectbox(key="anchor").value == "p3.2xlarge"
    assert read_profile(data).operations == profile.operations


def test_a_network_unlike_the_data_is_said_to_be(open_app, core):
    operations = {"Device_DepthwiseConv2dNative": 90_000.0, "Device_Softmax": 90_000.0, "Host_IDLE": 9e5}
    app = upload(open_app(anchor="g4dn.xlarge"), ("net.json", as_version_2(operations, batch_size=16)))
    profile = Profile(operations)
    found = core.predict(profile, app.selectbox(key="anchor").value)
    assert "unlike" in found.likeness.words
    assert any(f"This network is {found.likeness.words} those of the training data" in line for line in found.warnings)
    # How many steps it was read as stands beside the choice.
    expected = [line for line in found.warnings if line != steps_note(profile)]
    assert notices(app)[: len(expected)] == expected


def test_switching_pages_loses_nothing(open_app, samples):
    app = upload(open_app(retired="True"), ("net.json", samples[VGG].data))
    type_in(app, "latency", 330.0)
    before = answer(app)
    for page in ("sizes", "profiles", "about", "answer"):
        go(app, page)
        # Without its reports About says so; tests/pages/test_about_accuracy.py has that.
        assert not app.exception and (page == "about" or not app.error)
    assert answer(app) == before
    assert app.session_state["latency"] == 330.0


def test_an_upload_comes_back_after_looking_at_a_sample(open_app, samples):
    app = upload(open_app(), ("net.json", samples[VGG].data))
    type_in(app, "latency", 330.0)
    before = answer(app)
    app.segmented_control(key="source").set_value("sample").run()
    assert answer(app) != before
    app.segmented_control(key="source").set_value("upload").run()
    assert app.session_state["latency"] == 330.0
    assert answer(app) == before


def test_the_same_upload_gives_the_same_state_whatever_was_done_before(open_app, samples):
    data = samples["mobilenetv2-224px-b32-p2"].data
    fresh = upload(open_app(), ("net.json", data))
    used = upload(open_app(), ("net.json", samples[VGG].data))
    type_in(used, "latency", 5.0)
    give(used, ("bad.json", b"{"))
    used = upload(used, ("net.json", data))
    assert not used.error and lines(used.warning) == lines(fresh.warning)
    assert answer(used) == answer(fresh)
