"""Which offers count, as a visitor filters them; a visitor's own prices, instances and GPUs, and the operator's."""

from __future__ import annotations

import subprocess

import pytest
import streamlit as st

from profet_core.catalog.custom_gpus import custom_gpu_from
from profet_profiles.units import format_ms
from tests.pages.conftest import (
    as_version_2,
    column,
    custom_gpu,
    drawn_bars,
    go,
    lines,
    link,
    open_prices,
    open_section,
    price,
    prices,
    remove_gpu,
    result_rows,
    type_in,
    upload,
)
from tests.pages.expected import FIRST, Core

#: As a plan is called whose market is not on-demand.
MINE = "rtx-4080 own"
CARD = {
    "gpu": "RTX 4080",
    "like": "L40S",
    "fp32_tflops": 48.7,
    "tf32_tensor_dense_tflops": 97.5,
    "memory_gib": 16,
    "bandwidth_gb_per_s": 717,
}
FAST = {**CARD, "images_per_s": 480, "network": "ResNet50", "batch_size": 128, "precision": "tf32"}


def steps(app) -> dict[str, str]:
    app.segmented_control(key="per").set_value("step").run()
    return column(app, "Time")


OWN = "custom_instances"
ROW = {"instance": "my.l40s", "gpu": "L40S", "usd_per_hour": 0.95}
CHEAPER = {"instance": "g4dn.xlarge", "usd_per_hour": 0.4, "as_of": "2026-11-21", "source": "our contract"}


def custom(app) -> list[tuple]:
    rows = dict(app.session_state.items()).get(OWN, ())
    return [(row.name, row.gpu, row.gpu_count, row.usd_per_hour, row.market) for row in rows]


def test_an_instance_is_added_with_its_gpu_s_memory_and_the_date_of_its_price(open_app, edit):
    more = {"gpu_count": 2, "market": "spot", "region": "eu-central-1", "as_of": "2024-05-06"}
    app = edit(open_app(), "custom-instances", ROW | more)
    assert not app.error and not app.exception
    (row,) = app.session_state[OWN]
    assert (row.name, row.gpu, row.gpu_count, row.gpu_memory_gib) == ("my.l40s", "L40S", 2, 48.0)
    assert (row.usd_per_hour, row.market, row.region, row.as_of) == (0.95, "spot", "eu-central-1", "2024-05-06")
    assert row.custom and row.status == "available"


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
    app = edit(
        open_app(), "custom-instances", ROW | wrong, {**ROW, "instance": "other"}, {"instance": "a b", "gpu": "L4"}
    )
    first, second = lines(app.error)
    assert says in first and "a b" in second and not app.exception and custom(app) == []


def test_a_custom_price_replaces_the_list_price_goes_into_the_link_and_can_be_taken_back(open_app, edit):
    app = price(open_app(preset="original"), edit, "p3.2xlarge", 1.5)
    assert app.query_params["price_p3.2xlarge"] == "1.5" and not app.error
    assert column(app, "$/h")["p3.2xlarge your price"] == "$1.50"
    price(app, edit, "p3.2xlarge", 0)
    assert len(lines(app.error)) == 1 and app.session_state["price"] == {"p3.2xlarge": 1.5}
    price(app, edit, "g4dn.xlarge", 0.2)
    assert app.session_state["price"] == {"p3.2xlarge": 1.5, "g4dn.xlarge": 0.2}
    price(app, edit, "p3.2xlarge", None)
    assert app.session_state["price"] == {"g4dn.xlarge": 0.2}
    open_prices(app)
    prices(app)
    next(button for button in app.button if button.label == "Reset all").click().run()
    assert app.session_state["price"] == {}
    assert column(app, "$/h")["p3.2xlarge"] == "$3.06 · Dec 2025" and "price_p3.2xlarge" not in app.query_params


def test_a_gpu_and_its_throughput_are_a_row_of_the_answer_at_once(open_app, core, samples, edit):
    other, app = open_app(), open_app()
    before = column(app, "Instance")
    custom_gpu(app, FAST | {"usd_per_hour": 0.2})
    assert not app.error and not app.exception
    cells = {column: str(value) for column, value in FAST.items()}
    known = core.context.with_custom_gpus([custom_gpu_from(cells, core.context.gpus)])
    expected = Core(known.models, known.catalog).predict(samples[FIRST]).latencies_ms
    assert steps(app)[MINE] == format_ms(expected["rtx-4080"])
    assert column(app, "$/h")[MINE] == "$0.200"
    assert MINE in column(app, "Instance") and MINE not in before
    app.segmented_control(key="chart").set_value("bars").run()
    assert any("rtx-4080" in row["key"] for row in drawn_bars(app)["cost-bars"])
    assert not any("rtx" in name or "rtx" in value.lower() for name, value in link(app).items()), "not in the link"
    for session in (other.run(), open_app()):
        assert MINE not in column(session, "Instance")


