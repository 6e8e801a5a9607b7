"""How many steps a file covers: asked beside the profile, inferred from the latency, kept by each, on every page."""

from __future__ import annotations

import pytest

from profet_core import Profile, predict, read_profile
from profet_core.catalog.nodes import without_larger_nodes
from profet_core.prediction.steps import read_as, steps_note
from profet_core.profiles.limits import MAX_STEPS
from profet_core.units import format_ms
from tests.pages.conftest import (
    answer,
    as_version_1,
    as_version_2,
    column,
    compared,
    everything,
    go,
    inside,
    lines,
    look_at,
    notices,
    own,
    rows,
    type_in,
    upload,
)
from tests.pages.expected import FIRST
from ui.inputs.number_field import text_key

VGG, LENET = "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s"


def upload_from_m60(app, *files: tuple[str, bytes]):
    """Give files on Answer, recorded on the Tesla M60; returns the key of the last one."""
    type_in(upload(everything(app), *files), "profiled_batch", 16)
    app.selectbox(key="anchor").set_value("g3s.xlarge").run()
    return list(own(app).values())[-1]


def choice(app, key: str, prefix: str = ""):
    return next((one for one in app.segmented_control if one.key == f"{prefix}:steps:{key}"), None)


def number(app, key: str, prefix: str = ""):
    return next((one for one in app.text_input if one.key == text_key(f"{prefix}:steps-number:{key}")), None)


def covering(samples, steps: int, name: str = VGG) -> bytes:
    """A file with the totals of so many steps of a sample on the Tesla M60, which doesn't say how many."""
    return as_version_2({key: us * steps for key, us in one_step(samples, name).items()}, gpu="Tesla M60")


def one_step(samples, name: str = VGG) -> dict[str, float]:
    return dict(read_as(samples[name].profile, samples[name].profile.steps).operations)


def latencies(app) -> dict[str, str]:
    """The answer's steps."""
    return column(app, "Step")


def shown(models, catalog, profile: Profile, latency_ms: float | None = None) -> dict[str, str]:
    """The steps that a profile of the Tesla M60 must have, where any is known."""
    found = predict(models, catalog, profile, "g3s.xlarge", latency_ms=latency_ms).latencies_ms
    offers = without_larger_nodes(catalog.values())
    return {offer.name: format_ms(found[offer.name]) for offer in offers if offer.name in found}


@pytest.mark.parametrize(("version", "preset", "why"), [(1, 2, "PROFET's recorder profiles two"), (2, 1, "one step")])
def test_it_is_preset_and_one_line_says_why(open_app, samples, version, preset, why):
    operations = one_step(samples)
    data = as_version_1(operations) if version == 1 else as_version_2(operations)
    app = open_app()
    key = upload_from_m60(app, ("net.json", data))
    assert choice(app, key).value == preset and number(app, key) is None
    (line,) = [line for line in lines(app.caption) if "how many steps" in line]
    assert line == steps_note(read_profile(data)) and why in line
    assert not [line for line in notices(app) if "how many steps" in line]


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_what_is_chosen_is_predicted_from(open_app, models, catalog, samples, steps):
    app = open_app()
    data = covering(samples, 7)
    key = upload_from_m60(app, ("net.json", data))
    if steps == 7:
        choice(app, key).set_value("n").run()
        assert number(app, key).value == "1"
        number(app, key).set_value(str(steps)).run()
        assert choice(app, key).value == "n"
    else:
        choice(app, key).set_value(2).run()
        choice(app, key).set_value(steps).run()
    expected = read_as(read_profile(data), steps)
    assert latencies(app) == shown(models, catalog, expected)
    assert app.query_params["steps"] == str(steps)
    words = "One step" if steps == 1 else f"{steps} steps"
    assert f"{words}, as you say." in lines(app.caption)


def test_one_step_recorded_as_one_two_and_five_is_the_same(open_app, samples):
    tables = []
    for steps in (1, 2, 5):
        app = open_app()
        key = upload_from_m60(app, ("net.json", covering(samples, steps)))
        choice(app, key).set_value("n").run()
        number(app, key).set_value(str(steps)).run()
        tables.append(latencies(app))
    assert tables[0] == tables[1] == tables[2]


def test_a_known_latency_tells_the_number(open_app, models, catalog, samples):
    app = open_app()
    data = covering(samples, 5)
    key = upload_from_m60(app, ("net.json", data))
    latency_ms = samples[VGG].latency_ms
    type_in(app, "latency", latency_ms)
    assert (choice(app, key).value, number(app, key).value) == ("n", "5")
    assert any("the latency fit 5 steps" in line for line in lines(app.caption))
    assert not any("makes no sense" in line for line in notices(app))
    assert latencies(app) == shown(models, catalog, read_profile(data), latency_ms)
    inside(go(app, "profiles"))
    assert rows(app, 0)[1]["In this profile"] == "5 steps, by its latency; times are of one"
    assert number(app, key, "profiles").value == "5"


def test_a_latency_in_another_unit_is_no_number_of_steps(open_app, samples):
    app = open_app()
    key = upload_from_m60(app, ("net.json", covering(samples, 1)))
    type_in(app, "latency", samples[VGG].latency_ms / 1000)
    assert "did you mean" in notices(app)[0] and " s (" in notices(app)[0]
    assert choice(app, key).value == 1


