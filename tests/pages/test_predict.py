"""Predict: from a sample, an upload or pasted text to the numbers that profet_core computes."""

from __future__ import annotations

import gzip
import json

import pytest
from pages.predict.figures import measured_and_predicted

from profet_core import Profile, predict, read_profile
from profet_core.advice.advise import advise
from profet_core.advice.request import Workload
from profet_core.advice.words import pick_line
from profet_core.prediction.steps import steps_note
from profet_core.typed_numbers import as_understood
from profet_core.units import format_ms, format_usd
from tests.pages.conftest import as_version_1, as_version_2, column, give, go, lines, type_in, upload
from ui.phrases import rule_phrase
from ui.tables import format_range_ms

LATENCY = "Step latency"
COST = "Cost of 1,000 steps"


def shown_ms(prediction) -> dict[str, str]:
    """The latency column as the page should show it."""
    return {
        row.instance + (" (anchor)" if row.instance == prediction.anchor else ""): (
            "–" if row.latency_ms is None else format_ms(row.latency_ms)
        )
        for row in prediction.predictions
    }


def test_the_first_screen_shows_the_first_sample_s_result(open_app, models, catalog, samples):
    sample = next(iter(samples.values()))
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    app = open_app()
    assert app.selectbox(key="sample").value == sample.name
    assert app.selectbox(key="anchor").value == sample.anchor
    assert app.session_state["latency"] == sample.latency_ms
    assert column(app, LATENCY) == shown_ms(expected)
    costs = [format_usd(row.cost_per_1000_steps_usd) for row in expected.predictions]
    assert list(column(app, COST).values()) == costs
    known = [row for row in expected.predictions if row.latency_ms is not None]
    fastest = min(known, key=lambda row: (row.latency_ms, row.cost_per_1000_steps_usd)).instance
    assert app.metric[0].value == fastest
    assert rule_phrase(models.method("default").with_latency) in lines(app.caption)[1]
    assert not app.error and not app.exception


def test_every_sample_sets_its_anchor_and_latency(open_app, models, catalog, samples):
    app = open_app()
    for sample in samples.values():
        app.selectbox(key="sample").set_value(sample.name).run()
        expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
        assert column(app, LATENCY) == shown_ms(expected)
        against = column(app, "Predicted, never seen", table=2)
        assert against == {name: format_ms(value) for name, value in sample.left_out_ms.items()}
        assert column(app, "Measured", table=2) == {
            name: format_ms(value) for name, value in sample.measured_ms.items()
        }


def test_a_cleared_latency_gives_the_mean_of_two_and_the_fold_without(open_app, models, catalog, samples):
    sample = next(iter(samples.values()))
    app = open_app()
    type_in(app, "latency", None)
    assert column(app, LATENCY) == shown_ms(predict(models, catalog, sample.profile, sample.anchor))
    assert rule_phrase(models.method("default").without_latency) in lines(app.caption)[1]
    without = {name: format_ms(value) for name, value in sample.left_out_without_latency_ms.items()}
    assert column(app, "Predicted, never seen", table=2) == without


@pytest.mark.parametrize(("number", "unit"), [(203_295.0, "us"), (0.203295, "s")])
def test_a_latency_may_be_typed_in_any_unit(open_app, models, catalog, samples, number, unit):
    sample = samples["resnet50-128px-b64-g4dn"]
    app = open_app(sample=sample.name)
    app.selectbox(key="unit").set_value(unit)
    type_in(app, "latency", number)
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=203.295)
    assert column(app, LATENCY) == shown_ms(expected)


def test_an_upload_is_predicted_and_its_meta_fills_the_form(open_app, models, catalog, samples):
    sample = samples["vgg16-224px-b16-g3s"]
    app = upload(open_app(), ("net.json", sample.data))
    assert app.selectbox(key="anchor").value == "g3s.xlarge"
    assert app.session_state["latency"] == sample.latency_ms
    expected = predict(models, catalog, sample.profile, "g3s.xlarge", latency_ms=sample.latency_ms)
    assert column(app, LATENCY) == shown_ms(expected)
    assert any("your upload net.json" in line for line in lines(app.caption))


def test_gzip_and_version_1_are_read_too(open_app, models, catalog, samples):
    data = b"[" + as_version_1(samples["vgg16-224px-b16-g3s"].profile.operations) + b"]"
    app = upload(open_app(anchor="g3s.xlarge"), ("old.json.gz", gzip.compress(data)))
    assert app.session_state["latency"] is None
    anchor = app.selectbox(key="anchor").value
    assert column(app, LATENCY) == shown_ms(predict(models, catalog, read_profile(data), anchor))


