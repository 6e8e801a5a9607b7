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
    expect(slider).to_have_attribute("aria-valuetext", "64", timeout=LOADED_MS)
    slider.focus()
    steps = page.evaluate("history.length")
    for size in (80, 96, 112, 128):
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"**/sizes?*batch={size}*")
    assert page.evaluate("history.length") == steps
    page.reload()
    settle(page)
    expect(slider).to_have_attribute("aria-valuetext", "128")
    page.go_back()
    settle(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("About")
    assert page.url == f"{app_url}/about"
    page.go_forward()
    settle(page)
    expect(slider).to_have_attribute("aria-valuetext", "128")


def test_a_link_within_the_app_opens_what_it_names_and_back_leaves_it(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/?sample=lenet5-32px-b16-g3s")
    page.get_by_role("link", name="What is in it?").click()
    expect(page.get_by_text("This step leaves the GPU idle")).to_be_visible()
    settle(page)
    page.go_back()
    expect(page.get_by_role("link", name="What is in it?")).to_be_visible()
