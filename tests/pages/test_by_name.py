"""A network by name or file on every page, with a measured time or without."""

from __future__ import annotations

import pytest

from profet_core.answers.by_layers import file_profile, named_profile
from profet_core.answers.predict import predicted_question
from profet_core.layers.reading import read_network
from profet_core.questions import ProfileQuestion
from profet_profiles.units import format_ms
from tests.core.layers.test_logs import YOLO
from tests.pages.conftest import column, everything, give, go, has_results, lines, link, type_in
from ui.resources import load_resources

TABLE = b"kind,channels,kernel\nconvolution,32,3\nmax pooling,,2\nconvolution,64,3\nflatten,,\ndense,10,\n"
ALONE = {"source": "name", "per": "step", "preset": "original"}
MEASURED = {**ALONE, "preset": "gpus", "net_batch": "64", "anchor": "GeForce RTX 4090", "latency": "100 ms"}
FILE = {**ALONE, "net_from": "file", "net_pixels": "32"}


def expected(profile, **more) -> dict[str, str]:
    prediction = predicted_question(load_resources(), ProfileQuestion(profile=profile, **more))
    return {name: format_ms(latency_ms) for name, latency_ms in prediction.latencies_ms.items()}


def steps(app) -> dict[str, str]:
    assert not app.exception and not app.error, lines(app.error)
    return column(app, "Time")


def test_the_page_shows_what_the_core_answers_and_its_link_restores_it(open_app):
    app = everything(open_app(**{**ALONE, "net": "PROFET VGG16", "net_pixels": "128", "net_batch": "64"}))
    stated = expected(named_profile("PROFET VGG16", 64, 128))
    shown = steps(app)
    assert len(shown) > 40 and all(stated[name.partition(" ")[0]] == text for name, text in shown.items())
    assert {"Estimated", "Predicted"} == set(column(app, "Basis").values())
    app = open_app(**{**ALONE, "net": "resnet18"})
    app = type_in(type_in(app, "net_batch", 48), "net_pixels", 160)
    app.session_state["precision"], app.session_state["training_code"] = "amp", "channels-last"
    app.session_state["net_optimizer"] = "adam"
    more = {"precision": "amp", "training_code": "channels-last"}
    wanted = expected(named_profile("resnet18", 48, 160, optimizer="adam"), **more)["p3.2xlarge"]
    assert steps(app.run())["p3.2xlarge"] == wanted
    again = open_app(**{**link(app), "preset": "original"})
    assert steps(again) == steps(go(go(again, "about"), "predict")) == steps(app)


def test_a_checkpoint_s_own_size_is_kept(open_app):
    checkpoint = "timm/convnext_base.fb_in22k_ft_in1k_384"
    app = open_app(**{**ALONE, "net": checkpoint, "net_batch": "2"})
    assert steps(app)["p3.2xlarge"] == expected(named_profile("convnext_base", 2, 384))["p3.2xlarge"]
    assert link(app)["net"] in (checkpoint, [checkpoint])


def test_an_unknown_name_has_no_numbers_and_one_line(open_app):
    for page in ("predict", "sizes", "scale_out"):
        app = open_app(page, source="name", net="yolov99")
        assert len(app.error) == 1 and "yolov99" in lines(app.error)[0] and not has_results(app)
        assert not app.exception


def test_a_measured_time_corrects_every_gpu_and_the_slider_keeps_it(open_app):
    alone, app = open_app(**{**ALONE, "net_batch": "64"}), open_app(**MEASURED)
    question = {"anchor": "GeForce RTX 4090", "latency_ms": 100.0}
    stated = expected(named_profile("resnet50", 64), **question)
    shown = steps(app)
    assert shown != steps(alone) and {shown[name] for name in shown} <= set(stated.values())
    assert set(column(app, "Basis").values()) == {"Scaled", "Measured"}
    assert any("100 ms is what GeForce RTX 4090 usually takes" in line for line in lines(app.markdown))
    moved = open_app(**{**MEASURED, "batch": "128"})
    assert steps(moved) != shown and set(column(moved, "Basis").values()) == {"Scaled"}
    # Of an epoch's images, and by a progress line.
    for typed in ("400 images/s", "4 min/epoch", "391/391 [====] - 57s 146ms/step"):
        app = open_app(**{**MEASURED, "latency": typed})
        assert "measured on GeForce RTX 4090" in lines(app.markdown)[0] and len(steps(app)) > 3


