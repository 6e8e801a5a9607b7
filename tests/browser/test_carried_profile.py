"""A profile that its visitor keeps in the address survives a reload, and opens in another browser by the link."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_own_profiles import VGG, give_files, payload
from tests.browser.test_whole_flow import column, open_page, open_sidebar, settle

pytestmark = pytest.mark.browser


def test_reload_and_link(page: Page, phone: Page, app_url, samples):
    open_page(page, f"{app_url}/?source=upload&chart=table")
    give_files(page, payload("mine.json", samples[VGG].data))
    expect(page.get_by_text("Shown: your upload mine.json")).to_be_visible()
    settle(page)
    before = column(page, "Time")
    page.get_by_text("Keep this profile in the page's address").click()
    settle(page)
    page.wait_for_url("**profile=**")
    assert len(page.url) < 1_400
    for opened in (page, phone):
        open_page(opened, page.url)
        open_sidebar(opened)
        expect(opened.get_by_text("Shown: the profile from the link")).to_be_visible()
        assert column(opened, "Time") == before
