"""Profiles, inside one: what is in it, what holds its step up, and where each operation's time goes."""

from __future__ import annotations

import json

import pytest

from pages.profiles.inside.figures import TOP, busy_and_idle, class_bars, time_bars
from pages.profiles.inside.view import busy_and_idle_words
from profet_core import Profile
from profet_core.prediction.diagnosis import diagnose
from profet_core.prediction.placement import placements
from tests.pages.conftest import as_version_2, give, go, inside, lines, look_at, rows, upload

LENET, VGG, ALEXNET = "lenet5-32px-b16-g3s", "vgg16-224px-b16-g3s", "alexnet-64px-b128-p2"


def facts(app) -> dict[str, str]:
    return {row[""]: row["In this profile"] for row in rows(app, 0)}


def test_every_sample_is_shown_with_what_holds_it_up(open_app, models, samples):
    for name, sample in samples.items():
        app = inside(open_app("profiles", inspect=name))
        found = diagnose(sample.profile, sample.latency_ms)
        said = lines(app.warning) + lines(app.info) + lines(app.success)
        assert said == [found.sentence]
        assert facts(app)["Format"] == "PROFET JSON, version 2"
        assert facts(app)["Batch size"] == str(sample.batch_size)
        shown = app.dataframe[0].value
        assert list(shown["Operation"]) == [row.operation for row in placements(models, sample.profile)]
        assert not app.error and not app.exception
        assert dict(app.query_params) == {"view": "inside", "inspect": name}


def test_an_idle_step_is_called_out_and_an_ordinary_one_is_not(open_app):
    assert "Another GPU won't fix it" in lines(open_app("profiles", view="inside", inspect=LENET).warning)[0]
    ordinary = open_app("profiles", view="inside", inspect=VGG)
    assert not ordinary.warning and "worked for about 99% of the step" in lines(ordinary.success)[0]


def test_a_step_that_waits_for_input_is_called_out(open_app):
    operations = {"Device_Conv2D": 40_000.0, "Device_IDLE": 60_000.0, "Host_Dataset": 70_000.0, "Host_IDLE": 9e5}
    app = upload(open_app(), ("slow.json", json.dumps(operations).encode()))
    inside(go(app, "profiles"))
    assert "This step waits for its input" in lines(app.warning)[0]


def test_it_shows_what_answer_shows_until_another_one_is_chosen(open_app, samples):
    app = open_app(sample=VGG)
    go(app, "profiles")
    assert not app.radio and dict(app.query_params) == {}
    go(app, "answer")
    upload(app, ("mine.json", samples[LENET].data), ("other.json", samples[VGG].data))
    app.selectbox(key="chosen").set_value(next(iter(app.session_state["own:profiles"]))).run()
    inside(go(app, "profiles"))
    assert facts(app)["Pixels"] == "32" and "on Answer" in app.radio(key="inspected").proto.captions[0]
    look_at(app, "other.json")
    assert facts(app)["Pixels"] == "224"
    go(app, "sizes")
    inside(go(app, "profiles"))
    assert facts(app)["Pixels"] == "224" and dict(app.query_params) == {"view": "inside"}


def test_links_of_answer_lead_inside_what_it_shows(open_app, samples):
    app = open_app(sample=ALEXNET)
    go(app, "profiles", **link_of(app, "What is in it?"))
    assert app.radio(key="inspected").value == ALEXNET and app.segmented_control(key="view").value == "inside"
    go(app, "answer")
    upload(app, ("cpu.json", b'{"Host_MatMul": 500.0, "Host_IDLE": 90000.0}'))
    go(app, "profiles", **link_of(app, "What is in it?"))
    assert app.radio(key="inspected").value.startswith("own ")


def test_a_link_of_answer_leads_to_the_recorder(open_app):
    app = open_app(source="upload")
    go(app, "about", **link_of(app, "How to record one"))
    opened = {section.label: section.proto.expanded for section in app.expander}
    assert opened.pop("Record a profile") and not any(opened.values())
    go(go(app, "answer"), "about", open="method")
    opened = {section.label: section.proto.expanded for section in app.expander}
    assert not opened["Record a profile"], "what is asked for now counts"


def link_of(app, label: str) -> dict[str, str]:
    """What a link to another page asks for."""
    (link,) = [link.proto for link in app.get("page_link") if link.proto.label == label]
    return dict(part.split("=") for part in link.query_string.split("&"))


