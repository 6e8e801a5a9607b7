"""Anchor, upload, latency and number of steps in any order: what was given is kept, what is missing is asked once."""

from __future__ import annotations

import json

import pytest

from profet_core import Profile, read_profile
from profet_core.prediction.checks import read_as, steps_note
from profet_profiles.record import FORWARD_ONLY, STAND_IN
from profet_profiles.units import format_ms
from tests.pages.conftest import (
    answer,
    answer_field,
    as_version_1,
    as_version_2,
    column,
    compared,
    custom,
    everything,
    give,
    go,
    has_results,
    inside,
    lines,
    look_at,
    missing,
    notices,
    rows,
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

    def sections(latency_ms: float | None, file_name: str = "", **sizes: int) -> dict[str, str]:
        asked = core.predict(
            read_profile(flat, file_name),
            anchor="g3s.xlarge",
            latency_ms=latency_ms,
            without_latency=latency_ms is None,
            **sizes,
        )
        return {name: format_ms(ms) for name, ms in asked.latencies_ms.items()}

    return sections


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
    file_name = "vgg16_128ds_16bs.json"
    app = upload(open_app(), (file_name, flat), recorded_on=None)
    assert list(missing(app)) == ["anchor", "batch_size", "pixels"]
    assert not has_results(app) and not app.error and not app.warning
    sizes = [app.number_input(key=missing(app)[name]).value for name in ("batch_size", "pixels")]
    assert sizes == [16, 128], "by the file's name"
    say_missing(app, anchor="g3s.xlarge")
    assert not missing(app)
    assert_steps(app, steps_of(None, file_name, **SIZES))
    type_in(app, "latency", "122.406")
    assert_steps(app, steps_of(122.406, file_name, **SIZES))


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
    assert line.startswith("notes.txt can't be used. ") and line.endswith("The sample is still shown.")
    assert answer(app) == first_view()


def test_until_the_batch_size_is_known_step_is_chosen(open_app, flat):
    app = upload(choose_anchor(open_app(), "g3s.xlarge"), ("a.json", flat), recorded_on=None)
    shown = app.segmented_control(key="per:step")
    assert shown.value == "step" and shown.disabled
    say_missing(app, batch_size=16)
    assert app.segmented_control(key="per").value == "training" and list(missing(app)) == ["pixels"]


FIRST, VGG, LENET = "resnet50-128px-b64-g4dn", "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s"


def upload_from_m60(app, *files: tuple[str, bytes]):
    """Give files on Answer, recorded on the Tesla M60; returns the key of the last one."""
    say_missing(upload(everything(app), *files, recorded_on="g3s.xlarge"), batch_size=16)
    return list(custom(app).values())[-1]


def number(app, key: str, prefix: str = ""):
    return answer_field(app.number_input, f"{prefix}:steps:{key}")


def covering(samples, steps: int, name: str = VGG) -> bytes:
    """A file with the totals of so many steps of a sample on the Tesla M60, which doesn't say how many."""
    return as_version_2({key: us * steps for key, us in one_step(samples, name).items()}, gpu="Tesla M60")


def one_step(samples, name: str = VGG) -> dict[str, float]:
    return dict(read_as(samples[name].profile, samples[name].profile.steps).operations)


def latencies(app) -> dict[str, str]:
    """The answer's steps."""
    return column(app, "Step")


def assert_read_as(app, core, profile: Profile, latency_ms: float | None = None) -> None:
    """The answer is that of a profile of the Tesla M60."""
    latencies_ms = core.predict(
        profile, anchor="g3s.xlarge", profiled_batch=16, latency_ms=latency_ms, without_latency=latency_ms is None
    ).latencies_ms
    shown = latencies(app)
    assert shown == {name: format_ms(latencies_ms[name]) for name in shown} and len(shown) > 40


@pytest.mark.parametrize(("version", "preset"), [(1, 2), (2, 1)])
def test_it_is_preset_and_what_is_chosen_is_predicted_from(open_app, core, samples, version, preset):
    operations = one_step(samples)
    data = as_version_1(operations) if version == 1 else covering(samples, 7)
    app = open_app()
    key = upload_from_m60(app, ("net.json", data))
    assert number(app, key).value == preset
    assert steps_note(read_profile(data))[0] in lines(app.caption), "and one line says why"
    for steps in (7, 1):
        number(app, key).set_value(steps).run()
        assert app.query_params["steps"] == str(steps)
        assert_read_as(app, core, read_as(read_profile(data), steps))
    app.segmented_control(key="source").set_value("sample").run()
    assert "steps" not in app.query_params
    assert not [field for field in app.number_input if ":steps:" in str(field.key)], "a sample has none"
    app.segmented_control(key="source").set_value("upload").run()
    assert app.query_params["steps"] == "1"


def test_a_known_latency_tells_the_number(open_app, core, samples):
    app = open_app()
    data = covering(samples, 5)
    key = upload_from_m60(app, ("net.json", data))
    latency_ms = samples[VGG].latency_ms
    type_in(app, "latency", latency_ms)
    assert number(app, key).value == 5
    assert any("the latency fit 5 steps" in line for line in lines(app.caption))
    assert not any("doesn't fit this profile" in line for line in notices(app))
    assert_read_as(app, core, read_profile(data), latency_ms)
    inside(go(app, "compare"))
    assert rows(app, 0)[1]["Value"] == "5 steps, by its latency; times are of one"
    assert number(app, key, "compare").value == 5


def test_a_wrong_number_is_questioned_with_a_button_that_puts_it_right(open_app, core, samples):
    app = open_app()
    data = covering(samples, 3)
    key = upload_from_m60(app, ("net.json", data))
    number(app, key).set_value(12).run()
    latency_ms = samples[VGG].latency_ms
    type_in(app, "latency", latency_ms)
    assert "does the file cover 3 steps?" in notices(app)[0]
    assert_read_as(app, core, read_as(read_profile(data), 12))
    app.button(key=":use-typed").click().run()
    assert not any("doesn't fit this profile" in line for line in notices(app)), "the visitor insists"
    number(app, key).set_value(13).run()
    assert any("doesn't fit this profile" in line for line in notices(app)), "of another number it is asked anew"
    app.button(key=":use-steps").click().run()
    assert not any("doesn't fit this profile" in line for line in notices(app))
    assert number(app, key).value == 3
    assert_read_as(app, core, read_as(read_profile(data), 3), latency_ms)


def test_each_keeps_its_own_number_on_every_page(open_app, samples):
    app = open_app()
    files = [("one.json", covering(samples, 5)), ("two.json", covering(samples, 5, LENET))]
    upload_from_m60(app, *files)
    first, second = custom(app)["one.json"], custom(app)["two.json"]
    number(app, second).set_value(2).run()
    app.selectbox(key="chosen").set_value(first).run()
    number(app, first).set_value(5).run()
    right = latencies(app)
    go(app, "compare")
    assert number(look_at(app, "one.json"), first, "compare").value == 5
    assert number(look_at(app, "two.json"), second, "compare").value == 2
    assert right["p2.xlarge"] == compared(app)["one.json"]["p2.xlarge"]
    number(look_at(app, "one.json"), first, "compare").set_value(1).run()
    go(app, "predict")
    assert number(app, first).value == 1 and latencies(app) != right
    app.selectbox(key="chosen").set_value(second).run()
    assert number(app, second).value == 2


def test_a_second_profile_asks_too(open_app, samples):
    first, second = FIRST, "resnet50-128px-b256-g4dn"
    view = {"sample": first, "second": "True", "batch": "128"}
    app = open_app(**view)
    meta = {"gpu": "Tesla T4", "pixels": 128, "batch_size": 256, "step_latency_ms": samples[second].latency_ms}
    meta |= {"network": samples[second].model}
    totals = {name: us * 6 for name, us in one_step(samples, second).items()}
    upload(app, ("six.json", as_version_2(totals, **meta)), slot="second")
    (key,) = custom(app).values()
    assert number(app, key, "second").value == 6
    assert answer(app) == answer(open_app(**view, second_sample=second))
    number(app, key, "second").set_value(60).run()
    assert app.query_params["second_steps"] == "60" and "steps" not in app.query_params
    (line,) = lines(app.error)
    assert "cover 6 steps" in line and line.endswith("It is not used.")