def test_pasted_text_is_predicted(open_app, models, catalog, samples):
    sample = samples["lenet5-32px-b16-g3s"]
    app = open_app()
    app.segmented_control(key="source").set_value("paste").run()
    app.text_area(key="pasted").set_value(sample.data.decode()).run()
    expected = predict(models, catalog, sample.profile, "g3s.xlarge", latency_ms=sample.latency_ms)
    assert column(app, LATENCY) == shown_ms(expected)


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
        gzip.compress(b'{"Device_Conv2D": 1}')[:-6],
        gzip.compress(gzip.compress(b'{"Device_Conv2D": 1}')),
        b"PK\x03\x04 not a profile",
        b'{"<script>alert(1)</script>": 1, "**bold**": 2}',
    ],
    ids=lambda data: repr(data[:18]),
)
def test_a_bad_file_gets_one_line_and_changes_nothing(open_app, samples, data):
    good = samples["vgg16-224px-b16-g3s"]
    app = upload(open_app(), ("net.json", good.data))
    before = column(app, LATENCY)
    give(app, ("bad_*name*.json", data))
    assert len(app.error) == 1
    assert lines(app.error)[0].startswith("bad_*name*.json: ")
    assert "\n" not in app.error[0].value
    assert column(app, LATENCY) == before
    assert app.session_state["latency"] == good.latency_ms
    assert any("your upload net.json" in line for line in lines(app.caption))
    assert not app.exception


def test_a_stranger_s_names_stay_text(open_app):
    hostile = {"Device_Conv2D": 50_000.0, "<img src=x onerror=alert(1)>": 1.0, "Device_" + "X" * 40: 9_000.0}
    app = upload(open_app(), ("[click](javascript:alert(1)).json", json.dumps(hostile).encode()))
    assert not app.error
    for element in (*app.caption, *app.warning, *app.markdown):
        assert "<img" not in element.value.replace("\\<img", "")
        assert "[click]" not in element.value


def test_a_latency_in_the_wrong_unit_is_questioned_and_the_suggestion_used(open_app, models, catalog, samples):
    sample = samples["vgg16-224px-b16-g3s"]
    app = open_app(sample=sample.name)
    type_in(app, "latency", sample.latency_ms * 1000)
    assert "did you mean" in lines(app.warning)[0]
    assert column(app, LATENCY) == shown_ms(predict(models, catalog, sample.profile, sample.anchor))
    app.button(key=":use-suggested").click().run()
    assert not app.warning
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    assert column(app, LATENCY) == shown_ms(expected)


def test_a_doubted_latency_is_used_if_the_visitor_insists(open_app, models, catalog, samples):
    sample = samples["vgg16-224px-b16-g3s"]
    app = open_app(sample=sample.name)
    type_in(app, "latency", 122_400.0)
    app.button(key=":use-typed").click().run()
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=122_400.0, trust_latency=True)
    assert column(app, LATENCY) == shown_ms(expected)
    # Trust is in that number beside that profile only.
    type_in(app, "latency", 123_456.0)
    assert "did you mean" in lines(app.warning)[0]


def test_a_latency_of_zero_gets_one_line_and_the_last_good_one_stays(open_app, models, catalog, samples):
    sample = next(iter(samples.values()))
    app = open_app()
    type_in(app, "latency", 0.0)
    assert lines(app.error) == [f"Give a number above 0. Until then: {as_understood(sample.latency_ms)} ms."]
    known = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    assert column(app, LATENCY) == shown_ms(known)


def test_a_wrong_anchor_is_noticed(open_app, samples):
    app = open_app()
    app.selectbox(key="anchor").set_value("p2.xlarge").run()
    assert any("is the anchor right?" in line for line in lines(app.warning))


def test_what_a_file_held_beside_operations_is_said(open_app, samples):
    operations = dict(samples["vgg16-224px-b16-g3s"].profile.operations)
    app = upload(open_app(), ("net.json", json.dumps({**operations, "loss_value": 1}).encode()))
    assert any("loss_value" in line for line in lines(app.caption))


