"""Which offers the pages show: few by default, narrowed as a visitor asks, and one line where none is left."""

from __future__ import annotations

import json
from datetime import date

import pytest

from profet_core.advice.headline import headline
from profet_core.catalog.price_age import price_age_years
from tests.pages.conftest import clean, column, everything, go, lines, link, result_rows, sentences, type_in
from tests.pages.expected import FIRST


def narrowing_opened(app):
    """Open what is behind the button of offers."""
    app.session_state["narrowing"] = True
    return app.run()


def chart_names(app) -> list[str]:
    """The labelled points of the chart of time against money."""
    (figure,) = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return [trace["customdata"][0] for trace in figure["data"] if trace.get("customdata")]


def test_the_first_page_has_few_rows_and_the_chart_the_same(open_app, core, catalog, samples):
    app = open_app()
    shown = column(app, "Time")
    assert len(shown) == 6 and {"g4dn.xlarge", "verda/1V100.6V"} <= set(shown), "the anchor, and what to rent"
    models = [catalog[name].gpu_model for name in shown]
    # A row a GPU; the fastest offer, which the sentence names, may be the second of its GPU.
    assert len(models) - 1 <= len(set(models)) and {catalog[name].gpu_count for name in shown} == {1}
    assert len(chart_names(app)) == 6
    advice = core.advise(samples[FIRST], core.predict(samples[FIRST]))
    assert [clean(line) for line in lines(app.header)] == [headline(advice)]
    assert headline(advice).startswith("Rent 1V100.6V (V100, Verda): ")
    assert "rows" not in app.query_params


def test_every_gpu_and_every_offer_are_one_click_away(open_app, core, catalog, samples):
    advice = core.advise(samples[FIRST], core.predict(samples[FIRST]))
    app = open_app()
    app.segmented_control(key="rows").set_value("gpus").run()
    models = [catalog[name].gpu_model for name in column(app, "Time")]
    assert set(models) == {plan.offer.gpu_model for plan in advice.plans} and 14 < len(models) <= len(set(models)) + 1
    app.segmented_control(key="rows").set_value("all").run()
    assert list(column(app, "Time")) == [plan.label for plan in advice.plans]
    assert link(open_app(rows="all")) == {} and len(chart_names(app)) < 25 < len(advice.plans)
    assert dict(app.query_params) == {"rows": "all"}


def test_an_open_row_says_who_else_rents_that_gpu_out_the_cheapest_first(open_app):
    app = open_app(answer_open="verda/1V100.6V")
    (line,) = [line for line in sentences(app) if line.startswith("Also at: ")]
    assert line == "Also at: GCP $2.67"
    app = open_app(answer_open="vast/1x-H100_SXM")
    (line,) = [line for line in sentences(app) if line.startswith("Also at: ")]
    assert line.endswith("Azure $6.98 · 2024 and 1 more"), "eight, and an old price says so"
    prices = [float(part.split("$")[1].split(" ")[0]) for part in line.removeprefix("Also at: ").split(", ")]
    assert prices == sorted(prices) and len(prices) == 8


NARROWED = {
    "cloud": ({"provider": "gcp"}, lambda offer: offer.provider == "gcp" and offer.gpu_count == 1),
    "clouds": (
        {"provider": "gcp,lambda", "rows": "all"},
        lambda offer: offer.provider in ("gcp", "lambda") and offer.gpu_count == 1,
    ),
    "GPU": ({"gpu": "V100"}, lambda offer: offer.gpu_model == "V100" and offer.gpu_count == 1),
    "memory": (
        {"min_memory_gib": "80", "rows": "all"},
        lambda offer: offer.gpu_memory_gib >= 80 and offer.gpu_count == 1,
    ),
    "region": ({"region": "FIN-01"}, lambda offer: offer.region == "FIN-01" and offer.gpu_count == 1),
    "part of regions": (
        {"region": "EU", "provider": "vast", "rows": "all"},
        lambda offer: "EU" in offer.region and offer.provider == "vast" and offer.gpu_count == 1,
    ),
    "nodes": ({"gpu_count": "4", "rows": "all"}, lambda offer: offer.gpu_count == 4),
    "several": (
        {"gpu_count": "2,8", "gpu": "H100", "rows": "all"},
        lambda offer: offer.gpu_model == "H100" and offer.gpu_count in (2, 8),
    ),
}


