"""A page is one step of the browser's history, however often its settings change."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_whole_flow import LOADED_MS, follow, open_page, settle

pytestmark = pytest.mark.browser


def test_one_step_back_leaves_a_page_whose_slider_was_moved(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/about")
    follow(page, "Sizes")
    slider = page.get_by_role("slider", name="Batch size")
    expect(slider).to_have_value("64", timeout=3 * LOADED_MS)
    slider.focus()
    steps = page.evaluate("history.length")
    for size in range(65, 70):
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"**/sizes?*batch={size}*")
    assert page.evaluate("history.length") == steps
    page.reload()
    settle(page)
    expect(slider).to_have_value("69")
    page.go_back()
    settle(page)
    expect(page.get_by_role("link", name="About")).to_have_attribute("aria-current", "page")
    assert page.url == f"{app_url}/about"
    page.go_forward()
    settle(page)
    expect(slider).to_have_value("69")
