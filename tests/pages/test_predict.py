"""Predict: cards, charts and table say the core's answer, also where a latency was measured."""

from __future__ import annotations

import asyncio
import gzip
import json
import re

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message
from streamlit.testing.v1 import AppTest

from profet_profiles.units import format_ms
from tests.pages.conftest import (
    answer,
    as_version_1,
    assert_shows,
    cards,
    column,
    drawn_bars,
    everything,
    give,
    go,
    lines,
    link,
    missing,
    notices,
    result_rows,
    say_missing,
    sentences,
    type_in,
    upload,
)
from tests.pages.expected import FIRST
from ui.charts import COLORS
from ui.server import FIRST_PAINT, StaticFiles

VGG, ALEXNET = "vgg16-224px-b16-g3s", "alexnet-64px-b128-p2"
SMALL = "resnet50-128px-b64-g4dn"
#: Files that are no profile, one of each kind; tests/profiles has the others.
BAD = (
    b"",
    b'{"Device_Conv2D": NaN}',
    b"[" * 200_000,
    gzip.compress(b'{"Device_Conv2D": 1}', mtime=0)[:-6],
    b'{"<script>alert(1)</script>": 1, "**bold**": 2}',
)


def bars(app) -> tuple[list[dict], list[dict]]:
    """Rows of both charts, from the top: of time, then of cost."""
    bars, basis_of = drawn_bars(app), {color: basis for basis, color in COLORS.items()}
    for row in (*bars["latency-bars"], *bars["cost-bars"]):
        row["basis"] = "" if row["value"] is None else basis_of[row["color"]]
    return bars["latency-bars"], bars["cost-bars"]


def test_the_first_screen_answers_for_the_first_sample(open_app, core, samples):
    sample = next(iter(samples.values()))
    app = open_app()
    assert app.selectbox(key="sample").value == sample.name == FIRST
    assert app.selectbox(key="anchor").value == sample.anchor
    assert app.session_state["latency"] == f"{sample.latency_ms} ms"
    assert_shows(app, core.advise(sample))
    assert not app.warning and link(app) == {}


