"""About and Accuracy: sections and cards, and what a server's own models say."""

from __future__ import annotations

import re

import pytest
import streamlit as st

import profet_recorder
from profet_core import read_profile
from profet_recorder import VERSION
from tests.pages.conftest import lines, link, open_section
from ui.session import Texts


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


@pytest.mark.parametrize("section", Texts.open.options)
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


CARDS = tuple(Texts.part.options)


@pytest.mark.parametrize("part", CARDS)
def test_every_card_is_drawn_with_its_tables(open_app, repository, part):
    card = (repository / "models" / f"{part.upper()}_CARD.md").read_text()
    app = open_app("accuracy", part=part)
    assert not app.error and not app.exception
    shown = "\n".join(element.value for element in app.markdown)
    for line in re.findall(r"^(?:##+ .*|\|[^](]*\|)$", card, re.M):
        assert line in shown
    assert not COMMAND.search(shown)
    assert not re.search(r"\]\((?!https?:|\?part=)", shown), "a link that leads nowhere"


def test_the_chosen_card_is_in_the_link_and_a_missing_one_is_one_line(open_app, serve_report):
    app = open_app("accuracy")
    assert link(app) == {}
    app.segmented_control(key="part").set_value("scaleout").run()
    assert link(app) == {"part": "scaleout"}
    assert open_app("accuracy", part="nothing").session_state["part"] == CARDS[0]
    serve_report("CELLS_CARD.md", None)
    app = open_app("accuracy", part="cells")
    assert len(app.info) == 1 and not app.error and not app.exception
