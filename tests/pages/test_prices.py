"""Prices in the app: market and region, own prices, and a form for one's own instances that loses nothing."""

from __future__ import annotations

import inspect
import re
from datetime import date

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import lines, type_in
from ui.inputs.number_field import text_key

OWN = "own:instances"


def _draw() -> None:
    """As a page draws it."""
    import streamlit as st

    from ui.frame import run_page
    from ui.inputs.narrowing import narrowing_fields
    from ui.inputs.offers import chosen_offers, prices_input
    from ui.paths import page_path
    from ui.state.page_keys import answer_keys

    def body(resources) -> None:
        narrowing_fields(resources)
        prices_input(resources)
        st.session_state["offers"] = {offer.name: offer for offer in chosen_offers(resources)}

    # A link there leads to About, which must be a page of this app.
    pages = [st.Page(lambda: run_page(body, answer_keys), title="Prices", default=True), st.Page(page_path("about"))]
    st.navigation(pages, position="hidden").run()


@pytest.fixture
def prices(tmp_path, repository):
    """Opens what is behind the button of prices, by a link with these query parameters."""
    # Beside the pages, as the app's own main script is.
    script = tmp_path / "ui" / "prices.py"
    script.parent.mkdir()
    script.write_text(f"{inspect.getsource(_draw)}\n_draw()\n")
    (tmp_path / "pages").symlink_to(repository / "pages")

    def open_prices(**query: str) -> AppTest:
        app = AppTest.from_file(script, default_timeout=30)
        app.query_params.update(query)
        return app.run()

    return open_prices


def fill(app: AppTest, name: str = "my.l40s", usd: str = "0,95", gpu: str = "L40S") -> AppTest:
    """A new instance, as a visitor types it."""
    app.text_input(key="offer:name").set_value(name).run()
    app.selectbox(key="offer:gpu").set_value(gpu).run()
    return type_in(app, "offer:usd", usd)


def put(app: AppTest) -> AppTest:
    return app.button(key="offer:put").click().run()


def own(app: AppTest) -> list[tuple]:
    if OWN not in app.session_state:
        return []
    return [(row.name, row.gpu, row.gpu_count, row.usd_per_hour, row.market) for row in app.session_state[OWN].rows]


# --- an instance of one's own ---------------------------------------------------------------------------------------


def test_an_instance_is_added_with_its_gpu_s_memory_and_the_date_of_its_price(prices):
    app = type_in(fill(prices()), "offer:count", "2")
    app.selectbox(key="offer:market").set_value("spot").run()
    app.text_input(key="offer:region").set_value("eu-central-1").run()
    app.date_input(key="offer:as-of").set_value(date(2026, 11, 20)).run()
    put(app)
    assert not app.error and not app.exception
    (row,) = app.session_state[OWN].rows
    assert (row.name, row.gpu, row.gpu_count, row.gpu_memory_gib) == ("my.l40s", "L40S", 2, 48.0)
    assert (row.usd_per_hour, row.market, row.region, row.as_of) == (0.95, "spot", "eu-central-1", "2026-11-20")
    assert row.own and row.status == "available"
    assert any(
        "my.l40s (2 x L40S; eu-central-1, linux, spot, 2026-11-20): $0.95" in line for line in lines(app.markdown)
    )
    assert app.text_input(key="offer:name").value == "" and app.text_input(key=text_key("offer:usd")).value == ""


def test_another_price_of_a_known_instance_counts_in_its_market(prices):
    app = prices(market="spot")
    app.selectbox(key="offer:instance").set_value("g5.xlarge").run()
    assert not [field for field in app.text_input if field.key == "offer:name"], "what it is, is known"
    app.selectbox(key="offer:market").set_value("spot").run()
    put(type_in(app, "offer:usd", "0.4"))
    assert own(app) == [("g5.xlarge", "A10G", 1, 0.4, "spot")]
    assert app.session_state["offers"]["g5.xlarge"].usd_per_hour == 0.4
    assert {offer.market for offer in app.session_state["offers"].values()} == {"spot"}
    assert any(re.match(r"No spot price is known of \d+ instances: left out\.", line) for line in lines(app.caption))


