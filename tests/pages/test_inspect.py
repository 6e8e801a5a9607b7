"""Inspect: what is in a profile, what holds its step up, and where each operation's time goes."""

from __future__ import annotations

import json

import pytest

from pages.inspect.figures import TOP, busy_and_idle, time_bars
from pages.inspect.view import busy_and_idle_words
from profet_core import Profile
from profet_core.prediction.diagnosis import diagnose
from profet_core.prediction.placement import placements
from tests.pages.conftest import as_version_2, give, go, lines, rows, upload

LENET, VGG = "lenet5-32px-b16-g3s", "vgg16-224px-b16-g3s"


def facts(app) -> dict[str, str]:
    return {row[""]: row["In this profile"] for row in rows(app, 0)}


def test_every_sample_is_shown_with_what_holds_it_up(open_app, models, samples):
    for name, sample in samples.items():
        app = open_app("inspect", inspect=name)
        found = diagnose(sample.profile, sample.latency_ms)
        said = lines(app.warning) + lines(app.info) + lines(app.success)
        assert said == [found.sentence]
        assert facts(app)["Format"] == "PROFET JSON, version 2"
        assert facts(app)["Batch size"] == str(sample.batch_size)
        shown = app.dataframe[0].value
        assert list(shown["Operation"]) == [row.operation for row in placements(models, sample.profile)]
        assert not app.error and not app.exception
        assert dict(app.query_params) == {"inspect": name}


def test_an_idle_step_is_called_out_and_an_ordinary_one_is_not(open_app):
    assert "Another GPU won't fix it" in lines(open_app("inspect", inspect=LENET).warning)[0]
    ordinary = open_app("inspect", inspect=VGG)
    assert not ordinary.warning and "worked for about 99% of the step" in lines(ordinary.success)[0]
    assert any("Another GPU won't fix it" in line for line in lines(open_app(sample=LENET).info))
    assert not open_app(sample=VGG).info


def test_a_step_that_waits_for_input_is_called_out(open_app):
    operations = {"Device_Conv2D": 40_000.0, "Device_IDLE": 60_000.0, "Host_Dataset": 70_000.0, "Host_IDLE": 9e5}
    app = upload(open_app(), ("slow.json", json.dumps(operations).encode()))
    go(app, "inspect")
    assert "This step waits for its input" in lines(app.warning)[0]
    go(app, "predict")
    assert any("This step waits for its input" in line for line in lines(app.info))


def test_it_follows_predict_until_another_one_is_chosen(open_app, samples):
    app = open_app(sample=VGG)
    go(app, "inspect")
    assert app.selectbox(key="inspected").value == VGG and dict(app.query_params) == {}
    go(app, "predict")
    upload(app, ("mine.json", samples[LENET].data))
    go(app, "inspect")
    assert app.selectbox(key="inspected").value.startswith("own ")
    app.selectbox(key="inspected").set_value("alexnet-64px-b128-p2").run()
    assert dict(app.query_params) == {"inspect": "alexnet-64px-b128-p2"}
    go(app, "cost")
    go(app, "inspect")
    assert app.selectbox(key="inspected").value == "alexnet-64px-b128-p2"


def test_an_upload_here_is_shown_here_and_joins_the_list(open_app, samples):
    app = open_app("inspect")
    give(app, ("mine.json", samples[LENET].data))
    ((key, held),) = app.session_state["own:profiles"].items()
    assert app.selectbox(key="inspected").value == f"own {key}"
    assert facts(app)["Batch size"] == "16" and held.name == "mine.json"
    app.button(key="inspect:remove").click().run()
    assert app.selectbox(key="inspected").value == app.session_state["sample"]
    assert not app.exception