def test_switching_pages_loses_nothing(open_app, samples):
    sample = samples["vgg16-224px-b16-g3s"]
    app = upload(open_app(), ("net.json", sample.data))
    type_in(app, "latency", 330.0)
    before = column(app, LATENCY)
    for page in ("scale", "cost", "about", "predict"):
        go(app, page)
        assert not app.error and not app.exception
    assert column(app, LATENCY) == before
    assert app.session_state["latency"] == 330.0


def test_an_upload_comes_back_after_looking_at_a_sample(open_app, samples):
    app = upload(open_app(), ("net.json", samples["vgg16-224px-b16-g3s"].data))
    type_in(app, "latency", 330.0)
    before = column(app, LATENCY)
    app.segmented_control(key="source").set_value("sample").run()
    assert column(app, LATENCY) != before
    app.segmented_control(key="source").set_value("upload").run()
    assert app.session_state["latency"] == 330.0
    assert column(app, LATENCY) == before


def test_the_same_upload_gives_the_same_state_whatever_was_done_before(open_app, samples):
    data = samples["mobilenetv2-224px-b32-p2"].data
    fresh = upload(open_app(), ("net.json", data))
    used = upload(open_app(), ("net.json", samples["vgg16-224px-b16-g3s"].data))
    type_in(used, "latency", 5.0)
    give(used, ("bad.json", b"{"))
    used = upload(used, ("net.json", data))
    assert not used.error and not used.warning
    assert column(used, LATENCY) == column(fresh, LATENCY)


def test_a_link_reopens_the_view(open_app):
    app = open_app()
    app.selectbox(key="sample").set_value("vgg16-224px-b16-g3s").run()
    app.selectbox(key="unit").set_value("us")
    type_in(app, "latency", 330_000.0)
    link = dict(app.query_params)
    assert link == {"sample": "vgg16-224px-b16-g3s", "latency": "330000", "unit": "us"}
    again = open_app(**link)
    assert column(again, LATENCY) == column(app, LATENCY)
    assert dict(again.query_params) == link


def test_a_link_keeps_an_empty_latency_and_another_anchor(open_app):
    app = open_app(anchor="p2.xlarge", latency="none")
    assert app.session_state["latency"] is None
    assert app.selectbox(key="anchor").value == "p2.xlarge"
    assert dict(app.query_params) == {"anchor": "p2.xlarge", "latency": "none"}


@pytest.mark.parametrize(
    "query",
    [
        {"sample": "../../etc/passwd"},
        {"anchor": "p9.huge"},
        {"latency": "nan"},
        {"latency": "-5"},
        {"unit": "fortnight"},
        {"method": "oracle"},
        {"source": "<script>"},
    ],
)
def test_a_senseless_link_opens_the_first_view(open_app, query):
    app = open_app(**query)
    assert column(app, LATENCY) == column(open_app(), LATENCY)
    assert not app.error and not app.exception
    assert dict(app.query_params) == {}


def test_a_link_to_an_upload_says_that_the_file_is_missing(open_app):
    app = open_app(source="upload", latency="9999")
    assert any("the page still shows the sample" in line for line in lines(app.caption))
    assert column(app, LATENCY) == column(open_app(), LATENCY)


def test_meta_names_the_gpu_so_nothing_is_typed_twice(open_app, samples):
    profile = samples["resnet50-128px-b64-g4dn"].profile
    app = upload(
        open_app(anchor="p2.xlarge"), ("net.json", as_version_2(dict(profile.operations), gpu="Tesla V100-SXM2-16GB"))
    )
    assert app.selectbox(key="anchor").value == "p3.2xlarge"
    assert read_profile(as_version_2(dict(profile.operations))).operations == profile.operations


INTERVAL = "90% interval"


def test_the_interval_is_profet_core_s(open_app, models, catalog, samples):
    for sample in list(samples.values())[:2]:
        app = open_app(sample=sample.name)
        expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
        assert column(app, f"{expected.interval_level:.0%} interval") == {
            name: format_range_ms(row.interval.low_ms, row.interval.high_ms) if row.interval else "–"
            for name, row in zip(shown_ms(expected), expected.predictions, strict=True)
        }
        count = len(models.manifest["training_data"]["architectures"])
        assert any(f"With {count} architectures that is no guarantee" in line for line in lines(app.caption))


def test_likeness_is_said_in_words_with_its_error(open_app, models, catalog, samples):
    sample = next(iter(samples.values()))
    likeness = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms).likeness
    said = " ".join(lines(open_app().markdown))
    assert f"badge[{likeness.words} the training data]" in said
    assert f"a mean error of {likeness.error_percent:.0f} %" in said