def test_this_profile_s_step_comes_back_in_the_answer_and_stays_known(open_app, edit):
    app = custom_gpu(open_app(), CARD | {"step_ms": 55, "tdp_w": 320})
    assert not app.error and not app.exception
    assert steps(app)[MINE] == "55.0 ms"
    assert column(app, "$/h")[MINE] == "$0.0640", "its electricity"
    custom_gpu(app, {"usd_per_hour": 2}, "RTX 4080")
    assert (steps(app)[MINE], column(app, "$/h")[MINE]) == ("55.0 ms", "$2.00")
    assert app.session_state["custom_gpus"][0].source == "a step of 55.0 ms that you measured"
    go(app, "sizes")
    assert not app.error and not app.exception


def test_it_is_changed_removed_and_had_as_instances_of_other_prices(open_app, edit):
    app = custom_gpu(open_app(), FAST)
    slow = steps(app)[MINE]
    custom_gpu(app, {"images_per_s": 900}, "RTX 4080")
    assert float(column(app, "Time")[MINE].split()[0]) < float(slow.split()[0])
    assert [row.name for row in app.session_state["custom_gpus"]] == ["RTX 4080"]
    edit(app, "custom-instances", {"instance": "desk.x2", "gpu": "RTX 4080", "usd_per_hour": 0.5})
    assert column(app, "Time")["desk.x2"] == column(app, "Time")[MINE] and not app.error
    remove_gpu(app, "RTX 4080")
    assert not app.exception and app.session_state["custom_gpus"] == ()
    assert not {MINE, "desk.x2"} & set(column(app, "Instance")), "a GPU nobody knows has a price only"
    app.segmented_control(key="chart").set_value("bars").run()
    assert any("desk.x2" in row["key"] for row in drawn_bars(app)["cost-bars"]), "and a row that says so"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"gpu": None, "like": "L4"}, "name"),
        ({"gpu": "T4"}, "Tesla T4"),
        ({"like": None}, "similar"),
        ({"step_ms": 0.1}, "launch overhead"),
        ({"step_ms": 50, **FAST}, "not both"),
        ({"gpu": "g5.xlarge"}, "g5.xlarge"),
    ],
)
def test_what_can_t_be_is_one_line_and_changes_nothing(open_app, edit, wrong, says):
    app = custom_gpu(open_app(), CARD | wrong)
    (line,) = lines(app.error)
    assert says in line and not app.exception and "custom_gpus" not in app.session_state


def test_a_gpu_of_ones_own_can_be_the_anchor_until_it_is_removed(open_app, samples, edit):
    name = "NVIDIA GeForce RTX 3080 Laptop GPU"
    operations = dict(samples[FIRST].profile.operations)
    data = ("net.json", as_version_2(operations, gpu=name, batch_size=64, pixels=128))
    app = upload(open_app(), data)
    (line,) = lines(app.error)
    assert "laptop GPU" in line and "custom GPU" in line
    custom_gpu(app, FAST | {"gpu": name})
    app.selectbox(key="anchor").set_value(name).run()
    assert not app.error and not app.exception
    labels = [label for label in app.selectbox(key="anchor").options if name in label]
    assert labels == [f"{name}, nvidia-geforce-rtx-3080-laptop-gpu"], "as it is called, and its instance"
    remove_gpu(app, name)
    assert app.selectbox(key="anchor").value is None and not app.exception
    assert "a laptop GPU" in lines(app.error)[0]


@pytest.fixture
def server_file(tmp_path, monkeypatch):
    """`server_file(own, shown)`: the command line's own file, and what the app shows."""

    def serve(shown: str | None, *rows: str) -> None:
        path = tmp_path / "instances.csv"
        if rows:
            path.write_text("\n".join([HEADER, *rows]))
        monkeypatch.setenv("PROFET_INSTANCES", str(path))
        if shown is None:
            monkeypatch.delenv("PROFET_APP_INSTANCES", raising=False)
        else:
            monkeypatch.setenv("PROFET_APP_INSTANCES", shown.format(path=path))
        st.cache_resource.clear()

    yield serve
    st.cache_resource.clear()


def test_a_link_names_the_fetched_price_list_and_another_server_says_that_it_has_another(open_app, server_file):
    server_file("{path}", "g5.xlarge,,,,,1.11,us-east-1,linux,on-demand,,2026-08-18,gpuhunt aws 20260818-42")
    app = open_app()
    assert app.query_params["prices"] == "gpuhunt 20260818-42" and not app.info
    assert not open_app(**dict(app.query_params)).info
    server_file("", "")
    other = open_app(**dict(app.query_params))
    assert "gpuhunt 20260818" in other.info[0].value and "prices" not in other.query_params


def listed(app) -> dict[str, str]:
    """Instance -> price an hour, as the table that About leads to has it."""
    open_section(go(app, "about"), "prices")
    next(button for button in app.button if "offers and prices" in button.label).click().run()
    return column(app, "$/h")