def test_unknown_operations_and_where_they_went(open_app, samples):
    operations = {
        "Device_Conv2D": 60_000.0,
        "Device_TopKV2": 29_000.0,
        "Device_Conv3D": 1_000.0,
        "Device_" + "Q" * 40: 10_000.0,
        "Host_IDLE": 9e5,
    }
    app = upload(open_app(), ("odd.json", as_version_2(operations, gpu="Tesla T4", precision="fp32")))
    go(app, "inspect")
    (default,) = [text for text in lines(app.markdown) if text.startswith("**Default method**")]
    assert "2 unknown, 39.0% of the busy time" in default
    assert "Device_TopKV2 (29.00%): counted as elementwise" in default
    assert "Conv3D" not in default, "a convolution as any other"
    shown = app.dataframe[0].value.set_index("Operation")
    assert shown.loc["Device_Conv3D", ["Kind", "Class"]].tolist() == ["convolution", "convolution (by kind)"]
    assert shown.loc["Host_IDLE", ["Kind", "Class"]].tolist() == ["idle", "–"]
    assert f"Device_{'Q' * 40} (10.00%): counted nowhere" in default
    known = open_app("inspect", inspect=VGG)
    assert any("None: the models know every operation" in text for text in lines(known.markdown))


def test_precision_is_asked_here_too(open_app, samples):
    app = upload(open_app(), ("net.json", as_version_2(dict(samples[VGG].profile.operations))))
    go(app, "inspect")
    (key,) = app.session_state["own:profiles"]
    app.selectbox(key=f"inspect:precision:{key}").set_value("tf32").run()
    assert facts(app)["Precision"] == "tf32"
    go(app, "predict")
    assert any("says tf32" in line for line in lines(app.warning))


def test_a_cpu_s_profile_is_shown_with_its_warning(open_app):
    app = upload(open_app(), ("cpu.json", b'{"Host_MatMul": 500.0, "Host_IDLE": 90000.0}'))
    go(app, "inspect")
    assert "no GPU time" in lines(app.warning)[0]
    assert "There are no GPU rows." in " ".join(lines(app.caption))


@pytest.mark.parametrize(("count", "bars"), [(1, 1), (TOP, TOP), (TOP + 1, TOP + 1), (3 * TOP, TOP + 1)])
def test_the_chart_holds_the_longest_and_the_rest(models, count, bars):
    profile = Profile({f"Device_Op{number}": 1000.0 + number for number in range(count)} | {"Device_IDLE": 1e9})
    figure = time_bars(placements(models, profile))
    assert sum(len(trace.x) for trace in figure.data) == bars
    assert sum(sum(trace.x) for trace in figure.data) == pytest.approx(profile.busy_total_us / 1000)


def test_labels_are_short_and_told_apart(models):
    long = [f"Device_{'A' * 20}{letter}{'B' * 20}" for letter in "xyz"]
    figure = time_bars(placements(models, Profile(dict.fromkeys((*long, "Device_MatMul", "Host_MatMul"), 10.0))))
    labels = [label for trace in figure.data for label in trace.y]
    assert len(set(labels)) == 5 and {"MatMul", "MatMul (host)", f"{'A' * 11}…{'B' * 12}"} <= set(labels)
    (bars,) = time_bars(placements(models, Profile({"Host_MatMul": 10.0}))).data
    assert list(bars.y) == ["MatMul"]


def test_busy_and_idle_in_a_chart_and_in_words():
    profile = Profile({"Device_A": 750.0, "Device_IDLE": 250.0, "Host_B": 1000.0, "Host_IDLE": 3000.0})
    busy, idle = busy_and_idle(profile).data
    assert dict(zip(busy.y, busy.x, strict=True)) == {"host": 0.25, "GPU": 0.75}
    assert dict(zip(idle.y, idle.x, strict=True)) == {"host": 0.75, "GPU": 0.25}
    assert "The GPU's rows add up to 1.00 ms a step, 25% of it idle." in busy_and_idle_words(profile)


@pytest.mark.parametrize("link", ["no-such", "own 123", "<script>"])
def test_a_senseless_link_shows_what_predict_shows(open_app, link):
    app = open_app("inspect", inspect=link)
    assert app.selectbox(key="inspected").value == app.session_state["sample"]
    assert not app.error and dict(app.query_params) == {}
