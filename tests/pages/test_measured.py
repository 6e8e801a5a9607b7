"""A latency measured on a target: it corrects that target's row, and times, costs and sizes follow."""

from __future__ import annotations

from profet_core.units import format_ms
from tests.pages.conftest import column, everything, go, link, notices, type_in

FIRST, OTHER = "resnet50-128px-b64-g4dn", "resnet50-128px-b256-g4dn"
P2 = "measured_p2.xlarge"


def step(app) -> str:
    return column(app, "Step")["p2.xlarge"]


def test_a_measured_latency_is_typed_in_its_row_s_details_and_corrects_that_row_only(open_app, core, samples):
    sample = samples[FIRST]
    app = everything(open_app(sample=FIRST))
    before = column(app, "Step")
    app.session_state["predict_open"] = "p2.xlarge"
    type_in(app.run(), P2, 700.0)
    expected = format_ms(core.predict(sample, measured={"p2.xlarge": 700.0}).latencies_ms["p2.xlarge"])
    assert column(app, "Step") == {**before, "p2.xlarge": expected} and expected != before["p2.xlarge"]
    assert any("from the latency you measured there" in line for line in notices(app))
    assert link(app) == {"sample": FIRST, P2: "700", "predict_open": "p2.xlarge"}
    app.session_state["predict_open"] = sample.anchor
    keys = {element.key for element in app.run().number_input}
    assert f"measured_{sample.anchor}" not in keys, "the anchor's is asked for in the sidebar"
    go(app, "sizes")
    assert not app.error and not app.exception and app.query_params[P2] == "700"


def test_it_may_be_measured_at_the_second_profile_s_size(open_app, core, samples):
    sample, other = samples[FIRST], samples[OTHER]
    view = {"sample": FIRST, "second": "True", "second_sample": OTHER, P2: "2100"}
    second = {"second": other.profile, "second_latency_ms": other.latency_ms, "measured": {"p2.xlarge": 2100.0}}
    there = {"measured_trace": other.profile, "measured_trace_latency_ms": other.latency_ms}
    shown = []
    for at, fields in (("same", second), ("other", second | there)):
        app = everything(open_app(**view, measured_at=at))
        (plan,) = [plan for plan in core.advise(sample, **fields).advice.plans if plan.instance == "p2.xlarge"]
        assert not app.error and step(app) == format_ms(plan.latency_ms)
        shown.append(step(app))
    assert shown[0] != shown[1]
