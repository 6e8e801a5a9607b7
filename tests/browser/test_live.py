"""A chart follows its slider in the browser, while it is dragged too; the read-off follows from the server."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_whole_flow import LOADED_MS, column, open_page, settle

pytestmark = pytest.mark.browser

#: Dots on curves, and where a chart of so many milliseconds has them: top to bottom in the window.
_DOTS = """chart => [...chart.querySelectorAll('.live-cursor circle')].map(dot => {
  const {yaxis} = chart._fullLayout;
  return yaxis.p2d(+dot.getAttribute('cy') - yaxis._offset);
})"""


def read_off(page: Page, batch_size: int) -> Locator:
    """What says that the table is of that batch size."""
    return page.get_by_role("radio", name=f"Batch {batch_size}", exact=True)


def shown_ms(page: Page) -> list[float]:
    cells = column(page, "Step").values()
    return sorted(float(cell.removesuffix(" ms").replace(",", "")) for cell in cells)


def test_the_cursor_and_the_read_off_follow_a_key(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/sizes?batch=100")
    chart, cursor = page.locator(".js-plotly-plot").first, page.locator(".live-cursor")
    expect(cursor).to_have_attribute("data-at", "100", timeout=3 * LOADED_MS)
    layers = chart.locator(".main-svg").first.element_handle()
    page.get_by_role("slider", name="Batch size").focus()
    page.keyboard.press("ArrowRight")
    expect(cursor).to_have_attribute("data-at", "101")
    page.wait_for_url("**/sizes?batch=101")
    expect(read_off(page, 101)).to_be_visible()
    assert sorted(chart.evaluate(_DOTS)) == pytest.approx(shown_ms(page), rel=0.01)
    assert layers.evaluate("layer => layer.isConnected"), "the chart was drawn anew"


def test_the_cursor_follows_while_the_slider_is_dragged(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/sizes?batch=100")
    slider, cursor = page.get_by_role("slider", name="Batch size"), page.locator(".live-cursor")
    slider.scroll_into_view_if_needed()
    expect(cursor).to_have_attribute("data-at", "100", timeout=3 * LOADED_MS)
    box = page.get_by_test_id("stSliderThumbValue").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] + 12
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(x + 30 * step, y)
        at = slider.input_value()
        expect(cursor).to_have_attribute("data-at", at)
    assert int(at) > 110
    expect(read_off(page, 100)).to_be_visible()
    page.mouse.up()
    expect(read_off(page, int(at))).to_be_visible()


def test_another_axis_has_its_own_cursor_and_read_off(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/sizes?batch=100")
    expect(page.locator(".live-cursor")).to_have_attribute("data-at", "100", timeout=3 * LOADED_MS)
    page.get_by_role("slider", name="Batch size").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/sizes?batch=101")
    page.get_by_role("radio", name="Pixel size").click()
    settle(page)
    expect(page.locator(".live-cursor")).to_have_attribute("data-at", page.get_by_role("slider").input_value())
    assert column(page, "Step")
