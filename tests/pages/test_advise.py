"""Advise: what the page says is what profet_core advises on Predict's or Scale's latencies."""

from __future__ import annotations

import json

import pytest
from pages.advise.plans import data_rows, points

from profet_core import predict
from profet_core.advice.advise import Advice, advise
from profet_core.advice.certainty import format_certainty
from profet_core.advice.comparison import compare
from profet_core.advice.comparison_words import comparison_sentences
from profet_core.advice.request import Limits, Workload
from profet_core.advice.words import answer_sentences
from profet_core.catalog.offers import offers_in_market
from profet_core.units import format_duration, format_usd
from tests.pages.conftest import clean, go, lines, rows, type_in
from ui.tables import as_json, format_range

FIRST = "resnet50-128px-b64-g4dn"


@pytest.fixture
def expected(models, catalog, samples):
    """`expected(limits, ...)` -> the core's advice on the first sample, 50,000 images and 10 epochs."""

    def ask(limits: Limits | None = None, *, market="on-demand", prices=None, discount=None, epochs=10, **choices):
        sample = samples[FIRST]
        found = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
        offers = offers_in_market(catalog, market, own_usd_per_hour=prices, spot_discount=discount)
        return advise(found.predictions, offers, Workload(50_000, 64, epochs), limits, **choices)

    return ask


def said(app) -> list[str]:
    """Everything in sentences, as a visitor reads it."""
    return [clean(line).replace("**", "") for line in lines(app.markdown)]


def offers_table(app) -> dict[str, dict[str, str]]:
    """Offer -> row of the table of all offers."""
    index = next(number for number, table in enumerate(app.table) if "Offer" in table.value)
    return {row["Offer"].removesuffix(" (retired)"): row for row in rows(app, index)}


def assert_says(app, advice: Advice) -> None:
    shown = said(app)
    for line in answer_sentences(advice):
        assert line in shown
    table = offers_table(app)
    assert list(table) == [plan.label for plan in advice.plans]
    for plan in advice.plans:
        row = table[plan.label]
        assert (row["Time"], row["Cost"]) == (format_duration(plan.total_s), format_usd(plan.total_usd))
        if ends := plan.interval:
            assert row["Time, between"] == format_range(format_duration(ends.low_s), format_duration(ends.high_s))
            assert row["Cost, between"] == format_range(format_usd(ends.low_usd), format_usd(ends.high_usd))


def test_the_first_screen_advises_on_the_first_sample(open_app, expected):
    app = open_app("advise")
    advice = expected()
    assert not app.error and not app.exception
    assert_says(app, advice)
    assert [metric.value for metric in app.metric] == [advice.cheapest.plan.label, advice.fastest.plan.label]
    assert dict(app.query_params) == {}
    assert any("p2.xlarge: retired, no longer rented out" in line for line in lines(app.caption))


def test_a_deadline_and_a_budget(open_app, expected):
    app = open_app("advise")
    type_in(app, "deadline_h", 0.5)
    type_in(app, "budget_usd", 0.4)
    type_in(app, "certainty", 75)
    advice = expected(Limits(0.5, 0.4, certainty=0.75))
    assert_says(app, advice)
    table = offers_table(app)
    assert {name: row["In time"] for name, row in table.items()} == {
        plan.label: format_certainty(plan.in_time) for plan in advice.plans
    }
    assert {name: row["Within budget"] for name, row in table.items()} == {
        plan.label: format_certainty(plan.in_budget) for plan in advice.plans
    }
    assert app.metric[2].label == "Cheapest within both limits" and app.metric[2].value == advice.answer.label
    link = dict(app.query_params)
    assert link == {"deadline_h": "0.5", "budget_usd": "0.4", "certainty": "75"}
    assert_says(open_app("advise", **link), advice)


def test_a_deadline_that_nobody_meets(open_app, expected):
    app = open_app("advise", deadline_h="0.001")
    assert_says(app, expected(Limits(0.001)))
    assert any(line.startswith("Nothing is expected to be done within 3.60 s: ") for line in said(app))
    assert app.metric[2].value == "none"


def test_retired_instances_and_prices_of_one_s_own(open_app, expected):
    app = open_app("advise", retired="in", **{"price_p3.2xlarge": "0.01"})
    advice = expected(include_retired=True, prices={"p3.2xlarge": 0.01})
    assert_says(app, advice)
    assert advice.answer.label == app.metric[0].value == "p3.2xlarge own price"
    assert not any("retired, no longer" in line for line in lines(app.caption))