def test_bars_are_paired_and_say_their_basis(open_app, core, samples):
    app = open_app(chart="bars", preset="original", per="step")
    times, costs = bars(app)
    assert [row["name"] for row in times] == [row["name"] for row in costs] and len(times) == 4
    predicted = core.predict(samples[FIRST]).latencies_ms
    assert sorted(row["value"] for row in times) == pytest.approx(
        sorted(predicted[name] for name in ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")), rel=1e-9
    )
    (anchor,) = [row for row in times if "anchor" in row["name"]]
    assert anchor["basis"] == "Measured" and anchor["value"] == pytest.approx(samples[FIRST].latency_ms)
    assert {row["basis"] for row in times if row is not anchor} == {"Predicted"}


def test_a_step_that_does_not_fit_stays_as_a_row_without_a_bar_and_wins_nothing(open_app):
    app = open_app(chart="bars", sample=VGG, batch="256", preset="original", per="training")
    (times, _) = bars(app)
    gone = [row for row in times if row["value"] is None]
    assert gone and all("up to batch" in row["text"] for row in gone) and len(times) == 4
    assert not any(row["name"].split(" ")[0] in card for row in gone for card, _ in cards(app))


def test_sliders_move_every_number_and_snap_back_to_the_profile(open_app, core, samples):
    app = open_app()
    app.select_slider(key="slider:batch").set_value(128).run()
    app.select_slider(key="slider:pixels").set_value(160).run()
    assert_shows(app, core.advise(samples[FIRST], at_batch=128, at_pixels=160))
    assert {"at_batch": "128", "at_pixels": "160"}.items() <= dict(app.query_params).items()
    app.select_slider(key="slider:batch").set_value(64).run()
    app.select_slider(key="slider:pixels").set_value(224).run()
    assert_shows(app, core.advise(samples[FIRST]))
    assert link(app) == {}


def test_a_slider_begins_at_its_size_where_the_run_that_wrote_it_was_cut_short(open_app):
    """A browser that never got that run has the slider from the next one."""
    app = open_app(at_batch="128").run()
    for axis, size in (("batch", "128"), ("pixels", "224")):
        slider = app.select_slider(key=f"slider:{axis}")
        assert [slider.options[int(place)] for place in slider.proto.default] == [size]


def test_bars_hatch_the_part_that_waits_for_four_vcpus(open_app, core, samples):
    app = open_app(sample=FIRST, loading="vcpus", vcpu_rate="30", preset="aws", chart="bars", predict_open="g5.xlarge")
    plans = {
        plan.label: plan for plan in core.advise(samples[FIRST], images_per_s_per_vcpu=30).advice.plans if plan.waiting
    }
    # A10G, L4 and L40S have four vCPUs there, and train more than 120 images/s.
    assert {"g5.xlarge", "g6.xlarge", "g6e.xlarge"} <= set(plans)
    for drawn, total in zip(bars(app), ("total_s", "total_usd"), strict=True):
        waiting = {row["key"]: row["waiting"] for row in drawn if row["waiting"]}
        assert waiting == pytest.approx({label: plans[label].waiting for label in waiting}) and len(waiting) >= 3
        values = {row["key"]: row["value"] for row in drawn}
        ratio = values["g6e.xlarge"] / values["g5.xlarge"]
        assert ratio == pytest.approx(getattr(plans["g6e.xlarge"], total) / getattr(plans["g5.xlarge"], total))
    assert any("waits\N{NO-BREAK SPACE}for\N{NO-BREAK SPACE}data" in text for text in lines(app.markdown))
    assert any("4 vCPUs feed 120 images/s; this GPU could train " in text for text in lines(app.markdown)), "its dialog"


def test_a_stranger_s_names_stay_text(open_app):
    hostile = {
        "Device_Conv2D": 50_000.0,
        "Device_Conv2DBackpropFilter": 1.0,
        "<img src=x onerror=alert(1)>": 1.0,
        "Device_" + "X" * 40: 9_000.0,
    }
    app = upload(open_app(), ("[click](javascript:alert(1)).json", json.dumps(hostile).encode()))
    say_missing(app, batch_size=16)
    assert not app.error and answer(app)
    for element in (*app.caption, *app.warning, *app.markdown, *app.header, *app.subheader):
        assert "<img" not in element.value.replace("\\<img", "")
        assert "[click]" not in element.value


def test_a_latency_in_any_unit_or_none_counts_and_a_removed_second_profile_has_no_effect(open_app, core, samples):
    sample = samples[SMALL]
    app = open_app(sample=SMALL)
    for typed in ("203,295 us", "0.203295 s", "203.295"):
        type_in(app, "latency", typed)
        assert app.query_params["latency"] == typed
        assert_shows(app, core.advise(sample, latency_ms=203.295))
    type_in(app, "latency", None)
    assert_shows(app, core.advise(sample, latency_ms=None, without_latency=True))
    app = open_app(sample=SMALL, second="True", second_sample=OTHER)
    app.session_state["second"] = False
    assert_shows(app.run(), core.advise(samples[SMALL]))


def test_a_latency_in_the_wrong_unit_is_questioned_and_used_if_the_visitor_insists(open_app, core, samples):
    sample = samples[VGG]
    app = open_app(sample=VGG)
    type_in(app, "latency", sample.latency_ms * 1000)
    assert "did you mean" in notices(app)[0]
    assert_shows(app, core.advise(sample, latency_ms=None, without_latency=True))
    app.button(key=":use-suggested").click().run()
    assert not app.warning
    assert_shows(app, core.advise(sample))
    type_in(app, "latency", 122_400.0)
    app.button(key=":use-typed").click().run()
    assert_shows(app, core.advise(sample, latency_ms=122_400.0, trust_latency=True))
    # Trust is in that number beside that profile only.
    type_in(app, "latency", 123_456.0)
    assert "did you mean" in notices(app)[0]


def test_an_upload_fills_the_form_survives_bad_files_and_other_pages_and_comes_back(open_app, core, samples):
    sample = samples[VGG]
    app = upload(open_app(anchor="p2.xlarge"), ("net.json", sample.data))
    assert app.selectbox(key="anchor").value == "g3s.xlarge", "by its meta, whatever the link said"
    assert app.session_state["latency"] == f"{sample.latency_ms} ms"
    assert_shows(app, core.advise(sample))
    type_in(app, "latency", 330.0)
    type_in(app, "epochs", 33)
    before, cards_before = answer(app), cards(app)
    for page in ("sizes", "compare", "about", "predict"):
        go(app, page)
        assert not app.exception and not app.error
    assert answer(app) == before and cards(app) == cards_before and app.session_state["latency"] == "330.0"
    for data in BAD:
        give(app, ("bad_*name*.json", data))
        (line,) = lines(app.error)
        assert line.startswith("bad_*name*.json can't be used. ") and "\n" not in line
        assert answer(app) == before
    app.segmented_control(key="source").set_value("sample").run()
    assert answer(app) != before
    app.segmented_control(key="source").set_value("upload").run()
    assert answer(app) == before
    pasted = samples["lenet5-32px-b16-g3s"]
    app = open_app()
    app.segmented_control(key="source").set_value("paste").run()
    app.text_area(key="pasted").set_value(pasted.data.decode()).run()
    assert_shows(app, core.advise(pasted))


def test_a_link_reopens_the_view_and_details_of_a_row_say_what_was_measured_there(open_app, samples):
    app = open_app(sample=VGG, batch="32", epochs="5", preset="aws", per="epoch", budget_usd="30", gpu="V100,T4")
    again = open_app(**dict(app.query_params))
    assert dict(again.query_params) == dict(app.query_params) and answer(again) == answer(app)
    app = open_app(preset="original", predict_open="p3.2xlarge")
    assert any(f"{format_ms(samples[FIRST].measured_ms['p3.2xlarge'])}/step" in line for line in sentences(app))
    assert app.number_input(key="price_p3.2xlarge").value is None


OTHER = "resnet50-128px-b256-g4dn"
P2 = "measured_p2.xlarge"


def step(app) -> str:
    return column(app, "Step")["p2.xlarge"]


def test_a_measured_latency_is_typed_in_its_row_s_details_and_shown_as_typed(open_app, samples):
    sample = samples[SMALL]
    app = everything(open_app(sample=SMALL))
    before = column(app, "Step")
    app.session_state["predict_open"] = "p2.xlarge"
    type_in(app.run(), P2, 700.0)
    assert column(app, "Step") == {**before, "p2.xlarge": "700 ms"}
    assert [column(app, name)["p2.xlarge"] for name in ("Range", "Basis")] == ["–", "Measured"]
    assert any("Uses your 700 ms on K80 (predicted: " in line for line in lines(app.caption))
    assert link(app) == {"sample": SMALL, P2: "700", "predict_open": "p2.xlarge"}
    app.session_state["predict_open"] = sample.anchor
    keys = {element.key for element in app.run().number_input}
    assert f"measured_{sample.anchor}" not in keys, "the anchor's is asked for in the sidebar"
    go(app, "sizes")
    assert not app.error and not app.exception and app.query_params[P2] == "700"


def test_it_may_be_measured_at_the_second_profile_s_size(open_app, core, samples):
    sample, other = samples[SMALL], samples[OTHER]
    view = {"sample": SMALL, "second": "True", "second_sample": OTHER, P2: "2100"}
    second = {"second": other.profile, "second_latency_ms": other.latency_ms, "measured": {"p2.xlarge": 2100.0}}
    there = {"measured_trace": other.profile, "measured_trace_latency_ms": other.latency_ms}
    shown = []
    for at, fields in (("same", second), ("other", second | there)):
        app = everything(open_app(**view, measured_at=at))
        (plan,) = [plan for plan in core.advise(sample, **fields).advice.plans if plan.instance == "p2.xlarge"]
        assert not app.error and step(app) == format_ms(plan.latency_ms)
        shown.append(step(app))
    assert shown[0] != shown[1]


def test_the_header_has_exports_where_there_is_something_to_export(open_app, samples):
    def exports(app) -> set[str]:
        return {button.proto.label for button in app.get("download_button")} & {"CSV", "Report"}

    app = open_app(chart="bars")
    assert exports(app) == {"CSV", "Report"}
    upload(app, ("unknown.json", as_version_1(samples[SMALL].profile.operations)), recorded_on=None)
    assert missing(app) and exports(app) == set()
    say_missing(app, anchor="g4dn.xlarge", batch_size=64, pixels=224)
    assert not app.error and exports(app) == {"CSV", "Report"}


def test_what_a_new_visit_shows_is_in_the_page_before_its_scripts_are(repository):
    def opened(**query: str) -> str:
        FIRST_PAINT.clear()
        app = AppTest.from_file(str(repository / "ui" / "navigation.py"), default_timeout=30)
        app.query_params.update(query)
        assert not app.run().exception
        sent: list[bytes] = []

        async def send(message: Message) -> None:
            sent.append(message.get("body", b""))

        scope = {"type": "http", "path": "/", "method": "GET", "query_string": b"", "headers": []}
        asyncio.run(StaticFiles(PlainTextResponse("Streamlit's"))(scope, asyncio.Queue().get, send))
        return b"".join(sent).decode()

    assert opened(batch="32") == "Streamlit's", "a visitor's own settings"
    page = opened()
    assert "ResNet50 · 224 px · batch 64" in page and page.count("<tr>") >= 11
    assert re.search(r"<strong>Cheapest</strong></td><td><i style=.*?></i>\$[\d.]+</td>", page)


def test_where_nothing_shown_fits_a_button_sets_the_largest_batch_that_does(open_app):
    app = open_app(at_batch="256", at_pixels="256", sample=VGG, preset="original", gpu="K80,M60,A100")
    (button,) = [one for one in app.button if one.label.startswith("Use batch")]
    button.click().run()
    assert app.query_params["at_batch"] in button.label and result_rows(app) and not app.exception