@pytest.mark.parametrize(
    ("name", "usd", "says"),
    [
        ("", "1", "Give it a name."),
        ("<b>x</b>", "1", "A name has letters, digits, dots and dashes."),
        ("G5.xlarge", "1", "There is g5.xlarge already: choose it above, or take another name."),
        ("x" * 101, "1", "A name has letters, digits, dots and dashes."),
        ("mine", "", "Give a price."),
        ("mine", "0", "Give a number above 0."),
        ("mine", "-1", "Give a number above 0."),
        ("mine", "cheap", '"cheap" is no number: write it like 1234.5 or 1.234,5.'),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_lost(prices, name, usd, says):
    app = put(fill(prices(), name, usd))
    assert lines(app.error) == [says] and not app.exception and own(app) == []
    values = (app.text_input(key="offer:name").value, app.text_input(key=text_key("offer:usd")).value)
    assert values == (name, usd) and app.selectbox(key="offer:gpu").value == "L40S"
    assert app.session_state["offers"], "the answer below goes on"
    put(fill(app))
    assert own(app) == [("my.l40s", "L40S", 1, 0.95, "on-demand")] and not app.error


def test_a_price_that_was_good_before_is_not_taken_for_the_wrong_one_that_stands_there(prices):
    app = put(type_in(fill(prices()), "offer:usd", "much"))
    assert own(app) == [] and lines(app.error) == [
        '"much" is no number: write it like 1234.5 or 1.234,5. Until then: $0.95.'
    ]


def test_a_region_of_a_stranger_stays_text(prices):
    app = fill(prices())
    app.text_input(key="offer:region").set_value("[a](b)").run()
    put(app)
    assert lines(app.error) == ["A region has letters, digits, spaces and .,()/_- only."] and own(app) == []


@pytest.mark.parametrize("region", ["anywhere", "usual"])
def test_a_region_may_be_called_as_no_region_is(prices, region):
    app = fill(prices(provider="own"))
    app.text_input(key="offer:region").set_value(region).run()
    put(app)
    app.text_input(key="offer:region").set_value("elsewhere").run()
    put(fill(app, "other"))
    app.selectbox(key="region").set_value(region).run()
    own_rows = {row.name for row in app.session_state["offers"].values() if row.own}
    assert own_rows == {"my.l40s"} and app.query_params["region"] == region and not app.exception


def test_a_link_of_before_that_names_no_region_narrows_nothing(prices):
    app = prices(region="usual")
    assert app.selectbox(key="region").value is None and "region" not in app.query_params
    assert set(app.session_state["offers"]) == set(prices().session_state["offers"])


def test_a_row_is_changed_in_place(prices):
    app = put(fill(put(fill(prices())), "other", "2"))
    app.button(key="own-instances:edit").click().run()
    assert app.text_input(key="offer:name").value == "my.l40s" and app.button(key="offer:put").label == "Save"
    app.selectbox(key="offer:gpu").set_value("H200-SXM-141GB").run()
    app.selectbox(key="offer:market").set_value("reserved").run()
    put(type_in(app, "offer:usd", "3"))
    assert sorted(own(app)) == [
        ("my.l40s", "H200-SXM-141GB", 1, 3.0, "reserved"),
        ("other", "L40S", 1, 2.0, "on-demand"),
    ]
    assert {row.gpu_memory_gib for row in app.session_state[OWN].rows} == {48.0, 141.0}
    assert app.button(key="offer:put").label == "Add"


def test_a_change_can_be_called_off_and_a_row_removed_while_its_price_is_asked_for(prices):
    app = put(fill(prices()))
    app.button(key="own-instances:edit").click().run()
    type_in(app, "offer:usd", "9")
    app.button(key="offer:cancel").click().run()
    assert own(app) == [("my.l40s", "L40S", 1, 0.95, "on-demand")] and not app.error
    app.selectbox(key="offer:instance").set_value("my.l40s").run()
    app.button(key="own-instances:remove").click().run()
    assert own(app) == [] and app.selectbox(key="offer:instance").value == "" and not app.exception


def test_a_second_price_of_an_own_instance_needs_no_gpu(prices):
    app = put(fill(prices()))
    app.selectbox(key="offer:instance").set_value("my.l40s").run()
    app.selectbox(key="offer:market").set_value("spot").run()
    put(type_in(app, "offer:usd", "0.3"))
    assert own(app) == [("my.l40s", "L40S", 1, 0.95, "on-demand"), ("my.l40s", "L40S", 1, 0.3, "spot")]


# --- prices, markets ------------------------------------------------------------------------------------------------


def test_an_own_price_goes_into_the_link_and_can_be_taken_back(prices):
    app = prices(retired="True")
    app.selectbox(key="offers:priced").set_value("p3.2xlarge").run()
    type_in(app, "price_p3.2xlarge", "1,5")
    assert app.query_params["price_p3.2xlarge"] == "1.5"
    assert app.session_state["offers"]["p3.2xlarge"].usd_per_hour == 1.5
    assert "- p3.2xlarge: $1.50, list $3.06" in lines(app.markdown)
    type_in(app, "price_p3.2xlarge", "0")
    assert lines(app.error) == ["Give a number above 0. Until then: $1.5."]
    assert app.session_state["offers"]["p3.2xlarge"].usd_per_hour == 1.5
    app.button(key="offers:list-prices").click().run()
    assert app.session_state["offers"]["p3.2xlarge"].usd_per_hour == 3.06
    assert "price_p3.2xlarge" not in app.query_params


def test_a_market_without_prices_says_which_there_are(prices):
    app = prices(market="reserved")
    assert lines(app.error) == ["No offer has market reserved: choose one of on-demand; spot."]


def test_a_guess_of_spot_is_read_in_percent(prices):
    app = type_in(prices(market="spot"), "spot_discount", "60")
    assert {offer.market for offer in app.session_state["offers"].values()} == {"spot"} and not app.info
    type_in(app, "spot_discount", "100")
    assert lines(app.error) == ["Give a number between 1 and 99. Until then: 60."]