def test_spot_is_guessed_only_when_asked_for(open_app, expected, catalog):
    if any(offer.market == "spot" for offer in catalog.all_offers):
        pytest.skip("the catalogue has spot prices")
    app = open_app("advise", market="spot")
    assert not app.error
    assert "The catalogue has no spot prices: give prices of your own, or a spot discount. Until then" in "".join(
        lines(app.warning)
    )
    assert_says(app, expected())
    type_in(app, "spot_discount", 60)
    assert_says(app, expected(market="spot", discount=0.6))
    assert {row["Price from"] for row in offers_table(app).values()} == {"spot, your guess"}
    assert dict(app.query_params) == {"market": "spot", "spot_discount": "60"}
    # The field is hidden on demand, and what was typed there counts for nothing.
    app.segmented_control(key="market").set_value("on-demand").run()
    assert_says(app, expected())


def test_one_against_another(open_app, expected):
    advice = expected(include_retired=True)
    plans = {plan.label: plan for plan in advice.plans}
    app = open_app("advise", retired="in")
    app.selectbox(key="against_a").set_value("p3.2xlarge").run()
    app.selectbox(key="against_b").set_value("g4dn.xlarge").run()
    for line in comparison_sentences(compare(plans["p3.2xlarge"], plans["g4dn.xlarge"])):
        assert line in said(app)
    link = dict(app.query_params)
    assert link == {"retired": "in", "against_a": "p3.2xlarge", "against_b": "g4dn.xlarge"}
    again = open_app("advise", **link)
    assert (again.selectbox(key="against_a").value, again.selectbox(key="against_b").value) == (
        "p3.2xlarge",
        "g4dn.xlarge",
    )
    app.selectbox(key="against_a").set_value("g4dn.xlarge").run()
    assert lines(app.info) == ["Choose two different offers."]


def test_a_link_to_an_offer_that_is_left_out_falls_back(open_app, expected):
    app = open_app("advise", against_a="p2.xlarge", against_b="<b>")
    assert not app.error and not app.exception
    assert dict(app.query_params) == {}


def test_bad_values_of_a_link_count_as_not_given(open_app, expected):
    app = open_app("advise", deadline_h="-1", budget_usd="nan", certainty="12", market="black", retired="perhaps")
    assert not app.error
    assert_says(app, expected())


def test_a_limit_of_zero_gets_one_line(open_app):
    app = open_app("advise")
    shown = offers_table(app)
    type_in(app, "deadline_h", 0.0)
    assert lines(app.error) == ["Give a number above 0."]
    assert not app.exception and offers_table(app) == shown


def test_what_was_typed_on_cost_counts_here_too(open_app, expected):
    app = open_app("cost")
    type_in(app, "epochs", 90)
    # AppTest sends a page's widgets once more after a switch; a browser doesn't (tests/browser/test_advise.py).
    go(app, "about")
    go(app, "advise")
    assert_says(app, expected(epochs=90))


def test_the_documented_method_has_no_certainty(open_app):
    app = open_app("advise", method="profet", deadline_h="5", retired="in")
    table = offers_table(app)
    measured = [name for name in ("g3s.xlarge", "p2.xlarge", "p3.2xlarge") if name in table]
    assert measured and {table[name]["In time"] for name in measured} == {"–"}


def test_another_batch_size_comes_from_scale(open_app):
    app = open_app("advise", batch_from="scaled", batch="200", retired="in")
    table = offers_table(app)
    measured = ("g4dn.xlarge", "g3s.xlarge", "p2.xlarge", "p3.2xlarge")
    assert {table[name]["Time is"] for name in measured} == {"carried over"}
    assert {row["Time is"] for name, row in table.items() if name not in measured} <= {
        "derived, biased",
        "rough estimate",
    }
    assert not any("between" in name for name in table["g4dn.xlarge"])
    assert dict(app.query_params) == {"batch_from": "scaled", "batch": "200", "retired": "in"}


def test_the_download_and_the_chart_have_every_plan(expected):
    advice = expected(Limits(1, 2), include_retired=True)
    read = json.loads(as_json(data_rows(advice)))
    assert [row["offer"] for row in read] == [plan.label for plan in advice.plans]
    assert [row["total_usd"] for row in read] == [plan.total_usd for plan in advice.plans]
    assert [row["in_time"] for row in read] == [plan.in_time for plan in advice.plans]
    drawn = points(advice)
    assert [one.on_frontier for one in drawn] == [plan in advice.frontier for plan in advice.plans]
    ends = [plan.interval for plan in advice.plans]
    assert [one.ends and one.ends[0][1] for one in drawn] == [end and end.low_usd for end in ends]
    assert [one.hours for one in drawn] == [plan.total_s / 3600 for plan in advice.plans]
