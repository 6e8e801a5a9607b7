"""How many steps a file covers: asked beside the profile, inferred from the latency, kept by each, on every page."""

from __future__ import annotations

import pytest

from profet_core import Profile, read_profile
from profet_core.prediction.checks import read_as, steps_note
from profet_core.units import format_ms
from tests.pages.conftest import (
    answer,
    as_version_1,
    as_version_2,
    column,
    compared,
    custom,
    everything,
    go,
    inside,
    lines,
    look_at,
    notices,
    rows,
    say_missing,
    type_in,
    upload,
)

FIRST, VGG, LENET = "resnet50-128px-b64-g4dn", "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s"


def upload_from_m60(app, *files: tuple[str, bytes]):
    """Give files on Answer, recorded on the Tesla M60; returns the key of the last one."""
    say_missing(upload(everything(app), *files, recorded_on="g3s.xlarge"), batch_size=16)
    return list(custom(app).values())[-1]


def number(app, key: str, prefix: str = ""):
    return app.number_input(key=f"{prefix}:steps:{key}")


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
    found = core.predict(
        profile,
        anchor="g3s.xlarge",
        profiled_batch=16,
        latency_ms=latency_ms,
        without_latency=latency_ms is None,
    ).latencies_ms
    shown = latencies(app)
    assert shown == {name: format_ms(found[name]) for name in shown} and len(shown) > 40


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
    assert not [one for one in app.number_input if ":steps:" in str(one.key)], "a sample has none"
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
    totals = {name: us * 6 for name, us in one_step(samples, second).items()}
    upload(app, ("six.json", as_version_2(totals, **meta)), slot="second")
    (key,) = custom(app).values()
    assert number(app, key, "second").value == 6
    assert answer(app) == answer(open_app(**view, second_sample=second))
    number(app, key, "second").set_value(60).run()
    assert app.query_params["second_steps"] == "60" and "steps" not in app.query_params
    (line,) = lines(app.error)
    assert "cover 6 steps" in line and line.endswith("It is not used.")