def test_a_wrong_number_is_questioned_with_a_button_that_puts_it_right(open_app, models, catalog, samples):
    app = open_app()
    data = covering(samples, 3)
    key = upload_from_m60(app, ("net.json", data))
    choice(app, key).set_value(1).run()
    choice(app, key).set_value("n").run()
    number(app, key).set_value("12").run()
    latency_ms = samples[VGG].latency_ms
    type_in(app, "latency", latency_ms)
    assert "does the file cover 3 steps?" in notices(app)[0]
    assert latencies(app) == shown(models, catalog, read_as(read_profile(data), 12))
    button = app.button(key=":use-steps")
    assert button.label == "Read it as 3 steps" and app.button(key=":use-typed")
    button.click().run()
    assert not any("makes no sense" in line for line in notices(app))
    assert number(app, key).value == "3"
    assert latencies(app) == shown(models, catalog, read_as(read_profile(data), 3), latency_ms)


def test_a_doubted_number_stays_if_the_visitor_insists_and_is_asked_anew_if_it_changes(open_app, samples):
    app = open_app()
    key = upload_from_m60(app, ("net.json", covering(samples, 3)))
    choice(app, key).set_value("n").run()
    number(app, key).set_value("12").run()
    type_in(app, "latency", samples[VGG].latency_ms)
    app.button(key=":use-typed").click().run()
    assert not any("makes no sense" in line for line in notices(app))
    number(app, key).set_value("13").run()
    assert any("makes no sense" in line for line in notices(app))


@pytest.mark.parametrize("steps", [1, 4])
def test_what_the_file_states_is_a_fact_that_can_be_corrected(open_app, samples, steps):
    app = open_app()
    data = as_version_2({name: us * steps for name, us in one_step(samples).items()}, steps=steps)
    key = upload_from_m60(app, ("net.json", data))
    assert choice(app, key) is None
    fact = "one step, as the file says" if steps == 1 else f"{steps} steps, as the file says"
    assert any(fact in line for line in lines(app.caption))
    before = latencies(app)
    number(app, key).set_value("3").run()
    assert latencies(app) != before and app.query_params["steps"] == "3"
    number(app, key).set_value(str(steps)).run()
    assert latencies(app) == before and "steps" not in app.query_params
    assert choice(app, key) is None and any(fact in line for line in lines(app.caption))


def test_each_keeps_its_own_number_on_every_page(open_app, samples):
    app = open_app()
    files = [("one.json", covering(samples, 5)), ("two.json", covering(samples, 5, LENET))]
    upload_from_m60(app, *files)
    first, second = own(app)["one.json"], own(app)["two.json"]
    choice(app, second).set_value(2).run()
    app.selectbox(key="chosen").set_value(first).run()
    choice(app, first).set_value("n").run()
    number(app, first).set_value("5").run()
    right = latencies(app)
    go(app, "profiles")
    assert number(look_at(app, "one.json"), first, "profiles").value == "5"
    assert choice(look_at(app, "two.json"), second, "profiles").value == 2
    assert float(right["p2.xlarge"].split()[0].replace(",", "")) == compared(app)["one.json"]["p2.xlarge"]
    choice(look_at(app, "one.json"), first, "profiles").set_value(1).run()
    go(app, "answer")
    assert choice(app, first).value == 1 and latencies(app) != right
    app.selectbox(key="chosen").set_value(second).run()
    assert choice(app, second).value == 2


@pytest.mark.parametrize("page", ["answer", "sizes"])
def test_every_page_follows_it(open_app, samples, page):
    def told(steps: int):
        app = open_app()
        key = upload_from_m60(app, ("net.json", covering(samples, steps)))
        choice(app, key).set_value("n").run()
        number(app, key).set_value(str(steps)).run()
        go(app, page)
        assert not app.error
        return answer(app)

    assert told(1) == told(3)


def test_a_second_profile_asks_too(open_app, samples):
    first, second = FIRST, "resnet50-128px-b256-g4dn"
    app = open_app("sizes", second="True", batch="128")
    meta = {"gpu": "Tesla T4", "pixels": 128, "batch_size": 256, "step_latency_ms": samples[second].latency_ms}
    totals = {name: us * 6 for name, us in one_step(samples, second).items()}
    upload(app, ("six.json", as_version_2(totals, **meta)), slot="second")
    (key,) = own(app).values()
    assert number(app, key, "second").value == "6"
    assert answer(app) == answer(open_app("sizes", second="True", batch="128", sample=first, second_sample=second))
    number(app, key, "second").set_value("60").run()
    assert app.query_params["second_steps"] == "60" and "steps" not in app.query_params
    app.button(key="second:use-steps").click().run()
    assert number(app, key, "second").value == "6"


def test_the_link_keeps_the_number_and_a_sample_has_none(open_app, samples):
    app = open_app()
    key = upload_from_m60(app, ("net.json", covering(samples, 2)))
    choice(app, key).set_value(2).run()
    assert app.query_params["steps"] == "2"
    app.segmented_control(key="source").set_value("sample").run()
    assert "steps" not in app.query_params
    assert not [one for one in app.segmented_control if ":steps:" in str(one.key)]
    app.segmented_control(key="source").set_value("upload").run()
    assert choice(app, key).value == 2 and app.query_params["steps"] == "2"


@pytest.mark.parametrize("text", ["0", "-1", "2.5", "many", str(MAX_STEPS + 1), "5"])
def test_a_number_in_a_link_without_its_file_changes_nothing(open_app, text):
    app = open_app(steps=text)
    assert answer(app) == answer(open_app())
    assert "steps" not in app.query_params and not app.exception


def test_going_back_takes_the_number_from_the_link(open_app, samples, monkeypatch):
    app = open_app()
    key = upload_from_m60(app, ("net.json", covering(samples, 2)))
    choice(app, key).set_value(2).run()
    link, right = dict(app.query_params), latencies(app)
    choice(app, key).set_value(1).run()
    assert latencies(app) != right
    monkeypatch.setattr("ui.state.link._went_back_or_forward", lambda: True)
    app.query_params.update(link)
    app.run()
    assert choice(app, key).value == 2 and latencies(app) == right