def test_an_upload_here_is_shown_here_and_joins_the_list(open_app, samples):
    app = open_app("profiles", view="inside", compare_samples=VGG)
    give(app, ("mine.json", samples[LENET].data))
    ((key, held),) = app.session_state["own:profiles"].items()
    assert app.radio(key="inspected").value == f"own {key}"
    assert facts(inside(app))["Batch size"] == "16" and held.name == "mine.json"
    app.button(key="profiles:remove").click().run()
    assert app.radio(key="inspected").value == VGG
    app.button(key="profiles:remove").click().run()
    assert not app.radio and "No profile of yours yet" in lines(app.markdown)[0]
    assert not app.exception


def test_a_sample_is_added_and_looked_at(open_app):
    app = open_app("profiles", view="inside", compare_samples=VGG)
    app.selectbox(key="profiles:sample").set_value(LENET).run()
    assert app.radio(key="inspected").options == [name.replace("-", "\\-") for name in (VGG, LENET)]
    assert app.radio(key="inspected").value == LENET and app.selectbox(key="profiles:sample").value is None
    assert facts(inside(app))["Pixels"] == "32"
    assert dict(app.query_params) == {"view": "inside", "inspect": LENET, "compare_samples": f"{VGG},{LENET}"}
    app.button(key="profiles:remove").click().run()
    assert app.radio(key="inspected").value == VGG and not app.exception


def test_unknown_operations_and_where_they_went(open_app, samples):
    operations = {
        "Device_Conv2D": 60_000.0,
        "Device_TopKV2": 29_000.0,
        "Device_Conv3D": 1_000.0,
        "Device_" + "Q" * 40: 10_000.0,
        "Host_IDLE": 9e5,
    }
    app = upload(open_app(), ("odd.json", as_version_2(operations, gpu="Tesla T4", precision="fp32")))
    inside(go(app, "profiles"))
    (default,) = [text for text in lines(app.markdown) if text.startswith("**Default method**")]
    assert "2 unknown, 39.0% of the busy time" in default
    assert "Device_TopKV2 (29.00%): counted as elementwise" in default
    assert "Conv3D" not in default, "a convolution as any other"
    shown = app.dataframe[0].value.set_index("Operation")
    assert shown.loc["Device_Conv3D", ["Kind", "Class"]].tolist() == ["convolution", "convolution (by kind)"]
    assert shown.loc["Host_IDLE", ["Kind", "Class"]].tolist() == ["idle", "–"]
    assert f"Device_{'Q' * 40} (10.00%): counted nowhere" in default
    known = inside(open_app("profiles", inspect=VGG))
    assert "The models know every operation of this profile." in lines(known.caption)


def test_precision_is_asked_here_too(open_app, samples):
    app = upload(open_app(), ("net.json", as_version_2(dict(samples[VGG].profile.operations), gpu="Tesla M60")))
    inside(go(app, "profiles"))
    (key,) = app.session_state["own:profiles"]
    app.selectbox(key=f"profiles:precision:{key}").set_value("tf32").run()
    assert facts(app)["Precision"] == "tf32"
    app.segmented_control(key="view").set_value("compare").run()
    assert any("says tf32" in line for line in lines(app.markdown))


def test_a_cpu_s_profile_is_shown_with_its_warning(open_app):
    app = upload(open_app(), ("cpu.json", b'{"Host_MatMul": 500.0, "Host_IDLE": 90000.0}'))
    inside(go(app, "profiles"))
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
def test_a_senseless_link_is_no_choice(open_app, link):
    app = open_app("profiles", inspect=link, compare_samples=f"{ALEXNET},{VGG}")
    assert app.radio(key="inspected").value == ALEXNET
    assert not app.error and dict(app.query_params) == {"compare_samples": f"{ALEXNET},{VGG}"}


def test_gpu_time_by_class_adds_up(models, samples):
    rows = placements(models, samples[VGG].profile)
    (bars,) = class_bars(rows).data
    times_ms = dict(zip(bars.y, bars.x, strict=True))
    assert list(times_ms.values()) == sorted(times_ms.values(), reverse=True)
    assert sum(times_ms.values()) == pytest.approx(
        sum(row.time_us for row in rows if row.on_device and not row.idle) / 1000
    )
    assert times_ms["convolution"] == pytest.approx(
        sum(row.time_us for row in rows if row.operation_class == "convolution" and row.on_device) / 1000
    )
    odd = placements(models, Profile({"Device_" + "Q" * 40: 5000.0, "Host_MatMul": 10.0}))
    (bars,) = class_bars(odd).data
    assert dict(zip(bars.y, bars.x, strict=True)) == {"not counted": 5.0}
