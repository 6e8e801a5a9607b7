"""The navigation's links in their order, and links into About, which scroll to their section."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import paths
from tests.browser.test_whole_flow import follow, open_page, settle

pytestmark = pytest.mark.browser


def test_every_page_is_in_the_navigation(browser, app_url, page: Page):
    pages = ["", "sizes", "compare", "scale_out", "estimate", "many_core", "accuracy", "about"]
    assert paths(browser, app_url) == pages
    open_page(page, f"{app_url}/accuracy?part=manycore")
    follow(page, "Many-core CPUs")
    expect(page.get_by_role("heading", level=1)).to_have_text("Many-core CPUs")


def test_a_link_into_about_scrolls_to_its_section(page: Page, app_url: str):
    page.set_viewport_size({"width": 1280, "height": 400})
    open_page(page, f"{app_url}/about?open=record,credits")
    settle(page)
    expect(page.get_by_text("Record a profile")).to_be_in_viewport()
    open_page(page, f"{app_url}/about?open=credits")
    expect(page.get_by_text("Credits and license")).to_be_in_viewport()
    expect(page.get_by_role("heading", level=1)).not_to_be_in_viewport()
