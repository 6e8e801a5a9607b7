"""Own instances and prices: a visitor's stay in their session; the operator's are shown only where they say so."""

from __future__ import annotations

import subprocess

import pytest
import streamlit as st

from tests.pages.conftest import column, go, lines, open_prices, open_sections, prices
from ui.state.own_catalog import own_csv

HEADER = "instance,gpu,gpu_count,gpu_memory_gib,vcpus,usd_per_hour,region,os,market,status,as_of,source"
MINE = "my.l4,L4,,,,0.7,any,linux,on-demand,,2026-11-21,an invoice"
CHEAPER = "g4dn.xlarge,,,,,0.4,us-east-1,linux,on-demand,,2026-11-21,our contract"


@pytest.fixture
def server_file(tmp_path, monkeypatch):
    """`server_file(own, shown)`: the command line's own file, and what the app is told to show."""

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


def listed(app) -> dict[str, str]:
    """Instance -> price an hour, as the table on About has it."""
    app = open_sections(go(app, "about"), "prices")
    frame = next(table.value for table in app.table if "Price per hour" in table.value)
    return {
        name.replace("\\", ""): price.replace("\\", "").replace("\N{WORD JOINER}", "")
        for name, price in zip(frame["Instance"], frame["Price per hour"], strict=True)
    }


def give_rows(app, *rows: str, data: bytes | None = None):
    content = "\n".join([HEADER, *rows]).encode() if data is None else data
    uploader = next(item for item in prices(app).file_uploader if item.key.startswith("own-instances:file:"))
    return uploader.set_value(("mine.csv", content, "text/csv")).run()


# --- a visitor's ----------------------------------------------------------------------------------------------------


def test_a_visitor_s_rows_count_on_every_page_and_in_no_other_session(open_app):
    other, mine = open_app(preset="all"), open_prices(open_app(preset="all"))
    shipped = listed(open_app())
    give_rows(mine, MINE, MINE.replace("L4", "T4").replace("l4", "t4"), CHEAPER)
    assert not mine.error and not mine.exception
    # The box of anchors is searched by its labels.
    labels = [label for label in mine.selectbox(key="anchor").options if "my." in label]
    assert labels == ["g4dn.xlarge (Tesla T4, AWS), my.t4", "NVIDIA L4, my.l4"]
    assert listed(mine) == {**shipped, "my.l4": "$0.70", "my.t4": "$0.70", "g4dn.xlarge": "$0.40"}
    assert "my.l4" in column(go(mine, "predict"), "Instance") and not mine.error
    for session in (other.run(), open_app(), open_app(price_my_l4="3")):
        assert "my.l4" not in column(session, "Instance")
        assert listed(session) == shipped


def test_rows_are_laid_over_earlier_ones_and_removed(open_app, edit):
    app = give_rows(open_prices(open_app()), MINE)
    give_rows(app, MINE.replace("0.7", "0.5"), CHEAPER)
    assert [row.usd_per_hour for row in app.session_state["own_instances"].rows] == [0.5, 0.4]
    edit(app, "own-instances", removed=[0])
    assert [row.name for row in app.session_state["own_instances"].rows] == ["g4dn.xlarge"]
    edit(app, "own-instances", removed=[0])
    assert app.session_state["own_instances"] is None
    assert listed(app) == listed(open_app())


def test_a_bad_row_is_one_line_and_changes_nothing(open_app):
    app = give_rows(open_prices(open_app()), own_csv().splitlines()[1])
    give_rows(app, CHEAPER)
    before = app.session_state["own_instances"]
    for row, says in (
        ("my.l4,L4,,,,much,any,linux,on-demand,,2026,me", "usd_per_hour must be a number"),
        ("my.l4,Q9,,,,1,any,linux,on-demand,,2026,me", "Q9"),
        ("<b>x</b>,L4,,,,1,any,linux,on-demand,,2026,me", "letters, digits"),
        ("m,L4,,,,1,any,linux,on-demand,,2026," + "y" * 200_000, "200 kB"),
        ("\n".join(f"m{number},L4,,,,1,any,linux,on-demand,,2026,me" for number in range(201)), "200 is all"),
        (None, "UTF-8"),
    ):
        app = give_rows(app, data=b"\xff\xfe\x00instance") if row is None else give_rows(app, row)
        (line,) = lines(app.error)
        assert says in line and "\n" not in line
        assert app.session_state["own_instances"] == before and not app.exception


# --- the operator's -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown", [None, " "])
def test_the_machine_s_own_file_is_not_shown_unless_its_operator_says_so(open_app, server_file, shown):
    server_file(shown, MINE, CHEAPER)
    app = open_prices(open_app())
    assert not any("server's own list" in line for line in lines(app.caption))
    assert "my.l4" not in listed(app)


@pytest.mark.parametrize("shown", ["own", "{path}"])
def test_a_shown_list_is_said_to_be_the_server_s(open_app, server_file, shown):
    server_file(shown, MINE, CHEAPER)
    app = open_prices(open_app())
    assert "2 rows are this server's own list, which its operator shows to everyone." in lines(app.caption)
    found = listed(app)
    assert (found["my.l4"], found["g4dn.xlarge"]) == ("$0.70", "$0.40")
    assert any("2 rows are this server's own list" in line for line in lines(app.caption)), "on About too"


@pytest.mark.parametrize(("shown", "rows"), [("/nowhere/instances.csv", ()), ("{path}", ["my.l4,L4,,"])])
def test_a_missing_or_truncated_list_is_said(open_app, server_file, shown, rows):
    server_file(shown, *rows)
    app = open_prices(open_app())
    assert lines(app.warning)[:1] == [
        "This server's own list of instances or GPUs is missing or damaged: it is left out; its log says why."
    ]
    assert not app.error and "my.l4" not in listed(app)


@pytest.mark.parametrize(("address", "shown"), [("localhost", "own"), ("127.0.0.1", "own"), ("0.0.0.0", "")])
def test_make_app_shows_the_own_list_on_this_machine_alone(repository, address, shown):
    command = ["make", "--dry-run", "--always-make", "app", f"ADDRESS={address}"]
    said = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout
    assert f'PROFET_APP_INSTANCES="${{PROFET_APP_INSTANCES-{shown}}}"' in said