@pytest.mark.parametrize("asked", NARROWED)
def test_a_link_narrows_and_is_written_again(open_app, core, catalog, samples, asked):
    query, wanted = NARROWED[asked]
    app = open_app(**query)
    assert not app.error and not app.exception, lines(app.error)
    shown = set(column(app, "Time"))
    expected = {
        offer.name
        for offer in catalog.all_offers
        if wanted(offer) and offer.market == "on-demand" and offer.status == "available"
    }
    # What these clouds have in nodes only is there as a node.
    nodes = {name for name in shown - expected if catalog[name].gpu_count > 1}
    single = {offer.gpu for offer in map(catalog.__getitem__, expected)}
    assert shown - expected == nodes and not {catalog[name].gpu for name in nodes} & single
    assert expected <= shown or (asked == "cloud" and len(shown) == 6)
    assert dict(app.query_params) == query


def test_the_fields_say_the_same_as_the_link(open_app):
    app = narrowing_opened(open_app())
    app.multiselect(key="provider").set_value(["gcp"]).run()
    app.multiselect(key="gpu").set_value(["V100", "T4"]).run()
    app.segmented_control(key="market").set_value("spot").run()
    app.button_group(key="gpu_count").set_value(["1", "4"]).run()
    type_in(app, "min_memory_gib", 16)
    app.segmented_control(key="sureness").set_value("fair").run()
    assert not app.error and not app.exception, lines(app.error)
    query = dict(app.query_params)
    assert {key: query[key] for key in ("provider", "gpu", "gpu_count", "market", "min_memory_gib", "sureness")} == {
        "provider": "gcp",
        "gpu": "V100,T4",
        "gpu_count": "1,4",
        "market": "spot",
        "min_memory_gib": "16",
        "sureness": "fair",
    }
    again = open_app(**query)
    assert result_rows(again) == result_rows(app) and dict(again.query_params) == query
    app = narrowing_opened(again)
    app.button(key="narrowing:widen").click().run()
    assert link(app) == {} and result_rows(app) == result_rows(open_app())


def test_measured_gpus_are_measured_at_whoever_rents_them_out(open_app, core, samples):
    app = everything(open_app(gpu="V100,T4", sureness="good"))
    told = column(app, "Rests on")
    assert {"verda/1V100.6V", "gcp/n1-standard-4+1xV100", "gcp/n1-standard-4+1xT4"} <= set(told)
    others = {told[name] for name in told if name != "g4dn.xlarge"}
    assert others == {told["p3.2xlarge"]}, "as the profiled instance itself"
    assert set(column(app, "How sure").values()) == {"good"}


def test_numbers_less_sure_than_asked_are_left_out(open_app):
    app = open_app(sureness="good", rows="all")
    assert set(column(app, "How sure").values()) == {"good"}
    app = open_app(sureness="good", gpu="H100")
    assert lines(app.error) == ["No number is good: the surest is rough."] or lines(app.error) == [
        "No number is good: the surest is fair."
    ]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"provider": "lambda", "gpu": "T4"}, ("No offer has all of cloud lambda", "widen ")),
        ({"region": "FIN-01", "market": "spot", "gpu": "V100"}, ("No offer has all of ", "widen ")),
        ({"min_memory_gib": "999"}, ("No offer has 999 GiB a GPU", "the largest have ")),
        ({"gpu": "K80"}, ("No longer rented out: p2.xlarge", "Switch on Retired")),
    ],
    ids=str,
)
def test_where_nothing_is_left_one_line_says_what_to_widen(open_app, query, says):
    for page in ("answer", "sizes"):
        app = open_app(page, **query)
        (line,) = lines(app.error)
        assert all(part in line for part in says) and not app.exception
    app = narrowing_opened(open_app(**query))
    app.button(key="narrowing:widen").click().run()
    assert not app.error and len(result_rows(app)) == 6, "what is widened shows at once"


