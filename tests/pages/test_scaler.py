"""Scaler: prefilled from Predict's profile, typed latencies win, and its link restores both."""

from __future__ import annotations

import pytest

from profet_core import scale
from profet_core.units import format_ms
from tests.pages.conftest import as_version_1, go, lines, link, type_in, upload

SAMPLE = "resnet50-128px-b64-g4dn"
BATCH = ("scaler:Min:batch", "scaler:Max:batch")


def fields(app) -> tuple[float | None, float | None]:
    return tuple(field.value for field in app.number_input)


def predicted(core, sample, instance: str, **fields) -> float:
    """As the field shows it."""
    plans = {row.offer.name: row.plan for row in core.advise(sample, **fields).rows}
    return float(f"{plans[instance].latency_ms:.6g}")


@pytest.mark.parametrize(
    ("axis", "ends", "at", "method"), [("batch", (16, 256), 97, "profet"), ("pixels", (32, 256), 225, "default")]
)
def test_it_starts_with_predict_s_answer_and_has_every_size(open_app, core, models, samples, axis, ends, at, method):
    app = open_app("scaler", sample=SAMPLE, scaler_axis=axis, scaler_method=method)
    assert not app.error and not app.exception, lines(app.error)
    low, high = (predicted(core, samples[SAMPLE], "p3.2xlarge", **{f"at_{axis}": end}) for end in ends)
    assert fields(app) == (low, high) and len(app.get("plotly_chart")) == 1
    slider = app.slider(key=f"scaler_at_{axis}")
    assert (slider.min, slider.max, slider.step) == (*ends, 1)
    slider.set_value(at).run()
    expected = scale(models, "p3.2xlarge", axis, low, high, at, method=method)
    assert app.metric[0].value == f"{format_ms(expected.latency_ms)}/step"
    again = open_app("scaler", **link(app))
    assert again.metric[0].value == app.metric[0].value


def test_a_typed_latency_wins_until_its_field_is_emptied(open_app, models):
    app = open_app("scaler")
    low, high = fields(app)
    type_in(app, BATCH[0], 10)
    assert fields(app) == (10, high) and link(app) == {"scaler_min_batch": "10"}
    type_in(app, BATCH[1], 100)
    app.selectbox(key="scaler_instance").set_value("g4dn.xlarge").run()
    assert fields(app) == (10, 100)
    expected = scale(models, "g4dn.xlarge", "batch", 10, 100, 128)
    assert app.metric[0].value == f"{format_ms(expected.latency_ms)}/step"
    app.selectbox(key="scaler_instance").set_value("p3.2xlarge").run()
    type_in(type_in(app, BATCH[0], None), BATCH[1], None)
    assert fields(app) == (low, high) and link(app) == {}


def test_it_follows_predict_and_latencies_that_fall_are_one_line(open_app):
    app = open_app("scaler")
    before = fields(app)
    go(app, "predict").selectbox(key="sample").set_value("vgg16-224px-b16-g3s").run()
    assert fields(go(app, "scaler")) != before and not app.error
    app = open_app("scaler", scaler_min_batch="100", scaler_max_batch="10")
    assert len(app.error) == 1 and not app.exception and not app.metric


def test_without_a_prediction_both_latencies_are_asked(open_app, models, samples):
    data = as_version_1(samples[SAMPLE].profile.operations)
    app = go(upload(open_app(), ("old.json", data), recorded_on=None), "scaler")
    assert fields(app) == (None, None) and len(app.info) == 1 and not app.error and not app.metric
    type_in(type_in(app, BATCH[0], 10), BATCH[1], 100)
    assert app.metric[0].value == f"{format_ms(scale(models, 'p3.2xlarge', 'batch', 10, 100, 128).latency_ms)}/step"
