"""Models, data and catalog of your own in one folder: the app shows them, and says what they rest on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import streamlit as st

from profet_core import predict
from profet_core.answers.context import load_served
from profet_core.catalog.custom_gpus import custom_gpu_from
from tests.made.custom_home import CELLS, FP32_GPU, GPU, INSTANCE, make_custom_home
from tests.pages.conftest import column, go, lines, result_rows, upload
from ui.resources import load_resources

NEWER = "This server has newer models or lists than it shows: restart it."
ELSEWHERE = ("PROFET_INSTANCES", "PROFET_GPUS", "PROFET_APP_INSTANCES")


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PROFET_HOME", str(make_custom_home(tmp_path / "home")))
    st.cache_resource.clear()
    yield tmp_path / "home"
    st.cache_resource.clear()


def test_a_measured_gpu_is_a_target_and_an_anchor(open_app, home, samples):
    app = open_app(gpu=GPU, preset="all")
    assert not app.error and not app.exception and not app.warning
    found = {row["Code"].partition(", ")[0]: row for row in result_rows(app)}
    assert GPU in found[INSTANCE]["Instance"] and found[INSTANCE]["Basis"] == "Scaled"
    assert found[INSTANCE]["Range"] != "–"
    sample = next(iter(samples.values()))
    served = load_served().context
    step = predict(served.models, served.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    (row,) = [row for row in step.predictions if row.instance == INSTANCE]
    assert row.basis == "calibrated"
    options = app.selectbox(key="anchor").options
    assert options[4:6] == [
        f"NVIDIA {FP32_GPU} (few steps measured)",
        f"{GPU} (few steps measured), {INSTANCE}, quadro-rtx-4000",
    ]
    flat = json.dumps(dict(sample.profile.operations)).encode()
    app = upload(app, ("mine.json", flat), recorded_on=GPU)
    assert not app.error and not app.exception
    assert "not in the training data" in " ".join(lines(app.warning))


def test_what_was_written_since_is_told_and_the_old_is_shown(open_app, home):
    for name in ("calibrated.json", "gpus.csv", "instances.csv"):
        st.cache_resource.clear()
        app = open_app()
        assert not app.warning
        os.utime(home / name, (0, 0))
        assert lines(app.run().warning)[0] == NEWER
    assert INSTANCE in column(go(app, "predict", preset="all", gpu=GPU), "Instance")
    (home / name).unlink()
    assert lines(app.run().warning)[0] == NEWER and not app.error


def test_it_is_on_every_page_beside_a_visitor_s_own(open_app, home, samples):
    first, second, *_ = samples
    for page in ("sizes", "estimate"):
        app = open_app(page, gpu=GPU)
        assert not app.error and not app.exception and INSTANCE in column(app, "Instance"), page
    app = open_app("compare", compare_samples=f"{first},{second}")
    assert not app.error and INSTANCE in column(app, "$/h")
    said = lines(open_app("accuracy").markdown)
    assert any(f"{GPU} ({CELLS} measurements on {INSTANCE})" in line for line in said)
    app = open_app()
    app.session_state["custom_gpus"] = (custom_gpu_from({"gpu": "my card", "like": "L4"}, load_resources().gpus),)
    go(app, "predict", preset="all")
    assert {"my-card own", INSTANCE} <= set(column(app, "Instance")) and not app.error and not app.exception


def test_damaged_it_is_one_line_on_every_page(open_app, home):
    (home / "calibrated.json").write_text(json.dumps({"gpus": []}))
    for page in ("predict", "about"):
        app = open_app(page)
        (line,) = lines(app.error)
        assert line.startswith("home/calibrated.json is damaged or was changed") and not app.exception
