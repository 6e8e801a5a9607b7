"""Which offers count: narrowed as a visitor asks, and one line with the filter at hand where none is left."""

from __future__ import annotations

import pytest

from tests.pages.conftest import column, lines, link, result_rows, type_in

FIELDS = ("provider", "gpu", "gpu_count", "market", "min_memory_gib", "confidence")


def filter_opened(app):
    """Open what is behind the button of the filter."""
    app.session_state["offer_filter"] = True
    return app.run()


NARROWED = {
    "clouds": ({"provider": "gcp,lambda"}, lambda offer: offer.provider in ("gcp", "lambda") and offer.gpu_count == 1),
    "memory": ({"min_memory_gib": "80"}, lambda offer: offer.gpu_memory_gib >= 80 and offer.gpu_count == 1),
    "region": ({"region": "FIN-01"}, lambda offer: offer.region == "FIN-01" and offer.gpu_count == 1),
    "several": (
        {"gpu_count": "2,8", "gpu": "H100"},
        lambda offer: offer.gpu_model == "H100" and offer.gpu_count in (2, 8),
    ),
}


@pytest.mark.parametrize("asked", NARROWED)
def test_a_link_filters_and_is_written_again(open_app, catalog, asked):
    offer_filter, wanted = NARROWED[asked]
    query = {"preset": "all", **offer_filter}
    app = open_app(**query)
    assert not app.error and not app.exception, lines(app.error)
    shown = set(column(app, "Time"))
    expected = {
        offer.name
        for offer in catalog.all_offers
        if wanted(offer) and offer.market == "on-demand" and offer.status == "available"
    }
    assert expected <= shown
    # What these clouds have in nodes only is there as a node.
    single = {catalog[name].gpu for name in expected}
    assert all(catalog[name].gpu_count > 1 and catalog[name].gpu not in single for name in shown - expected)
    assert dict(app.query_params) == {"chart": "table", **query}


def test_the_fields_say_the_same_as_the_link(open_app):
    app = filter_opened(open_app())
    app.multiselect(key="provider").set_value(["gcp"]).run()
    app.multiselect(key="gpu").set_value(["V100", "T4"]).run()
    app.segmented_control(key="market").set_value("spot").run()
    app.button_group(key="gpu_count").set_value(["1", "4"]).run()
    type_in(app, "min_memory_gib", 16)
    app.segmented_control(key="confidence").set_value("fair").run()
    assert not app.error and not app.exception, lines(app.error)
    query = dict(app.query_params)
    assert [query[key] for key in FIELDS] == ["gcp", "V100,T4", "1,4", "spot", "16", "fair"]
    again = open_app(**query)
    assert result_rows(again) == result_rows(app) and dict(again.query_params) == query
    app = again.button(key="chip:all").click().run()
    assert link(app) == {} and result_rows(app) == result_rows(open_app())


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"provider": "lambda", "gpu": "T4"}, "No T4 at Lambda."),
        ({"min_memory_gib": "999"}, "No offer with 999 GiB or more."),
        ({"confidence": "good", "gpu": "H100"}, "No prediction has confidence good"),
    ],
    ids=str,
)
@pytest.mark.parametrize("page", ["predict", "sizes"])
def test_where_nothing_is_left_one_line_says_so_and_a_click_shows_offers_again(open_app, page, query, says):
    app = open_app(page, **query)
    (line,) = lines((*app.error, *app.info))
    assert says in line and not app.exception
    app.button(key="chip:all").click().run()
    assert not (*app.error, *app.info, *app.exception) and len(result_rows(app)) > 9
    assert not {*query} & {*link(app)}


def test_a_hint_s_button_removes_one_filter_and_keeps_the_others(open_app):
    app = open_app(provider="lambda", gpu="T4,A10")
    assert not app.info
    app.session_state["gpu"] = ["T4"]
    app.run().button(key="hint:provider").click().run()
    assert link(app) == {"gpu": "T4"} and not app.info and result_rows(app)


def test_all_except_one_is_all_but_the_rows_of_that_one(open_app):
    every = result_rows(open_app(preset="all"))
    app = filter_opened(open_app(preset="all"))
    clouds = app.multiselect(key="provider")
    clouds.set_value(clouds.options).run()
    assert result_rows(app) == every and not [one for one in app.button if f"{one.key}".startswith("chip:")]
    app.multiselect(key="provider").unselect("verda").run()
    assert [one.label for one in app.button if one.key == "chip:provider"] == ["Not Verda"]
    kept = [row for row in every if not row["Instance"].endswith("Verda")]
    assert result_rows(app) == kept and 0 < len(kept) < len(every)
    again = open_app(**dict(app.query_params))
    assert result_rows(again) == kept
    again.button(key="chip:provider").click().run()
    assert result_rows(again) == every


@pytest.mark.parametrize("chart", ["bars", "scatter", "table"])
def test_what_is_retired_only_shows_with_the_toggle(open_app, chart):
    app = filter_opened(open_app(gpu="K80", preset="all", chart=chart))
    assert not app.error and not app.exception and app.info
    app.toggle(key="retired").set_value(True).run()
    assert not app.error and not app.exception and not app.info
    app.segmented_control(key="chart").set_value("table").run()
    assert "p2.xlarge" in column(app, "Time")