def test_a_network_unlike_the_data_is_said_to_be(open_app, models, catalog):
    operations = {"Device_DepthwiseConv2dNative": 90_000.0, "Device_Softmax": 90_000.0, "Host_IDLE": 9e5}
    app = upload(open_app(anchor="g4dn.xlarge"), ("net.json", as_version_2(operations, steps=1)))
    found = predict(models, catalog, Profile(operations), app.selectbox(key="anchor").value)
    assert "unlike" in found.likeness.words
    assert any(f"This network is {found.likeness.words} those of the training data" in line for line in found.warnings)
    # Said once.
    assert "the training data" not in " ".join(lines(app.markdown))
    assert lines(app.warning) == [line for line in found.warnings if line != steps_note(Profile(operations))]


def test_the_documented_method_has_no_interval_column(open_app, models, catalog, samples):
    sample = next(iter(samples.values()))
    app = open_app()
    assert INTERVAL in app.table[0].value
    app.selectbox(key="method").set_value("profet").run()
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, method="profet")
    assert column(app, LATENCY) == shown_ms(expected)
    assert INTERVAL not in app.table[0].value
    assert rule_phrase(models.method("profet").with_latency) in lines(app.caption)[1]
    assert not any("the training data]" in line for line in lines(app.markdown))
    assert dict(app.query_params) == {"method": "profet"}
    again = open_app(method="profet")
    assert again.selectbox(key="method").value == "profet"
    assert column(again, LATENCY) == column(app, LATENCY)


def test_the_method_survives_page_switches(open_app):
    app = open_app(method="profet")
    before = column(app, LATENCY)
    for page in ("scale", "about", "cost", "predict"):
        go(app, page)
        assert not app.exception
    assert column(app, LATENCY) == before
    assert app.selectbox(key="method").value == "profet"


def test_what_nobody_profiled_is_marked_and_says_what_it_rests_on(open_app, models, catalog, samples):
    sample = next(iter(samples.values()))
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    app = open_app()
    says = column(app, "Latency is")
    kinds = {"given": "your measurement", "measured": "predicted", "derived": "derived, biased"}
    for row in expected.predictions:
        label = row.instance + (" (anchor)" if row.instance == expected.anchor else "")
        assert says[label] == kinds.get(row.basis, "rough estimate")
    shown = " ".join(lines(app.markdown))
    for row in expected.predictions:
        if row.basis in ("derived", "transferred"):
            assert row.note in shown
    assert any("GPU never profiled" in line for line in lines(app.markdown))


def test_tf32_off_slows_the_newer_gpus_and_is_in_the_link(open_app, models, catalog, samples):
    sample = next(iter(samples.values()))
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, tf32=False)
    app = open_app(tf32="False")
    assert column(app, LATENCY) == shown_ms(expected)
    assert app.toggle(key="tf32").value is False
    app.toggle(key="tf32").set_value(True).run()
    assert column(app, LATENCY) != shown_ms(expected)
    assert "tf32" not in app.query_params


def test_whether_it_fits_stands_before_the_cost(open_app, samples):
    app = open_app(sample="vgg16-224px-b64-p3") if "vgg16-224px-b64-p3" in samples else open_app()
    columns = list(app.table[0].value)
    assert columns.index("Memory (batch)") < columns.index(COST)
    told = column(app, "Memory (batch)")
    assert all(text.startswith(("fits", "does not fit", "can't tell")) for text in told.values())
    assert any(line.startswith("Up to which batch") for line in lines(app.caption))


def test_a_claim_of_the_cheapest_says_how_sure_it_is(open_app, models, catalog, samples):
    sample = next(iter(samples.values()))
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    told = advise(expected.predictions, catalog.values(), Workload(1000, 1, 1))
    app = open_app()
    assert app.metric[2].value == told.cheapest.plan.instance
    line = pick_line(told.cheapest)
    assert line[0].upper() + line[1:] in lines(app.caption)
    # The two cheapest GPUs of this sample have intervals that overlap.
    assert line.startswith("too close to call against")


def test_measured_and_predicted_stand_side_by_side():
    figure = measured_and_predicted({"a": 1.0, "b": 2.0}, {"b": 3.0, "a": 4.0})
    assert {trace.name: list(trace.x) for trace in figure.data} == {"measured": [1.0, 2.0], "predicted": [4.0, 3.0]}