def test_a_time_alone_asks_for_its_gpu_and_what_is_none_is_an_error_beside_the_estimate(open_app):
    alone = open_app(**ALONE)
    app = open_app(**ALONE, latency="100 ms")
    assert len(app.info) == 1 and steps(app) == steps(alone)
    app = open_app(**ALONE, anchor="GeForce RTX 4090")
    assert steps(app) == steps(alone)
    app = app.text_input(key="latency").set_value("fast").run()
    assert "46ms" in lines(app.error)[0] and column(app, "Time") == steps(alone)
    app = app.text_input(key="latency").set_value("20 it/s").run()
    assert steps(app) != steps(alone)
    # As the commands write it; another name is no GPU.
    again = app.text_input(key="latency").set_value("T4 = 230 ms").run()
    assert (again.session_state["anchor"], again.session_state["latency"]) == ("g4dn.xlarge", "230 ms")
    assert steps(again)["g4dn.xlarge"] == "230 ms"
    again = again.text_input(key="latency").set_value("Foo=230 ms").run()
    assert again.session_state["anchor"] == "g4dn.xlarge" and len(again.error) == 1


def test_a_profile_s_latency_is_read_in_any_unit(open_app):
    typed = [open_app(latency=text, preset="original") for text in ("552.844", "115.765 images/s")]
    assert typed[0].session_state["latency"] != typed[1].session_state["latency"]
    times = [column(app, "Time") for app in typed]
    assert times[0] == times[1] and not typed[1].error


def test_the_start_leads_to_a_name_and_its_example_works(open_app):
    app = open_app(per="step", preset="original")
    app = app.button(key="no-profile").click().run()
    assert app.session_state["source"] == "name" and app.session_state["latency"] is None
    assert app.session_state["anchor"] is None and len(steps(app)) == 4
    app = app.button(key="example").click().run()
    assert set(column(app, "Basis").values()) == {"Scaled"} and not app.error
    # Another network was not measured, and the sample has its own again.
    app = app.selectbox(key="net").set_value("resnet18").run()
    assert app.session_state["latency"] is None and app.session_state["anchor"] == "GeForce RTX 4090"
    app = app.segmented_control(key="source").set_value("sample").run()
    assert app.session_state["anchor"] == "g4dn.xlarge" and not app.exception


@pytest.mark.parametrize("page", ["sizes", "scale_out", "compare", "scaler"])
def test_every_page_answers_for_it(open_app, page):
    app = open_app(page, **MEASURED)
    assert not app.exception and not app.error, lines(app.error)
    assert page == "scaler" or has_results(app)
    if page == "compare":
        inside = go(app, "compare", view="inside")
        assert not inside.exception and not inside.error


def test_a_link_of_before_leads_to_it(open_app):
    old = open_app(
        "estimate", net="vgg16", net_gpu="Tesla T4", net_time="450 ms", net_code="channels-last", chart="table"
    )
    state = old.session_state
    assert (state["source"], state["net"], state["anchor"]) == ("name", "vgg16", "g4dn.xlarge")
    assert (state["latency"], state["training_code"]) == ("450 ms", "channels-last")
    assert has_results(old) and "net_gpu" not in link(old)


def test_a_file_is_counted_and_what_is_wrong_with_the_next_one_is_one_line(open_app, monkeypatch):
    app = open_app(**FILE)
    assert any("No file yet" in line for line in lines(app.caption))
    app = give(app, ("mine.csv", TABLE), slot="network")
    stated = expected(file_profile(read_network(TABLE, "mine.csv", 32), 32))
    before = steps(app)
    assert before["g4dn.xlarge"] == stated["g4dn.xlarge"]
    assert steps(go(go(app, "about"), "predict")) == before
    for content in (b"", b"\x00" * 100, b"PK\x03\x04", b"{" * 10_000):
        app = give(app, ("<b>x</b>.keras", content), slot="network")
        (line,) = lines(app.error)
        assert line.startswith("<b>x</b>.keras") and "\n" not in line and column(app, "Time") == before
        assert not app.exception

    def fail(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr("ui.uploads.read_network_guarded", fail)
    (line,) = lines(give(app, ("next.csv", TABLE), slot="network").error)
    assert "next.csv" in line and "our side" in line and "secret" not in line


def test_a_log_fills_in_its_time_its_gpu_and_the_network_s_sizes(open_app):
    app = open_app(**{**ALONE, "net": "yolov8n", "preset": "gpus"})
    uploader = next(one for one in app.file_uploader if one.key.startswith("log:file"))
    app = uploader.set_value(("yolo.log", YOLO.encode(), "text/plain")).run()
    settings = {"anchor": "GeForce RTX 4090", "latency": "100 ms", "net_batch": 16, "net_pixels": 640}
    assert {name: app.session_state[name] for name in settings} == settings
    assert {"Measured", "Scaled"} == set(column(app, "Basis").values()) and not app.error


def test_runs_multiply_a_training_s_cost(open_app):
    once, often = (open_app(source="name", preset="original", epochs="2", runs=runs) for runs in ("1", "5"))
    one, five = (float(column(app, "Cost")["g4dn.xlarge"].removeprefix("$")) for app in (once, often))
    assert five == pytest.approx(5 * one, rel=0.01)