@pytest.mark.parametrize("page", ["answer", "sizes"])
def test_the_switch_that_the_line_names_is_on_the_page(open_app, page):
    app = open_app(page, gpu="K80", rows="all")
    assert "Switch on Retired" in lines(app.error)[0]
    app.toggle(key="retired").set_value(True).run()
    shown = column(app, "Time" if page == "answer" else "Step")
    assert not app.error and not app.exception and "p2.xlarge" in shown


def test_a_node_is_shown_whole_with_its_share_where_a_gpu_is_rented_in_nodes_only(open_app, catalog):
    app = open_app(provider="aws", gpu="A100", answer_open="p4d.24xlarge")
    assert column(app, "GPU")["p4d.24xlarge"] == "A100 (1 of 8), AWS"
    assert column(app, "$ an hour")["p4d.24xlarge"] == "$21.96"
    assert beneath(app, "p4d.24xlarge", "$ an hour") == "$2.74 a GPU"
    assert any(line.startswith("Price: $21.957642 an hour for 8 GPUs, $2.74 each") for line in sentences(app))
    assert "p4d.24xlarge" not in column(open_app(gpu="A100", rows="all"), "Time"), "one can be had by itself"


def test_an_old_price_says_of_which_year_it_is(open_app):
    shown = column(open_app(provider="azure", gpu="T4"), "$ an hour")
    assert price_age_years("2024", date.today()) > 0
    assert shown == {"azure/Standard_NC4as_T4_v3": "$0.53 · 2024"}
    assert column(open_app(gpu="T4", provider="gcp"), "$ an hour") == {"gcp/n1-standard-4+1xT4": "$0.54"}


def test_old_links_to_nodes_and_retired_instances_still_lead_there(open_app):
    app = open_app(answer_open="p5.48xlarge")
    assert clean(lines(app.subheader)[0]).startswith("p5.48xlarge (H100, AWS): ")
    app = open_app(retired="True", answer_open="p2.xlarge")
    assert clean(lines(app.subheader)[0]).startswith("p2.xlarge (K80, AWS): ")
    app = open_app(**{"price_p4d.24xlarge": "0.5"})
    assert column(app, "$ an hour")["p4d.24xlarge own price"] == "$0.50"


@pytest.mark.parametrize(
    "query",
    [
        {"provider": "<b>"},
        {"gpu": "nothing"},
        {"gpu_count": "3"},
        {"gpu_count": "-1"},
        {"min_memory_gib": "nan"},
        {"sureness": "oracle"},
        {"rows": "1000"},
        {"region": "[a](b)"},
    ],
    ids=str,
)
def test_what_makes_no_sense_narrows_nothing(open_app, query):
    app = open_app(**query)
    assert not app.error and not app.exception and link(app) == {}
    assert len(result_rows(app)) == 6


def test_sizes_shows_what_answer_narrows_to(open_app, catalog):
    app = go(open_app(provider="gcp", gpu="V100,L4"), "sizes")
    assert set(column(app, "Step")) == {"gcp/n1-standard-4+1xV100", "gcp/g2-standard-4"}
    app = open_app("sizes")
    assert len(column(app, "Step")) == 6
    app.segmented_control(key="rows").set_value("all").run()
    assert len(column(app, "Step")) > 40 and len(chart_traces(app)) < 60
    assert dict(app.query_params) == {"rows": "all"}


def test_profiles_compares_gpus_not_offers(open_app, catalog):
    app = open_app("profiles", compare_samples=FIRST)
    table = app.dataframe[0].value
    instances = [name for name in table.columns if name in catalog]
    assert {"g3s.xlarge", "p2.xlarge", "p3.2xlarge", "g4dn.xlarge"} <= set(instances) and len(instances) < 25
    gpus = [catalog[name].gpu_model for name in instances]
    assert len(set(gpus)) == len(gpus)


def beneath(app, key: str, title: str) -> str:
    """The second line of a cell."""
    (table,) = [found for found in map(read, app.get("bidi_component")) if "rows" in found]
    place = [one["title"] for one in table["columns"]].index(title)
    (row,) = [row for row in table["rows"] if row["key"] == key]
    return row["cells"][place]["beneath"]


def read(element) -> dict:
    return json.loads(element.proto.json)


def chart_traces(app) -> list:
    (figure,) = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return figure["data"]
