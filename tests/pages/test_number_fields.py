"""Number fields: what is typed is the setting, an optional one can be emptied, and links and buttons fill them."""

from __future__ import annotations

from tests.pages.conftest import go, type_in


def test_an_optional_number_can_be_emptied(open_app):
    app = open_app(deadline_h="5")
    assert app.number_input(key="deadline_h").value == 5
    type_in(app, "deadline_h", None)
    assert app.session_state["deadline_h"] is None and not app.error and "deadline_h" not in app.query_params


def test_a_number_is_kept_on_another_page_and_in_the_link(open_app):
    app = type_in(type_in(open_app(), "epochs", 12), "latency", 203.3)
    assert (app.query_params["epochs"], app.query_params["latency"]) == ("12", "203.3")
    go(go(app, "about"), "predict")
    assert [app.number_input(key=key).value for key in ("epochs", "latency", "images")] == [12, 203.3, 1_281_167]
