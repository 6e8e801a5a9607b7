"""Models, data and catalogue of one's own in one folder: the app shows them, and says what they rest on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import streamlit as st

from profet_core import load_models, predict
from profet_core.answers.served import load_served
from profet_core.catalog.own_gpus import own_gpu_of
from tests.made.own_home import CELLS, FP32_GPU, GPU, INSTANCE, make_home_of_own_machines, make_own_home
from tests.pages.conftest import column, go, lines, result_rows, rows, sentences, upload
from ui.state.resources import load_resources

NEWER = "This server has newer models or lists than it shows: start it again."
ELSEWHERE = ("PROFET_INSTANCES", "PROFET_GPUS", "PROFET_APP_INSTANCES")


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PROFET_HOME", str(make_own_home(tmp_path / "home")))
    st.cache_resource.clear()
    yield tmp_path / "home"
    st.cache_resource.clear()


@pytest.fixture
def own_machines(tmp_path, monkeypatch) -> None:
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PROFET_HOME", str(make_home_of_own_machines(tmp_path / "home")))
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def test_a_measured_gpu_is_a_target_and_an_anchor(open_app, home, samples):
    app = open_app(gpu=GPU, rows="all")
    assert not app.error and not app.exception and not app.warning
    found = {row["Instance"]: row for row in result_rows(app)}
    assert found[INSTANCE]["GPU"] == f"{GPU}, few steps measured"
    assert found[INSTANCE]["How sure"] == "fair" and found[INSTANCE]["Range"] != "–"
    sample = next(iter(samples.values()))
    served = load_served().knowledge
    step = predict(served.models, served.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    (row,) = [row for row in step.predictions if row.instance == INSTANCE]
    assert row.basis == "sharpened"
    options = app.selectbox(key="anchor").options
    assert options[4:6] == [f"NVIDIA {FP32_GPU} (few steps measured)", f"{GPU} (few steps measured)"]
    app.selectbox(key="anchor").set_value(GPU).run()
    assert not app.error and not app.exception
    assert "Nobody profiled" in " ".join(lines(app.warning))


def test_it_is_on_every_page(open_app, home):
    for page in ("sizes", "estimate"):
        app = open_app(page, gpu=GPU)
        assert not app.error and not app.exception, page
        assert INSTANCE in column(app, "Instance"), page
    app = open_app("about", open="prices")
    (prices,) = [table.value for table in app.table if "Latency is" in table.value]
    said = dict(zip(prices["Instance"].str.replace("\\", ""), prices["Latency is"], strict=True))
    assert said[INSTANCE] == "few steps measured"


def test_an_opened_row_says_what_was_measured(open_app, home):
    app = open_app(gpu=GPU, rows="all", answer_open=INSTANCE)
    (line,) = [line for line in sentences(app) if line.startswith("Rests on: ")]
    assert f"{CELLS} measured steps of {INSTANCE}, 9 networks" in line
    assert not [line for line in sentences(app) if line.startswith("Surer: ")]


def test_a_gpu_measured_in_fp32_says_that_it_counts_without_tf32(open_app, home):
    said = {}
    for tf32 in ("True", "False"):
        app = open_app(gpu=FP32_GPU, rows="all", tf32=tf32, answer_open="vast/1x-A40")
        (said[tf32],) = [line for line in sentences(app) if line.startswith("Rests on: ")]
    assert "20 measured steps of desk.a40 are in FP32: they count without TF32; TF32, " in said["True"]
    assert "20 measured steps of desk.a40, 9 networks" in said["False"]


def test_about_tells_what_the_models_were_made_of(open_app, home):
    app = open_app("about", open="accuracy", part="cells")
    assert "Models of this server's own" in lines(app.subheader)
    found = {row["GPU"]: row for row in rows(app, 0)}
    assert found[GPU] == {
        "GPU": GPU,
        "Measured on": INSTANCE,
        "Precision": "FP32",
        "Cells": "20",
        "Networks": "9",
        "Interval": "+18 %",
    }
    assert any("15 networks: those that ship with this version" in line for line in sentences(app))


def test_about_does_not_call_a_measured_gpu_unchecked(open_app, home):
    app = open_app("about", open="accuracy", part="unprofiled")
    assert not any(GPU in line for line in sentences(app) if "checked against no" in line or "No measurement" in line)
    (row,) = [row for row in rows(app, 0) if row["GPU"] == GPU]
    assert (row["Rests on"], row["Checked by"]) == (f"{CELLS} measured steps of {INSTANCE}", "its cells")
    assert row["Interval"] == "from +18 %"


@pytest.mark.parametrize("name", ["sharpened.json", "gpus.csv", "instances.csv"])
def test_what_was_written_since_is_told_and_the_old_is_shown(open_app, home, name):
    app = open_app()
    assert not app.warning
    os.utime(home / name, (0, 0))
    assert lines(app.run().warning)[0] == NEWER
    assert INSTANCE in column(go(app, "answer", rows="all", gpu=GPU), "Instance")
    (home / name).unlink()
    assert lines(app.run().warning)[0] == NEWER and not app.error


def test_damaged_it_is_one_line_on_every_page(open_app, home):
    (home / "sharpened.json").write_text(json.dumps({"gpus": []}))
    for page in ("answer", "sizes", "about"):
        app = open_app(page)
        (line,) = lines(app.error)
        assert line.startswith("home/sharpened.json is damaged or was changed") and not app.exception


def test_a_visitor_s_gpu_comes_to_the_server_s(open_app, home):
    app = open_app()
    app.session_state["own:gpus"] = (own_gpu_of({"gpu": "my card", "like": "L4"}, load_resources().gpus),)
    go(app, "answer", rows="all")
    assert {"my-card own", INSTANCE} <= set(column(app, "Instance"))
    assert {"my card", f"{GPU} (few steps measured)"} <= set(app.selectbox(key="anchor").options)
    assert not app.error and not app.exception


def test_the_shipped_models_stay_as_they_are(home, repository):
    assert not (repository / "models" / "sharpened.json").exists()
    assert load_models(repository / "models").transfer.sharpened == {}


def test_samples_are_compared_on_it(open_app, home, samples):
    first, second, *_ = samples
    app = open_app("profiles", compare_samples=f"{first},{second}")
    assert not app.error and not app.exception
    assert any(INSTANCE in str(frame.value.columns) for frame in app.dataframe), "a column or a row"


def test_models_of_own_machines_alone_predict_no_sample_of_another(open_app, own_machines, samples):
    said = "No sample was recorded on lab.g3s.xlarge, lab.g4dn.xlarge, lab.p2.xlarge: upload a profile of yours."
    for page in ("answer", "sizes"):
        app = open_app(page)
        assert lines(app.error) == [said] and not app.exception, page


def test_models_of_own_machines_alone_predict_a_profile_recorded_there(open_app, own_machines, samples):
    sample = next(iter(samples.values()))
    anchor = f"lab.{sample.anchor}"
    app = upload(open_app(anchor=anchor, rows="all"), ("mine.json", sample.data))
    assert lines(app.error) == [] and not app.exception
    assert {row["Instance"] for row in result_rows(app)} == {f"lab.{name}" for name in sample.measured_ms} | {anchor}
