"""What the app makes itself, in a browser: the result table and the report on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from benchmarks.served_app import served
from profet_core.answers.report import ReportSource, report_html
from profet_core.catalog.collection import offers_in_market
from profet_core.training.advise import advise
from tests.made.step_times import HOUR_AT_100_MS, row, steps_of

pytestmark = pytest.mark.browser

APP = """
from starlette.middleware import Middleware
from streamlit import App
from profet_http.app import SecurityHeaders
from ui.server import content_policy

app = App("page.py", middleware=[Middleware(SecurityHeaders, policy=content_policy())])
"""
PAGE = """
import streamlit as st
from ui.tables import TableCell, Column
from ui.tables import result_table
from ui.session import session

rows = [("g5.xlarge", "A10G", 612.0, 0.17), ("<i>own</i>", "L4", 90.0, None), ("p4d.24xlarge", "A100", 210.0, 1.63)]

opened = result_table(
    rows,
    (
        Column("plan", "Instance", "0", lambda row: TableCell(*row[:2]), read=""),
        Column("total_s", "Time", "2", "{:.0f} s".format),
        Column("range", "Range", "2", lambda _: "1-2 s", narrow_under="total_s"),
        Column("usd", "Cost", "3", "${}".format),
        Column("sure", "How sure", lambda row: 2, lambda _: TableCell("fair", mark="●●○")),
    ),
    label="0",
    choices=session.predict_table,
    stem="made",
    title="Made plans",
)
st.title("Made")
st.text(f"open: {opened}")
"""


@pytest.fixture(scope="module")
def made_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("made")
    (folder / "app.py").write_text(APP)
    (folder / "page.py").write_text(PAGE)
    with served(folder / "app.py") as url:
        yield url


def names(page: Page) -> list[str]:
    return [text.split("\n")[0] for text in page.locator("tbody th").all_inner_texts()]


def expect_order(page: Page, *expected: str) -> None:
    for place, name in enumerate(expected):
        expect(page.locator("tbody th").nth(place)).to_contain_text(name)
    assert names(page) == list(expected)


def test_a_table_is_sorted_and_a_row_opened_by_keyboard(page, made_url):
    refused = []
    page.on("console", lambda message: refused.append(message.text) if "Content Security" in message.text else None)
    page.goto(made_url)
    table = page.get_by_role("table", name="Made plans")
    expect(table.get_by_role("rowheader")).to_have_count(3)
    expect_order(page, "g5.xlarge", "<i>own</i>", "p4d.24xlarge")

    page.get_by_role("button", name="Cost").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="Cost")).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="Cost")).to_have_attribute("aria-sort", "descending")
    expect_order(page, "p4d.24xlarge", "g5.xlarge", "<i>own</i>")

    page.get_by_role("button", name="<i>own</i>").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("open: <i>own</i>")).to_be_visible()
    opened = page.get_by_role("button", name="<i>own</i>")
    expect(opened).to_have_attribute("aria-expanded", "true")
    expect(opened).to_be_focused()
    assert refused == []


def test_a_phone_has_name_time_and_cost_without_scrolling_sideways(phone, made_url):
    phone.goto(made_url)
    box = phone.locator(".profet-table")
    expect(box.get_by_role("cell", name="$1.63")).to_be_visible()
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    for name in ("$1.63", "210 s"):
        seen = box.get_by_role("cell", name=name).bounding_box()
        assert seen["x"] + seen["width"] <= 390
    # Its range stands beneath the time.
    expect(box.get_by_role("columnheader", name="Range")).to_be_hidden()
    expect(box.get_by_role("cell", name="210 s")).to_contain_text("1-2 s")


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_report_prints_on_one_page(page, catalog, tmp_path, paper):
    offers = [*offers_in_market(catalog, spot_discount=0.6, market="any")][:13]
    steps = steps_of([row(name, 100.0 + len(name)) for name in dict.fromkeys(offer.name for offer in offers)])
    advice = advise(steps, offers, HOUR_AT_100_MS)
    source = ReportSource("net.json", ("recorded on g4dn.xlarge",), "90b27c62ea5e", "2026-11-21", ("One warning.",))
    (tmp_path / "report.html").write_text(report_html(advice, source))
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.get_by_role("row")).to_have_count(1 + len(advice.plans))
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper, prefer_css_page_size=True))) == 1
