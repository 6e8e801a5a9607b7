"""A first visit, turning pages, and one step back, in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import paths
from tests.browser.conftest import served
from tests.browser.test_whole_flow import LOADED_MS, follow, open_page, press, settle

pytestmark = pytest.mark.browser

PREDICT = re.compile("^PROFET.Which cloud GPU should I train my vision network on")
SIZES = "Latency and cost by size"


@pytest.mark.parametrize(("link", "heading"), [("", PREDICT), ("sizes?epochs=3", SIZES)])
def test_the_first_link_opens_its_page(page, repository, link, heading):
    with served(repository / "streamlit_app.py") as url:
        open_page(page, f"{url}/{link}")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        expect(page.get_by_text("Page not found")).to_have_count(0)
        assert page.url == f"{url}/{link}"


def test_every_page_is_in_the_navigation(browser, app_url, page: Page):
    pages = ["", "scaler", "sizes", "compare", "scale_out", "many_core", "accuracy", "about"]
    assert paths(browser, app_url) == pages
    open_page(page, f"{app_url}/accuracy")
    follow(page, "About")
    expect(page.get_by_role("heading", level=1)).to_have_text("About")


def test_back_undoes_a_settled_move_of_a_slider_then_leaves_the_page_and_forward_redoes(
    page: Page, app_url: str
) -> None:
    open_page(page, f"{app_url}/about")
    follow(page, "Sizes")
    slider = page.get_by_role("slider", name="Batch size")
    expect(slider).to_have_attribute("aria-valuetext", "64", timeout=LOADED_MS)
    steps = page.evaluate("history.length")
    assert press(page, "Batch size", "ArrowRight", 1) == 65
    page.wait_for_timeout(1_100)
    assert press(page, "Batch size", "PageUp", 1) > 65
    moved = slider.get_attribute("aria-valuetext")
    assert page.evaluate("history.length") == steps + 2
    for size in ("65", "64"):
        page.go_back()
        settle(page)
        expect(slider).to_have_attribute("aria-valuetext", size)
    page.go_back()
    settle(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("About")
    for size in ("64", "65", moved):
        page.go_forward()
        settle(page)
        expect(slider).to_have_attribute("aria-valuetext", size)


def test_a_link_within_the_app_opens_what_it_names_and_back_leaves_it(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/?sample=lenet5-32px-b16-g3s")
    page.get_by_role("link", name="Look inside the profile").click()
    expect(page.get_by_text("This step leaves the GPU idle")).to_be_visible()
    settle(page)
    page.go_back()
    expect(page.get_by_role("link", name="Look inside the profile")).to_be_visible()
