"""Number fields: what is typed is the setting, an optional one can be emptied, and links and buttons fill them."""

from __future__ import annotations

from tests.pages.conftest import go, lines, type_in


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


def test_a_field_has_the_bounds_of_its_setting(open_app):
    app = open_app(epochs="0", images="-1")
    epochs, images = (app.number_input(key=key) for key in ("epochs", "images"))
    assert (epochs.value, epochs.min, epochs.max, images.value) == (90, 1, 1_000_000, 1_281_167)


def test_the_field_follows_what_a_profile_or_a_button_says(open_app, samples):
    app = type_in(open_app(sample="vgg16-224px-b16-g3s"), "latency", 122_400.0)
    assert any("doesn't fit this profile" in line for line in lines(app.warning))
    app.button(key=":use-suggested").click().run()
    assert app.session_state["latency"] == 122.4 and app.number_input(key="latency").value == 122.4
    other = next(name for name in samples if name != app.session_state["sample"])
    app.selectbox(key="sample").set_value(other).run()
    assert app.number_input(key="latency").value == samples[other].latency_ms
