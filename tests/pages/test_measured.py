"""A latency measured on a target: it corrects that target's row, and times, costs and sizes follow."""

from __future__ import annotations

import pytest

from profet_core import predict
from profet_core.prediction.correction import correct_by_measurement
from profet_core.units import format_ms
from tests.pages.conftest import as_version_2, column, everything, give, go, lines, link, notices, type_in
from ui.inputs.number_field import text_key
from ui.state.settings import measured_key

LATENCY = "Step"
FIRST = "resnet50-128px-b64-g4dn"
P2 = measured_key("p2.xlarge")


def predicted(models, catalog, sample):
    return predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)


def corrected_ms(models, catalog, sample, reference, measured_ms):
    """The rows as they should be, with `reference` as the sample of the measured size."""
    prediction = predicted(models, catalog, sample)
    same = prediction if reference is sample else predicted(models, catalog, reference)
    return correct_by_measurement(
        prediction, same, measured_ms, meta=sample.profile.meta, reference_meta=reference.profile.meta
    ).latencies_ms


def test_a_measured_latency_corrects_that_row_only_and_says_so(open_app, models, catalog, samples):
    sample = samples[FIRST]
    app = everything(open_app(sample=FIRST))
    before = column(app, LATENCY)
    type_in(app, P2, 700.0)
    after = column(app, LATENCY)
    expected = corrected_ms(models, catalog, sample, sample, {"p2.xlarge": 700.0})["p2.xlarge"]
    assert after == {**before, "p2.xlarge": format_ms(expected)}
    assert after["p2.xlarge"] != before["p2.xlarge"]
    assert any("from the latency you measured there" in line for line in notices(app))


def test_the_anchor_has_no_field(open_app, samples):
    app = open_app(sample=FIRST)
    keys = {element.key for element in app.text_input}
    assert text_key(measured_key(samples[FIRST].anchor)) not in keys
    assert text_key(P2) in keys


def test_a_link_carries_the_measurement_and_sizes_follow_it(open_app, models, catalog, samples):
    sample = samples[FIRST]
    app = everything(open_app(sample=FIRST, **{P2: "700"}))
    expected = corrected_ms(models, catalog, sample, sample, {"p2.xlarge": 700.0})["p2.xlarge"]
    assert column(app, LATENCY)["p2.xlarge"] == format_ms(expected)
    assert link(app) == {P2: "700"}
    go(app, "sizes")
    assert column(app, LATENCY)["p2.xlarge"] == format_ms(expected)
    assert link(app) == {P2: "700"}


def test_it_may_be_measured_at_the_second_profile_s_size(open_app, models, catalog, samples):
    sample, other = samples[FIRST], samples["resnet50-128px-b256-g4dn"]
    view = {"sample": FIRST, "second": "True", "second_sample": other.name, P2: "2100"}
    corrected = {}
    for at, reference in (("same", sample), ("other", other)):
        app = everything(open_app(**view, measured_at=at))
        corrected[at] = corrected_ms(models, catalog, sample, reference, {"p2.xlarge": 2100.0})["p2.xlarge"]
        assert app.selectbox(key="anchor").value == sample.anchor
        assert not app.exception
        if at == "other":
            assert column(app, LATENCY)["p2.xlarge"] == format_ms(corrected[at])
    assert corrected["same"] != corrected["other"]


def test_a_profile_of_another_instance_can_t_correct_and_one_line_says_so(open_app, models, catalog, samples):
    sample = samples[FIRST]
    other = next(s for s in samples.values() if s.anchor != sample.anchor)
    app = everything(
        open_app(sample=FIRST, second="True", second_sample=other.name, measured_at="other", **{P2: "500"})
    )
    (line,) = lines(app.error)
    assert other.anchor in line and sample.anchor in line
    # Without a second profile there is one size that it can have been measured at.
    expected = corrected_ms(models, catalog, sample, sample, {"p2.xlarge": 500.0})["p2.xlarge"]
    assert column(app, LATENCY)["p2.xlarge"] == format_ms(expected)
    assert app.selectbox(key="anchor").value == sample.anchor


def test_an_upload_of_the_measured_size_leaves_the_anchor_alone(open_app, samples):
    sample = samples[FIRST]
    app = open_app(sample=FIRST, second="True", measured_at="other", second_source="upload", **{P2: "500"})
    data = as_version_2(dict(sample.profile.operations), gpu="Tesla V100", step_latency_ms=200.0, batch_size=128)
    give(app, ("other.json", data), slot="second")
    assert app.selectbox(key="anchor").value == sample.anchor
    assert app.session_state["second_latency"] == 200.0
    assert not app.exception


@pytest.mark.parametrize("value", ["0", "-5", "nan", "x"])
def test_a_link_with_no_latency_counts_as_none(open_app, value):
    app = open_app(sample=FIRST, **{P2: value})
    assert app.session_state[P2] is None
    assert not app.error