def test_a_visitor_s_rows_count_on_every_page_and_in_no_other_session(open_app, edit):
    other, mine = open_app(preset="all"), open_app(preset="all")
    shipped = listed(open_app())
    rows = [{"instance": f"my.{gpu[-2:].lower()}", "gpu": gpu, "usd_per_hour": 0.7} for gpu in ("L4", "Tesla T4")]
    edit(mine, "custom-instances", *rows, CHEAPER)
    assert not mine.error and not mine.exception
    # The box of anchors is searched by its labels.
    labels = [label for label in mine.selectbox(key="anchor").options if "my." in label]
    assert labels == ["T4 (g4dn.xlarge), my.t4", "NVIDIA L4, my.l4"]
    assert listed(mine) == {**shipped, "my.l4": "$0.700", "my.t4": "$0.700", "g4dn.xlarge": "$0.400"}
    assert "my.l4" in column(go(mine, "predict"), "Instance") and not mine.error
    assert "custom" in mine.query_params
    for session in (other.run(), open_app(), open_app(price_my_l4="3"), open_app(custom="True")):
        assert "my.l4" not in column(session, "Instance")
        assert listed(session) == shipped
    edit(mine, "custom-instances", removed=[0, 1])
    edit(mine, "custom-instances", changed={0: {"usd_per_hour": 0.3}})
    assert len(session.info) == 1 and "custom" not in session.query_params
    assert [row[3] for row in custom(mine)] == [0.3]
    edit(mine, "custom-instances", removed=[0])
    assert mine.session_state[OWN] == () and listed(mine) == shipped


def test_a_visitor_has_two_hundred_rows_at_most_and_no_gpu_s_instance_twice(open_app, edit):
    app = custom_gpu(open_app(), FAST)
    edit(app, "custom-instances", {"instance": "RTX-4080", "gpu": "L4", "usd_per_hour": 1})
    assert lines(app.error) == ["RTX-4080 is the instance of a custom GPU: give this row another name."]
    edit(app, "custom-instances", *({**ROW, "instance": f"m{number}"} for number in range(201)))
    (line,) = lines(app.error)
    assert "at most 200" in line and custom(app) == [] and not app.exception


HEADER = "instance,gpu,gpu_count,gpu_memory_gib,vcpus,usd_per_hour,region,os,market,status,as_of,source"
SERVERS = (
    "my.l4,L4,,,,0.7,any,linux,on-demand,,2026-11-21,an invoice",
    "g4dn.xlarge,,,,,0.4,us-east-1,linux,on-demand,,2026-11-21,our contract",
)


@pytest.mark.parametrize("shown", [None, " "])
def test_the_machine_s_own_file_is_not_shown_unless_its_operator_says_so(open_app, server_file, shown):
    server_file(shown, *SERVERS)
    app = open_prices(open_app())
    assert not any("server's own list" in line for line in lines(app.caption))
    assert "my.l4" not in listed(app)


@pytest.mark.parametrize("shown", ["own", "{path}"])
def test_a_shown_list_is_said_to_be_the_server_s(open_app, server_file, shown):
    server_file(shown, *SERVERS)
    app = open_prices(open_app())
    caption = "2 rows come from this server's own list, which everyone sees."
    assert caption in lines(app.caption)
    assert any(
        "2 rows come from this server's own list" in line
        for line in lines(open_section(go(app, "about"), "prices").caption)
    ), "on About too"
    prices = listed(app)
    assert (prices["my.l4"], prices["g4dn.xlarge"]) == ("$0.700", "$0.400")


@pytest.mark.parametrize(("shown", "rows"), [("/nowhere/instances.csv", ()), ("{path}", ["my.l4,L4,,"])])
def test_a_missing_or_truncated_list_is_said(open_app, server_file, shown, rows):
    server_file(shown, *rows)
    app = open_prices(open_app())
    assert lines(app.warning)[:1] == [
        "This server's list of custom instances or GPUs is missing or damaged and was skipped: see its log."
    ]
    assert not app.error and "my.l4" not in listed(app)


@pytest.mark.parametrize(("address", "shown"), [("localhost", "own"), ("127.0.0.1", "own"), ("0.0.0.0", "")])
def test_make_app_shows_the_own_list_on_this_machine_alone(repository, address, shown):
    command = ["make", "--dry-run", "--always-make", "app", f"ADDRESS={address}"]
    help_text = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout
    assert f'PROFET_APP_INSTANCES="${{PROFET_APP_INSTANCES-{shown}}}"' in help_text


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
    assert result_rows(app) == every and not [button for button in app.button if f"{button.key}".startswith("chip:")]
    app.multiselect(key="provider").unselect("verda").run()
    assert [button.label for button in app.button if button.key == "chip:provider"] == ["Not Verda"]
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
    app.toggle(key="include_retired").set_value(True).run()
    assert not app.error and not app.exception and not app.info
    app.segmented_control(key="chart").set_value("table").run()
    assert "p2.xlarge" in column(app, "Time")
