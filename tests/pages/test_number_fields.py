"""Number fields: every habit's marks are understood or refused beside the field, and nothing else is lost."""

from __future__ import annotations

import pytest

from tests.pages.conftest import answer, go, lines, type_in
from ui.inputs.number_field import text_key


def captions(app) -> list[str]:
    return [line for line in lines(app.caption) if line.startswith("= ")]


def test_a_number_is_understood_and_said_back_where_it_was_not_obvious(open_app):
    app = open_app()
    for typed, value, said in (
        ("203,3", 203.3, "= 203.3 ms"),
        ("1.234,5", 1234.5, "= 1,234.5 ms"),
        ("50.000", 50.0, "= 50 ms"),
        ("203.3", 203.3, None),
    ):
        type_in(app, "latency", typed)
        assert app.session_state["latency"] == value and float(app.query_params["latency"]) == value
        assert captions(app) == ([said] if said else []) and not app.error
        assert app.text_input(key=text_key("latency")).value == typed
    # In a count either mark is one between thousands.
    for typed in ("50.000", "50,000", "50 000", "5e4"):
        type_in(type_in(app, "images", "7"), "images", typed)
        assert app.session_state["images"] == 50_000 and captions(app) == ["= 50,000"]


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("epochs", ("203,3", "", "-1", "<b>12</b>")), ("latency", ("0",))],
)
def test_a_wrong_number_is_one_line_and_the_last_good_one_stays(open_app, key, wrong):
    given = {"epochs": "12", "latency": "510"}
    app = open_app(retired="True", **given)
    shown = answer(app)
    for typed in wrong:
        type_in(app, key, typed)
        (line,) = lines(app.error)
        assert given[key] in line and "\n" not in line and not app.exception
        assert answer(app) == shown and {name: app.query_params[name] for name in given} == given
    type_in(app, key, "20")
    assert not app.error and app.session_state[key] == 20


def test_an_optional_number_can_be_emptied(open_app):
    app = open_app(deadline_h="5")
    assert app.text_input(key=text_key("deadline_h")).value == "5"
    type_in(app, "deadline_h", "")
    assert app.session_state["deadline_h"] is None and not app.error and "deadline_h" not in app.query_params


def test_what_is_wrong_is_forgotten_on_another_page_and_what_is_right_is_kept(open_app):
    app = type_in(type_in(open_app(), "epochs", "1.234"), "images", "many")
    go(go(app, "about"), "predict")
    assert not app.error
    texts = [app.text_input(key=text_key(key)).value for key in ("epochs", "images")]
    assert texts == ["1234", "1281167"] and captions(app) == []


def test_the_field_follows_what_a_profile_or_a_button_says(open_app, samples):
    app = type_in(open_app(sample="vgg16-224px-b16-g3s"), "latency", "122.400,0")
    assert any("doesn't fit this profile" in line for line in lines(app.warning))
    app.button(key=":use-suggested").click().run()
    assert app.session_state["latency"] == 122.4 and app.text_input(key=text_key("latency")).value == "122.4"
    other = next(name for name in samples if name != app.session_state["sample"])
    app.selectbox(key="sample").set_value(other).run()
    assert float(app.text_input(key=text_key("latency")).value) == samples[other].latency_ms
