"""Number fields: every habit's marks are understood or refused beside the field, and nothing else is lost."""

from __future__ import annotations

import pytest

from tests.pages.conftest import answer, go, lines, open_prices, type_in
from ui.inputs.number_field import text_key


def captions(app) -> list[str]:
    return [line for line in lines(app.caption) if line.startswith("= ")]


@pytest.mark.parametrize(
    ("typed", "value", "said"),
    [
        ("203,3", 203.3, "= 203.3 ms"),
        ("1.234,5", 1234.5, "= 1,234.5 ms"),
        ("1 234,5", 1234.5, "= 1,234.5 ms"),
        ("1,234", 1234.0, "= 1,234 ms"),
        ("50.000", 50.0, "= 50 ms"),
        ("1e2", 100.0, "= 100 ms"),
        ("203.3", 203.3, None),
    ],
)
def test_a_latency_is_understood_and_said_back_where_it_was_not_obvious(open_app, typed, value, said):
    app = type_in(open_app(), "latency", typed)
    assert app.session_state["latency"] == value and float(app.query_params["latency"]) == value
    assert captions(app) == ([said] if said else []) and not app.error
    assert app.text_input(key=text_key("latency")).value == typed


@pytest.mark.parametrize("typed", ["50.000", "50,000", "50 000", "5e4", "50'000"])
def test_a_count_reads_either_mark_as_one_between_thousands(open_app, typed):
    app = type_in(open_app(), "images", "7")
    type_in(app, "images", typed)
    assert app.session_state["images"] == 50_000 and captions(app) == ["= 50,000"]
    assert "images" not in app.query_params, "50,000 is what is asked for unasked"


@pytest.mark.parametrize(
    ("key", "typed", "says"),
    [
        ("epochs", "203,3", "Give a whole number. Until then: 12."),
        ("epochs", "", "Give a number. Until then: 12."),
        ("epochs", "-1", "Give a number between 1 and 1,000,000. Until then: 12."),
        ("epochs", "<b>12</b>", '"<b>12</b>" is no number: write it like 1234.5 or 1.234,5. Until then: 12.'),
        ("price_p3.2xlarge", "0", "Give a number above 0. Until then: $3."),
        ("price_p3.2xlarge", "free", '"free" is no number: write it like 1234.5 or 1.234,5. Until then: $3.'),
    ],
)
def test_a_wrong_number_is_one_line_and_the_last_good_one_stays(open_app, key, typed, says):
    app = open_prices(open_app(epochs="12", retired="True", **{"price_p3.2xlarge": "3"}))
    app.selectbox(key="offers:priced").set_value("p3.2xlarge").run()
    shown = answer(app)
    type_in(app, key, typed)
    assert lines(app.error) == [says] and not app.exception
    assert answer(app) == shown
    assert (app.query_params["epochs"], app.query_params["price_p3.2xlarge"]) == ("12", "3")
    type_in(app, key, "20")
    assert not app.error and app.session_state[key] == 20


def test_an_optional_number_can_be_emptied(open_app):
    app = open_app(deadline_h="5")
    assert app.text_input(key=text_key("deadline_h")).value == "5"
    type_in(app, "deadline_h", "")
    assert app.session_state["deadline_h"] is None and not app.error and "deadline_h" not in app.query_params


def test_what_is_wrong_is_forgotten_on_another_page_and_what_is_right_is_kept(open_app):
    app = type_in(type_in(open_app(), "epochs", "1.234"), "images", "many")
    go(go(app, "about"), "answer")
    assert not app.error
    texts = [app.text_input(key=text_key(key)).value for key in ("epochs", "images")]
    assert texts == ["1234", "50000"] and captions(app) == []


def test_the_field_follows_what_a_profile_or_a_button_says(open_app, samples):
    app = type_in(open_app(), "latency", "122.400")
    type_in(app, "latency", "122.400,0")
    assert any("makes no sense" in line for line in lines(app.warning))
    app.button(key=":use-suggested").click().run()
    assert app.session_state["latency"] == 122.4 and app.text_input(key=text_key("latency")).value == "122.4"
    other = next(name for name in samples if name != app.session_state["sample"])
    app.selectbox(key="sample").set_value(other).run()
    assert float(app.text_input(key=text_key("latency")).value) == samples[other].latency_ms
