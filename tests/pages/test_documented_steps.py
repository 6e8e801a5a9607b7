"""Anchor, upload and latency in any order: what was given is kept, what is missing is asked once."""

from __future__ import annotations

import json

import pytest

from profet_core import read_profile
from profet_core.units import format_ms
from profet_recorder.profiles.record import FORWARD_ONLY, STAND_IN
from tests.pages.conftest import (
    answer,
    as_version_1,
    as_version_2,
    column,
    custom,
    everything,
    give,
    go,
    has_results,
    lines,
    missing,
    say_missing,
    type_in,
    upload,
)

TEST_A, TEST_B = "vgg16-128px-b16-g3s", "vgg16-128px-b256-g3s"
SIZES = {"profiled_batch": 16, "profiled_pixels": 128}
T4 = "resnet50-224px-b64-g4dn"


@pytest.fixture
def flat(samples) -> bytes:
    """PROFET's test data A as its recorder writes it: a list of one object of totals over two steps."""
    return b"[" + as_version_1(dict(samples[TEST_A].profile.operations)) + b"]"


@pytest.fixture
def steps_of(core, samples, flat):
    """Instance -> step, as the table has it, of test data A on the M60."""

    def found(latency_ms: float | None, **sizes: int) -> dict[str, str]:
        asked = core.predict(
            read_profile(flat),
            anchor="g3s.xlarge",
            latency_ms=latency_ms,
            without_latency=latency_ms is None,
            **sizes,
        )
        return {name: format_ms(ms) for name, ms in asked.latencies_ms.items()}

    return found


def choose_anchor(app, name: str):
    return app.selectbox(key="anchor").set_value(name).run()


def assert_steps(app, expected: dict[str, str]) -> None:
    assert not app.error and not app.exception
    shown = column(everything(app), "Step")
    assert len(shown) > 40 and shown == {name: expected[name] for name in shown}


@pytest.mark.parametrize("order", ["anchor upload latency", "latency anchor upload", "anchor latency upload"])
def test_what_is_given_before_an_upload_is_kept(open_app, samples, flat, steps_of, order):
    app = open_app()
    before = answer(app)
    for step in order.split():
        if step == "anchor":
            choose_anchor(app, "g3s.xlarge")
        elif step == "latency":
            type_in(app, "latency", "122406 us")
        else:
            upload(app, ("test.json", flat), recorded_on=None)
        assert not app.error and not app.exception
        if step == "anchor" and "upload" not in order.split(step)[0]:
            assert answer(app) == before, "the sample is of its own GPU, and shown until there is another profile"
    assert list(missing(app)) == ["batch_size", "pixels"] and app.selectbox(key="anchor").value == "g3s.xlarge"
    assert_steps(app, steps_of(122.406))
    assert app.query_params["anchor"] == "g3s.xlarge" and app.query_params["latency"] in ("122406 us", "122.406 ms")
    for page in ("sizes", "predict"):
        go(app, page)
    say_missing(app, batch_size=16, pixels=128)
    assert not missing(app) and app.select_slider(key="slider:batch").value == 16
    assert_steps(app, steps_of(122.406, **SIZES))


def test_upload_first_then_the_form_asks_for_the_anchor(open_app, flat, steps_of):
    app = upload(open_app(), ("vgg16_128ds_16bs.json", flat), recorded_on=None)
    assert list(missing(app)) == ["anchor", "batch_size", "pixels"]
    assert not has_results(app) and not app.error and not app.warning
    sizes = [app.number_input(key=missing(app)[name]).value for name in ("batch_size", "pixels")]
    assert sizes == [16, 128], "by the file's name"
    say_missing(app, anchor="g3s.xlarge")
    assert not missing(app)
    assert_steps(app, steps_of(None, **SIZES))
    type_in(app, "latency", "122.406")
    assert_steps(app, steps_of(122.406, **SIZES))


def test_another_upload_is_asked_for_its_own_sizes_and_keeps_the_chosen_anchor(open_app, samples, flat):
    app = upload(choose_anchor(open_app(), "g3s.xlarge"), ("a.json", flat), recorded_on=None)
    say_missing(type_in(app, "latency", "122.4"), batch_size=16, pixels=128)
    give(app, ("b.json", as_version_1(dict(samples[TEST_B].profile.operations))))
    assert app.selectbox(key="anchor").value == "g3s.xlarge" and not app.text_input(key="latency").value
    assert list(missing(app)) == ["batch_size", "pixels"]
    app.selectbox(key="chosen").set_value(custom(app)["a.json"]).run()
    assert not missing(app) and app.text_input(key="latency").value == "122.4 ms"


def test_a_file_that_names_another_gpu_wins_over_the_chosen_one_with_one_note(open_app, samples):
    app = choose_anchor(open_app(), "g3s.xlarge")
    upload(app, ("mine.json", samples[T4].data), recorded_on=None)
    assert app.selectbox(key="anchor").value == "g4dn.xlarge" and not missing(app) and not app.error
    (note,) = lines(app.info)
    assert note.startswith("mine.json was recorded on Tesla T4") and "M60" in note


@pytest.mark.parametrize(
    ("name", "anchor"),
    [("my_g3s_trace.json", "g3s.xlarge"), ("ResNet50-V100 b64.json", "p3.2xlarge"), ("resnet50_a100.json", None)],
)
def test_a_gpu_in_the_name_is_filled_in(open_app, flat, name, anchor):
    app = upload(open_app(), (name, flat), recorded_on=None)
    assert app.selectbox(key=missing(app)["anchor"]).value == anchor


@pytest.mark.parametrize("chosen", [None, "g3s.xlarge"])
def test_a_file_that_can_never_be_used_is_refused_before_anything_is_asked(open_app, chosen):
    inference = json.dumps({"Device_Conv2D": 9e4, "Device_Relu": 1e3, "Host_IDLE": 9e5}).encode()
    on_cpu = as_version_2({"Device_Conv2D": 9e4, "Device_ReluGrad": 1e3}, gpu="Intel Xeon Platinum 8259CL")
    stand_in = json.dumps(
        {"operations": {"Device_Conv2D": 9e4, "Device_ReluGrad": 1e3}, "warnings": [STAND_IN]}
    ).encode()
    for data, says in (
        (inference, FORWARD_ONLY),
        (on_cpu, "This profile was recorded on a CPU"),
        (stand_in, "This profile was recorded with --device cpu"),
    ):
        app = open_app() if chosen is None else choose_anchor(open_app(), chosen)
        upload(app, ("net.json", data), recorded_on=None)
        (line,) = lines(app.error)
        assert line.startswith(says) and not missing(app) and not has_results(app) and not app.exception


def test_a_failed_upload_says_what_is_still_shown(open_app, first_view):
    app = give(open_app(source="upload", sample=T4), ("notes.txt", b"to do: train"))
    (line,) = lines(app.error)
    assert line.startswith("notes.txt can't be used: ") and line.endswith("The sample is still shown.")
    assert answer(app) == first_view()


def test_until_the_batch_size_is_known_step_is_chosen(open_app, flat):
    app = upload(choose_anchor(open_app(), "g3s.xlarge"), ("a.json", flat), recorded_on=None)
    shown = app.segmented_control(key="per:step")
    assert shown.value == "step" and shown.disabled
    say_missing(app, batch_size=16)
    assert app.segmented_control(key="per").value == "training" and list(missing(app)) == ["pixels"]
