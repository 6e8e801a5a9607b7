"""Every page opens by its link; failures are one line; About and Accuracy, also of a server's own models and data."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import streamlit as st

import profet_recorder
from pages.predict.predict import TITLE
from profet_core import predict, read_profile
from profet_core.answers.context import load_served
from profet_core.catalog.custom_gpus import custom_gpu_from
from profet_core.catalog.instance import cloud_words
from profet_profiles import VERSION
from tests.made.custom_home import CELLS, FP32_GPU, GPU, INSTANCE, make_custom_home
from tests.pages.conftest import PAGES, column, drawn_bars, go, lines, link, open_section, result_rows, rows, upload
from ui import frame
from ui.resources import load_resources
from ui.session import session
from ui.words import UNEXPECTED, plain


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_by_its_link(open_app, page):
    app = open_app(page)
    titles = {
        "scaler": "Scaler prediction",
        "predict": TITLE,
        "sizes": "Latency and cost by size",
        "scale_out": "Training on 1 to 64 GPUs",
        "estimate": TITLE,
        "many_core": "Training time on many-core CPUs",
        "compare": "Compare profiles",
        "accuracy": "Accuracy",
        "about": "About",
    }
    assert [title.value for title in app.title] == [titles[page]]
    assert not app.exception and not app.error


@pytest.mark.parametrize("page", ["predict", "about"])
def test_an_unexpected_error_is_one_line(open_app, monkeypatch, page):
    def fail(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(frame, "profile_in_slot", fail)
    app = open_app(page)
    assert lines(app.error) == [UNEXPECTED] and not app.exception


def test_missing_models_are_one_line(open_app, monkeypatch, tmp_path):
    from ui.resources import load_resources

    monkeypatch.setenv("PROFET_HOME", str(tmp_path))
    (tmp_path / "transfer.json").write_text("{}")
    load_resources.clear()
    app = open_app()
    load_resources.clear()
    assert len(app.error) == 1 and "There are no models in" in lines(app.error)[0]
    assert not app.exception


def test_plain_text_stays_plain():
    assert plain("a_b *c* <d> [e](f) `g` $h$ :red[i]") == (r"a\_b \*c\* \<d\> \[e\]\(f\) \`g\` \$h\$ \:red\[i\]")


def test_a_section_opens_by_click_and_by_link_and_the_example_files_are_read(open_app):
    app = open_app("about")
    assert not app.table and link(app) == {}
    app = open_section(app, "precisions")
    assert not app.error and len(app.table) == 1
    assert link(app) == {"open": "precisions"}
    app = open_app("about", **link(app))
    assert len(app.table) == 1
    assert VERSION in lines(open_section(app, "credits").caption)[-1]
    text = "".join(element.value for element in open_app("about", open="files").markdown)
    first, second = (read_profile(code.encode()) for code in re.findall(r"^```\n({.*?)```$", text, re.S | re.M))
    assert first.operations == second.operations and (first.steps, second.steps) == (2, 1)
    assert second.meta.batch_size == 64 and not second.ignored


COMMAND = re.compile(r"\b(?:profet [a-z]+ --|pip install|make \w+`)|`(?:profet|make|export) ")


@pytest.mark.parametrize("section", session.texts.settings["open"].options)
def test_every_section_is_drawn(open_app, section):
    app = open_app("about", open=section)
    assert not app.error and not app.exception
    prose = re.sub("```.*?```", "", "".join(lines(app.markdown)), flags=re.S)
    assert "$" not in prose, "a figure that was not filled in"
    # A visitor has no shell on the server; recording is done on their own machine.
    assert section == "record" or not COMMAND.search("".join(lines((*app.markdown, *app.caption, *app.code))))


def test_the_recorder_is_installed_from_this_server_or_its_source_named(
    open_app, monkeypatch, recorder_wheel, tmp_path
):
    wheel = recorder_wheel.name
    code = [element.value for element in open_app("about", open="record").code]
    assert code[0] == f"pip install ./{wheel}"
    (text,) = [element.value for element in open_app("about", open="record").markdown if "```" in element.value]
    (snippet,) = [
        code for code in re.findall(r"^```\n(.*?)```$", text, re.S | re.M) if "profet_recorder import" in code
    ]
    compile(snippet, "snippet", "exec")
    assert {"ProfileCallback", "record_steps"} <= set(profet_recorder.__all__)
    monkeypatch.setattr(type(st.context), "url", "https://profet.example/apps/about")
    code = [element.value for element in open_app("about", open="record").code]
    assert code[0] == f"pip install https://profet.example/apps/recorder/{wheel}"
    monkeypatch.setattr("ui.server.WHEEL", tmp_path / "no.whl")
    code = [element.value for element in open_app("about", open="record").code]
    assert code[0].startswith("pip install ./profet_recorder ")


def test_the_card_is_drawn_with_its_tables_and_a_missing_one_is_one_line(open_app, repository, serve_report):
    card = (repository / "models" / "MODEL_CARD.md").read_text()
    app = open_app("accuracy")
    assert not app.error and not app.exception
    shown = "\n".join(element.value for element in app.markdown)
    for line in re.findall(r"^(?:###+ .*|\|[^](\n]*\|)$", card, re.M):
        assert line in shown
    titles = re.findall(r"^## (.*)$", card, re.M)
    assert [part.label for part in app.expander] == titles and not any(part.proto.expanded for part in app.expander)
    opened = open_app("accuracy", part="Several GPUs").expander
    assert [part.label for part in opened if part.proto.expanded] == ["Several GPUs"]
    assert "in this folder" not in shown and "Errors are" in shown
    assert not re.search(r"\]\((?!https?:)", shown), "a link that leads nowhere"
    serve_report("MODEL_CARD.md", None)
    serve_report("validation.json", None)
    app = open_app("accuracy")
    assert not any("charts" in json.loads(component.proto.json or "{}") for component in app.get("bidi_component"))
    assert len(app.info) == 1 and not app.error and not app.exception


def test_accuracy_begins_with_what_to_expect(open_app, repository):
    app = open_app("accuracy")
    errors = [row["value"] for row in drawn_bars(app)["errors"]]
    report = json.loads((repository / "models" / "validation.json").read_text())
    expected = report["default"]["without_twin"]["mape_with_latency"]
    assert errors == sorted(errors) and expected in errors and len(errors) == 6
    assert f"**{expected:.0f}%** on the four profiled GPUs" in app.markdown[0].value


def test_about_says_who_each_cloud_is_and_where_its_prices_are_from(open_app, catalog):
    table = rows(open_section(open_app("about"), "prices"), 0)
    assert {row["Cloud"] for row in table} == {cloud_words(offer.provider) for offer in catalog.all_offers}
    assert all(row["Who"] and row["Site"].startswith("[") and row["Prices of"] and row["Source"] for row in table)
    (verda,) = (row for row in table if row["Cloud"] == "Verda")
    assert "DataCrunch" in verda["Who"] and "FIN" in verda["Regions"]


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
    by_code = {row["Code"].partition(", ")[0]: row for row in result_rows(app)}
    assert GPU in by_code[INSTANCE]["Instance"] and by_code[INSTANCE]["Basis"] == "Scaled"
    assert by_code[INSTANCE]["Range"] != "–"
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
    assert "not in the training data" in " ".join(lines(app.caption))


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
    for source in ("sample", "name"):
        app = open_app("sizes", gpu=GPU, source=source)
        assert not app.error and not app.exception and INSTANCE in column(app, "Instance"), source
    app = open_app("compare", compare_samples=f"{first},{second}")
    assert not app.error and INSTANCE in column(app, "$/h")
    texts = lines(open_app("accuracy").markdown)
    assert any(f"{GPU} ({CELLS} measurements on {INSTANCE})" in line for line in texts)
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
