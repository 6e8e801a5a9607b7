"""Which prices count: the market, a guess of spot, prices of one's own; every plan is profet_core's on those offers."""

from __future__ import annotations

from tests.pages.conftest import answer, assert_says, column, everything, lines, link, type_in
from tests.pages.expected import FIRST


def prices_opened(app):
    """Open what is behind the button of prices."""
    app.session_state["offers"] = app.session_state["narrowing"] = True
    return app.run()


def test_own_prices(open_app, core, samples):
    sample = samples[FIRST]
    app = prices_opened(open_app(retired="True"))
    app.selectbox(key="offers:priced").set_value("p3.2xlarge").run()
    type_in(app, "price_p3.2xlarge", 0.01)
    advice = core.advise(sample, core.predict(sample), prices={"p3.2xlarge": 0.01}, retired=True)
    assert advice.answer.label == "p3.2xlarge own price"
    assert_says(app, advice)
    assert link(app) == {"price_p3.2xlarge": "0.01"}
    assert column(everything(app), "Market")["p3.2xlarge own price"] == "own price"
    assert_says(everything(open_app(**{"price_p3.2xlarge": "0.01"})), advice)


def test_a_price_of_zero_gets_one_line_and_nothing_else_is_lost(open_app):
    app = prices_opened(open_app())
    app.selectbox(key="offers:priced").set_value("g5.xlarge").run()
    before = answer(app)
    type_in(app, "price_g5.xlarge", 0.0)
    assert lines(app.error) == ["Give a number above 0."]
    assert answer(app) == before


def test_a_guess_of_spot_fills_what_the_catalogue_lacks(open_app, core, samples):
    sample = samples[FIRST]
    found = core.predict(sample)
    app = prices_opened(open_app(market="spot"))
    assert_says(app, core.advise(sample, found, market="spot"))
    assert any(line.startswith("No spot price is known of ") for line in lines(app.caption))
    type_in(app, "spot_discount", 60)
    assert_says(app, core.advise(sample, found, market="spot", discount=0.6))
    assert link(app) == {"market": "spot", "spot_discount": "60"}
    assert column(everything(app), "Price from")["verda/1V100.6V spot"] == "your guess"
    # The field is hidden on demand, and what was typed there counts for nothing.
    app = prices_opened(open_app(market="spot", spot_discount="60"))
    app.segmented_control(key="market").set_value("on-demand").run()
    assert_says(app, core.advise(sample, found))


def test_any_market_has_a_plan_of_each_offer(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app(market="any", spot_discount="40", rows="all")
    advice = core.advise(sample, core.predict(sample), market="any", discount=0.4)
    assert_says(app, advice)
    assert {"g5.xlarge", "g5.xlarge spot"} <= set(column(app, "Time"))
