"""The tables of custom prices and instances: what counts, and one line per bad row."""

from __future__ import annotations

import pytest

from tests.pages.conftest import column, lines, open_prices, prices

OWN = "own_instances"
ROW = {"instance": "my.l40s", "gpu": "L40S", "usd_per_hour": 0.95}


def own(app) -> list[tuple]:
    if OWN not in app.session_state or app.session_state[OWN] is None:
        return []
    rows = app.session_state[OWN].rows
    return [(row.name, row.gpu, row.gpu_count, row.usd_per_hour, row.market) for row in rows]


def test_an_instance_is_added_with_its_gpu_s_memory_and_the_date_of_its_price(open_app, edit):
    more = {"gpu_count": 2, "market": "spot", "region": "eu-central-1", "as_of": "2024-05-06"}
    app = edit(open_app(), "own-instances", ROW | more)
    assert not app.error and not app.exception
    (row,) = app.session_state[OWN].rows
    assert (row.name, row.gpu, row.gpu_count, row.gpu_memory_gib) == ("my.l40s", "L40S", 2, 48.0)
    assert (row.usd_per_hour, row.market, row.region, row.as_of) == (0.95, "spot", "eu-central-1", "2024-05-06")
    assert row.own and row.status == "available"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"instance": "<b>x</b>"}, "letters"),
        ({"instance": "G5.xlarge"}, "g5.xlarge already"),
        ({"gpu": None}, "is empty"),
        ({"instance": "g5.xlarge"}, "gpu"),
        ({"usd_per_hour": None}, "usd_per_hour is empty"),
        ({"usd_per_hour": 0}, "usd_per_hour"),
        ({"region": "[a](b)"}, "region"),
        ({"as_of": "soon"}, "soon"),
    ],
)
def test_what_is_wrong_is_one_line_and_changes_nothing(open_app, edit, wrong, says):
    app = edit(open_app(), "own-instances", ROW | wrong, {**ROW, "instance": "other"}, {"instance": "a b", "gpu": "L4"})
    first, second = lines(app.error)
    assert says in first and "a b" in second and not app.exception and own(app) == []


def test_a_row_is_changed_in_place(open_app, edit):
    app = edit(open_app(), "own-instances", ROW, {**ROW, "instance": "other", "usd_per_hour": 2})
    edit(app, "own-instances", changed={0: {"gpu": "H200-SXM-141GB", "market": "reserved", "usd_per_hour": 3}})
    assert own(app) == [("my.l40s", "H200-SXM-141GB", 1, 3.0, "reserved"), ("other", "L40S", 1, 2.0, "on-demand")]
    assert [row.gpu_memory_gib for row in app.session_state[OWN].rows] == [141.0, 48.0]
    edit(app, "own-instances", changed={1: {"instance": "my.l40s"}})
    assert len(lines(app.error)) == 1 and len(own(app)) == 2, "an instance has one GPU"
    edit(app, "own-instances", removed=[0, 1])
    assert own(app) == [] and not app.error


def test_a_custom_price_replaces_the_list_price_goes_into_the_link_and_can_be_taken_back(open_app, edit):
    app = edit(open_app(preset="original"), "own-prices", {"instance": "p3.2xlarge", "usd": 1.5})
    assert app.query_params["price_p3.2xlarge"] == "1.5" and not app.error
    assert column(app, "$/h")["p3.2xlarge own price"] == "$1.50"
    edit(app, "own-prices", changed={0: {"usd": 0}})
    assert len(lines(app.error)) == 1 and app.session_state["price_p3.2xlarge"] == 1.5
    edit(app, "own-prices", {"instance": "p3.2xlarge", "usd": 2})
    assert lines(app.error) == ["p3.2xlarge has two prices: keep one."]
    edit(app, "own-prices", removed=[0])
    assert column(app, "$/h")["p3.2xlarge"] == "$3.06" and "price_p3.2xlarge" not in app.query_params


def test_the_tables_are_drawn_with_what_is_there(open_app):
    app = prices(open_prices(open_app(**{"price_p3.2xlarge": "2"}))).run()
    assert not app.exception and not app.error
    assert [list(table.value["instance"]) for table in app.dataframe if "usd" in table.value] == [["p3.2xlarge"]]


def test_a_market_without_prices_says_which_there_are(open_app):
    (line,) = lines(open_app(market="reserved").error)
    assert "reserved" in line and "spot" in line
