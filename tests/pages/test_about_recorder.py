"""About, the recorder: had from this very server, with the command for the visitor's framework."""

from __future__ import annotations

import pytest

import profet_recorder
from tests.pages.conftest import go, open_sections
from ui.recorder.route import recorder_address
from ui.recorder.wheel import recorder_wheel
from ui.state.settings import FRAMEWORKS


def code_of(app) -> list[str]:
    return [element.value for element in app.code]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_has_its_command_and_a_snippet_that_names_what_there_is(open_app, framework):
    app = open_app("about", open="record", framework=framework)
    code = code_of(app)
    assert code[0] == f"pip install ./{recorder_wheel().name}"
    assert any(text.startswith("profet profile train.py") for text in code)
    (snippet,) = [text for text in code if "profet_recorder import" in text]
    compile(snippet, "snippet", "exec")
    assert snippet.split("import ")[1].split()[0] in profet_recorder.__all__
    assert ("ProfileCallback" in snippet) is (framework != "pytorch")
    by_hand = [text for text in code if "ProfilerOptions" in text]
    assert len(by_hand) == (framework != "pytorch")
    for recipe in by_hand:
        compile(recipe, "recipe", "exec")
    assert not app.error and not app.exception


def test_the_choice_is_in_the_link_while_it_is_in_sight(open_app):
    app = open_app("about", open="record")
    app.selectbox(key="framework").set_value("pytorch").run()
    assert dict(app.query_params) == {"open": "record", "framework": "pytorch"}
    assert "framework" not in go(app, "answer").query_params
    app = open_sections(go(app, "about"), "record")
    assert any("record_steps" in text for text in code_of(app))


def test_it_is_installed_from_this_very_server(open_app, monkeypatch):
    monkeypatch.setattr("pages.about.guide.record.page_address", lambda: "https://profet.example/apps/about")
    code = code_of(open_app("about", open="record"))
    assert code[0] == f"pip install https://profet.example/apps/recorder/{recorder_wheel().name}"


@pytest.mark.parametrize(
    ("page", "address"),
    [
        ("http://localhost:8501/about", "http://localhost:8501/recorder/"),
        ("https://a.example/about/?open=record#top", "https://a.example/recorder/"),
        ("https://a.example/x/y/about", "https://a.example/x/y/recorder/"),
        ("https://a.example", "https://a.example/recorder/"),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("", None),
        (None, None),
    ],
)
def test_its_address_follows_from_the_page_s(page, address):
    assert recorder_address(page) == (address and address + recorder_wheel().name)
