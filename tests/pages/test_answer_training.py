"""What is to be trained moves the answer: images, epochs, sizes, limits, loading, and what times and costs are of."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pages.answer.rows import Per
from profet_core import read_profile
from profet_core.advice.certainty import format_certainty
from profet_core.advice.request import Limits
from profet_core.latency import Basis
from profet_core.training.sizes import KnownStep, steps_at
from profet_core.units import format_duration, format_ms, format_usd
from tests.pages.conftest import (
    answer,
    as_version_1,
    as_version_2,
    assert_says,
    clean,
    column,
    everything,
    go,
    has_results,
    lines,
    link,
    sentences,
    type_in,
    upload,
)
from tests.pages.expected import FIRST
from ui.inputs.number_field import text_key

#: A pair of the same network, recorded on the same GPU at two batch sizes; and at two pixel sizes.
BATCHES = ("resnet50-128px-b64-g4dn", "resnet50-128px-b256-g4dn")
PIXELS = ("resnet18-32px-b64-g4dn", "resnet18-256px-b64-g4dn")


def test_images_validation_and_epochs(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app(retired="True")
    type_in(app, "images", 1_281_167)
    type_in(app, "validation_images", 50_000)
    type_in(app, "epochs", 90)
    training = {"images": 1_281_167, "validation_images": 50_000, "epochs": 90}
    assert_says(app, core.advise(sample, core.predict(sample), retired=True, **training))
    assert link(app) == {name: str(count) for name, count in training.items()}


def test_a_small_job_keeps_its_digits(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app(images="64", epochs="1")
    assert_says(app, core.advise(sample, core.predict(sample), images=64, epochs=1))
    assert all(float(text.strip("$")) > 0 for text in column(app, "Cost").values())


def test_loading_data_is_counted_where_it_is_asked_for(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app(retired="True")
    app.toggle(key="loading").set_value(True).run()
    assert_says(app, core.advise(sample, core.predict(sample), retired=True, with_loading=True))
    assert column(app, "Range")["g4dn.xlarge"] == "–", "a measured step has no interval"
    assert link(app) == {"loading": "True"}


def test_retired_gpus_are_shown_on_demand_only(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app()
    gone = {"g3s.xlarge", "p2.xlarge", "p3.2xlarge"}
    assert not gone & set(column(app, "Time"))
    app.toggle(key="retired").set_value(True).run()
    assert_says(app, core.advise(sample, core.predict(sample), retired=True))
    assert gone <= set(column(app, "Time")) and column(app, "GPU")["p2.xlarge"] == "K80, AWS, retired"
    assert app.query_params["retired"] == "True"


@pytest.mark.parametrize(("per", "share"), [("epoch", 1 / 10), ("1000_steps", 1000 / 7820), ("step", 1 / 7820)])
def test_times_and_costs_may_be_of_a_part_of_the_training(open_app, core, samples, per, share):
    sample = samples[FIRST]
    app = open_app(retired="True", rows="all")
    whole = clean(app.header[0].value)
    app.segmented_control(key="per").set_value(per).run()
    plans = core.advise(sample, core.predict(sample), retired=True).plans
    workload = core.advise(sample, core.predict(sample)).request.workload
    assert Per(per).share(workload, plans[0]) == pytest.approx(share)
    words = format_duration if per != "step" else lambda seconds: format_ms(1000 * seconds)
    assert column(app, "Time") == {plan.label: words(plan.total_s * share) for plan in plans}
    assert column(app, "Cost") == {plan.label: format_usd(plan.total_usd * share) for plan in plans}
    assert clean(app.header[0].value) == whole, "the answer is of the training"
    assert link(app) == {"per": per}


# --- sizes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("batch", "pixels"), [(200, None), (None, 200), (32, 224), (256, 32)])
def test_another_size_carries_every_step_there(open_app, core, samples, batch, pixels):
    sample = samples[FIRST]
    app = open_app(retired="True")
    for key, size in (("batch", batch), ("pixels", pixels)):
        if size is not None:
            type_in(app, key, size)
    steps = core.steps_at(sample, batch_size=batch or 64, pixels=pixels or 128)
    at = {"batch_size": batch or 64, "pixels": pixels or 128}
    assert_says(app, core.advise(sample, core.predict(sample), steps=steps, retired=True, **at))
    told = column(everything(app), "Rests on")
    assert told["g4dn.xlarge"] == told["p3.2xlarge"] == Basis.CARRIED.words
    assert told["p5.4xlarge"].startswith("estimated"), "an estimate stays one"
    asked = {"batch": batch, "pixels": pixels}
    assert link(app) == {key: str(size) for key, size in asked.items() if size is not None}


def test_the_profiled_size_is_the_prediction_itself(open_app):
    assert answer(open_app(batch="64", pixels="128")) == answer(open_app())


@pytest.mark.parametrize(("pair", "at"), [(BATCHES, {"batch": 128}), (PIXELS, {"pixels": 128}), (BATCHES, {})])
def test_a_second_profile_makes_the_sizes_between_surer(open_app, core, samples, pair, at):
    first, second = (samples[name] for name in pair)
    app = open_app(
        sample=first.name,
        second="True",
        second_sample=second.name,
        retired="True",
        **{key: str(size) for key, size in at.items()},
    )
    size = {"batch_size": at.get("batch", first.batch_size), "pixels": at.get("pixels", first.pixels)}
    steps = core.steps_at(first, second, **size)
    assert_says(app, core.advise(first, core.predict(first), steps=steps, retired=True, **size))
    alone = core.steps_at(first, **size)
    if at:
        assert [row.latency_ms for row in steps] != [row.latency_ms for row in alone]


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (FIRST, "The second profile is the same as the first: give one of another size."),
        ("vgg16-224px-b16-g3s", "The second profile is from g3s.xlarge, not g4dn.xlarge: it is not used."),
        ("resnet18-32px-b64-g4dn", "The second profile is of ResNet18, not ResNet50: it is not used."),
    ],
)
def test_a_second_profile_that_is_none_of_the_network_is_one_line_and_not_used(open_app, second, says):
    app = open_app(second="True", second_sample=second, batch="100")
    (line,) = lines(app.error)
    assert line.startswith(says)
    assert answer(app) == answer(open_app(batch="100"))


def test_a_second_profile_may_be_one_s_own(open_app, core, samples):
    first, second = (samples[name] for name in BATCHES)
    app = open_app(second="True", batch="128", retired="True")
    upload(app, ("larger.json", second.data), slot="second")
    assert app.selectbox(key="anchor").value == "g4dn.xlarge" and app.selectbox(key="sample").value == first.name
    steps = core.steps_at(first, second, batch_size=128, pixels=128)
    assert_says(app, core.advise(first, core.predict(first), steps=steps, batch_size=128, pixels=128, retired=True))


# --- a profile that doesn't tell its size ---------------------------------------------------------------------------


def test_a_profile_that_doesn_t_say_its_pixel_size_is_asked_for_it_where_it_counts(open_app, core, samples):
    data = as_version_2(dict(samples[FIRST].profile.operations), gpu="Tesla T4", batch_size=64, steps=1)
    app = upload(open_app(retired="True"), ("net.json", data))
    assert not app.error and text_key("profiled_pixels") not in {field.key for field in app.text_input}
    type_in(app, "pixels", 224)
    assert lines(app.error) == ["Say at which pixel size the profile was recorded."]
    type_in(app, "profiled_pixels", 128)
    assert not app.error
    profile = read_profile(data)
    sized = replace(profile, meta=replace(profile.meta, pixels=128))
    found = steps_at(core.models, [KnownStep(sized, core.predict(profile), 64, 128)], batch_size=64, pixels=224)
    assert column(everything(app), "Step") == {
        row.instance: format_ms(row.latency_ms) for row in found.step_times if row.instance in column(app, "Step")
    }
    assert len(column(app, "Step")) > 40


def test_a_profile_that_doesn_t_say_its_batch_size_is_asked_for_it(open_app, core, samples):
    data = as_version_1(samples[FIRST].profile.operations)
    app = upload(open_app(retired="True"), ("old.json", data))
    assert lines(app.error) == ["The profile doesn't say its batch size: give the batch size it was recorded at."]
    assert not has_results(app) and not app.header
    type_in(app, "profiled_batch", 64)
    profile = read_profile(data)
    found = core.predict(profile)
    shown = column(everything(app), "Step")
    assert shown == {name: format_ms(found.latencies_ms[name]) for name in shown}
    times = {plan.label: format_duration(plan.total_s) for plan in core.advise(profile, found, batch_size=64).plans}
    assert times.items() <= column(app, "Time").items()
    assert link(app) == {"source": "upload", "anchor": "g4dn.xlarge", "profiled_batch": "64"}


def test_a_profile_without_a_batch_size_still_explains_itself(open_app, samples):
    operations = {**samples[FIRST].profile.operations, "loss_value": 1}
    app = upload(open_app(), ("old.json", json.dumps(operations).encode()))
    assert any("loss_value" in line for line in lines(app.caption)), "what was left out of it"
    type_in(app, "profiled_batch", 64)
    assert not app.error and any("loss_value" in line for line in lines(app.caption))


def test_what_fits_is_known_of_a_batch_size_that_was_typed(open_app, samples):
    sample = samples["vgg16-224px-b16-g3s"]
    meta = {"gpu": "Tesla M60", "pixels": 224, "parameters": 138_357_544}
    told = {}
    for batch in ({"batch_size": 16}, {}):
        data = json.dumps({"operations": dict(sample.profile.operations), "meta": {**meta, **batch}}).encode()
        app = upload(open_app(retired="True"), ("net.json", data))
        if not batch:
            type_in(app, "profiled_batch", 16)
        told[bool(batch)] = column(everything(app), "Memory")
    assert told[False] == told[True]


# --- limits ---------------------------------------------------------------------------------------------------------


def test_a_deadline_and_a_budget(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app()
    type_in(app, "deadline_h", 0.5)
    type_in(app, "budget_usd", 0.4)
    type_in(app, "certainty", 75)
    advice = core.advise(sample, core.predict(sample), Limits(0.5, 0.4, certainty=0.75))
    assert_says(app, advice)
    limits = {"deadline_h": "0.5", "budget_usd": "0.4", "certainty": "75"}
    assert link(app) == limits
    assert_says(open_app(**limits), advice)
    everything(app)
    advice = core.advise(sample, core.predict(sample), Limits(0.5, 0.4, certainty=0.75), retired=True)
    assert column(app, "In time") == {plan.label: format_certainty(plan.in_time) for plan in advice.plans}
    assert column(app, "Within budget") == {plan.label: format_certainty(plan.in_budget) for plan in advice.plans}


def test_a_deadline_that_nobody_meets(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app(deadline_h="0.001")
    assert_says(app, core.advise(sample, core.predict(sample), Limits(0.001)))
    assert clean(app.header[0].value).startswith("Nothing is expected to be done within 3.60 s")


def test_a_limit_of_zero_gets_one_line(open_app):
    app = open_app()
    shown = answer(app)
    type_in(app, "deadline_h", 0.0)
    assert lines(app.error) == ["Give a number above 0."]
    assert not app.exception and answer(app) == shown


def test_bad_values_of_a_link_count_as_not_given(open_app, core, samples):
    sample = samples[FIRST]
    senseless = {"batch": "9999", "pixels": "1", "images": "0", "per": "year", "loading": "yes", "second": "2"}
    limits = {"deadline_h": "-1", "budget_usd": "nan", "certainty": "12"}
    offers = {"market": "black", "retired": "perhaps", "region": "moon", "spot_discount": "100"}
    app = open_app(**senseless, **limits, **offers)
    assert_says(app, core.advise(sample, core.predict(sample)))
    assert dict(app.query_params) == {}


def test_settings_survive_page_switches(open_app, samples):
    app = upload(open_app(), ("mine.json", samples[FIRST].data))
    type_in(app, "epochs", 33)
    type_in(app, "deadline_h", 2)
    before, said = answer(app), sentences(app)
    for page in ("about", "sizes", "profiles", "answer"):
        go(app, page)
    assert answer(app) == before and sentences(app) == said
