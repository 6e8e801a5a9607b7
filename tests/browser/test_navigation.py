"""The navigation's links in their order."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import paths
from tests.browser.test_whole_flow import follow, open_page

pytestmark = pytest.mark.browser


def test_every_page_is_in_the_navigation(browser, app_url, page: Page):
    pages = ["", "sizes", "compare", "scale_out", "estimate", "many_core", "accuracy", "about"]
    assert paths(browser, app_url) == pages
    open_page(page, f"{app_url}/accuracy?part=manycore")
    follow(page, "Many-core CPUs")
    expect(page.get_by_role("heading", level=1)).to_have_text("Many-core CPUs")
