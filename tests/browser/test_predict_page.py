"""Predict in a browser: link, picture, chips, sliders over a steady axis, one line of tools, the keyboard."""

from __future__ import annotations

import base64
import re
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_whole_flow import bars, open_page, press, settle

pytestmark = pytest.mark.browser

_AXES = "() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => plot._fullLayout.xaxis.range[1])"
_TOPS = """() => [...document.querySelectorAll('.stSlider, .st-key-toolbar, .js-plotly-plot')].map(
  element => element.getBoundingClientRect().top)"""
_VALUES = "() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => [...plot.data[{}].x])"
#: How many columns of pixels at the left edge of a picture have the color of its corner, of how many.
_EMPTY_COLUMNS = """async (encoded) => {
  const picture = new Image();
  picture.src = "data:image/png;base64," + encoded;
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width, picture.height];
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  const inked = (x) => {
    const { data } = pen.getImageData(x, 0, 1, canvas.height);
    return data.some((value, at) => value !== data[at % 4]);
  };
  let x = 0;
  while (x < canvas.width && !inked(x)) x++;
  return [x, canvas.width];
}"""


def test_scatter_labels_lie_apart_on_a_phone(phone, app_url):
    open_page(phone, f"{app_url}/?chart=scatter")
    expect(phone.locator(".js-plotly-plot .textpoint").first).to_be_attached()
    boxes = phone.locator(".js-plotly-plot .textpoint text").evaluate_all(
        "texts => texts.filter(one => one.textContent).map(one => one.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) > 4
    for one, other in combinations(boxes, 2):
        across = min(one["right"], other["right"]) - max(one["left"], other["left"])
        down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
        assert across <= 0 or down <= 6, (one, other)


def test_a_copied_link_opens_the_same_numbers_in_another_browser(browser, page, app_url):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=app_url)
    open_page(page, f"{app_url}/?preset=original&epochs=9")
    before = bars(page, "cost-bars")
    press(page, "Batch size", "ArrowRight", 2)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("status").filter(has_text="Link copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "batch=66" in link and "epochs=9" in link
    other = browser.new_context(viewport={"width": 1280, "height": 900})
    again = other.new_page()
    again.goto(link)
    shown = bars(again, "latency-bars"), bars(again, "cost-bars")
    other.close()
    assert shown == (bars(page, "latency-bars"), bars(page, "cost-bars")) and shown[1] != before


@pytest.mark.parametrize("width", [1440, 390])
def test_the_picture_has_both_charts_with_whole_names_below_the_title(page, app_url, width):
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, f"{app_url}/?batch=128")
    assert len(bars(page, "cost-bars")) > 9
    plots = [page.locator(f".st-key-{name} .js-plotly-plot").bounding_box() for name in ("latency-bars", "cost-bars")]
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    assert download.value.suggested_filename == "profet-predict.png"
    encoded = base64.b64encode(Path(download.value.path()).read_bytes()).decode()
    empty, columns = page.evaluate(_EMPTY_COLUMNS, encoded)
    # The title begins at the margin; a name that is cut would stand at the edge.
    assert 30 <= empty <= 40
    assert columns >= 2 * (max(box["x"] + box["width"] for box in plots) - plots[0]["x"])


def test_a_filter_is_a_chip_and_where_nothing_matches_a_button_removes_one(page, app_url):
    open_page(page, f"{app_url}/?preset=all&provider=azure&gpu=B200")
    assert page.get_by_test_id("stAlert").inner_text().endswith("No B200 at Azure.")
    expect(page.get_by_role("radio", name="Bars")).to_be_visible()
    page.get_by_role("button", name=re.compile(r"Remove B200 \(\d+ offers\)")).click()
    settle(page)
    expect(page).to_have_url(re.compile(r"provider=azure"))
    assert {name.rpartition(" · ")[2] for name, _ in bars(page, "latency-bars")} == {"Azure"}
    page.locator(".st-key-offer_filter").get_by_role("button").click()
    settle(page)
    # All but one.
    gpus = page.get_by_role("combobox", name=re.compile("^GPU"))
    gpus.press("ArrowDown")
    page.get_by_role("option", name="Select all").click()
    settle(page)
    page.get_by_role("button", name="Remove H100", exact=True).click()
    settle(page)
    for _ in ("the list", "the filter"):
        page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator(".st-key-chips").get_by_role("button", name="Azure").click()
    settle(page)
    names = [name for name, _ in bars(page, "latency-bars")]
    assert any(name.startswith("A100") for name in names) and not any(name.startswith("H100") for name in names)
    expect(page.locator(".st-key-chips").get_by_role("button")).to_have_text([re.compile("Not H100"), "Clear filters"])
    page.get_by_role("button", name="Clear filters").click()
    settle(page)
    expect(page.locator(".st-key-chips")).to_have_count(0)
    assert page.url == f"{app_url}/?preset=all"


def test_nothing_jumps_and_the_axis_stays_while_a_slider_moves(page, app_url):
    open_page(page, f"{app_url}/?preset=original")
    before, axes, places, profiled = bars(page, "cost-bars"), *map(page.evaluate, (_AXES, _TOPS, _VALUES.format(0)))
    assert press(page, "Image size (pixels)", "PageDown", 1) < 224
    assert bars(page, "cost-bars") != before
    assert page.evaluate(_AXES) == axes and page.evaluate(_TOPS) == places
    assert page.evaluate(_VALUES.format(1)) == profiled, "a mark at the value of the profiled size"


_COUNT_DRAWINGS = """() => {
  window.drawings = 0;
  new MutationObserver(() => document.querySelectorAll(".js-plotly-plot").forEach((plot) => {
    if (plot.counted || !plot.on) return;
    plot.counted = true;
    window.drawings++;
    plot.on("plotly_beforeplot", () => { window.drawings++; });
  })).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""


def test_a_move_of_a_slider_draws_each_chart_once(page, app_url):
    """With Streamlit's theme it would be three times, which is most of the wait."""
    open_page(page, app_url)
    before = bars(page, "cost-bars")
    drawn = "[...document.querySelectorAll('.js-plotly-plot')].forEach(plot => { plot.counted = true; })"
    page.evaluate(drawn)
    page.evaluate(_COUNT_DRAWINGS)
    press(page, "Batch size", "ArrowRight", 1)
    assert bars(page, "cost-bars") != before
    settle(page)
    assert page.evaluate("window.drawings") == 2


@pytest.mark.parametrize("width", [1440, 1280])
@pytest.mark.parametrize("query", ["", "?preset=original&per=step"])
def test_header_and_toolbar_are_one_line_each(page, app_url, width, query):
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, f"{app_url}/{query}")
    bars(page, "cost-bars")
    ends = page.locator(".st-key-toolbar > *").evaluate_all(
        """tools => tools.map(tool => {
            const boxes = [...tool.querySelectorAll('button, [role=group]')].map(one => one.getBoundingClientRect());
            return [Math.min(...boxes.map(box => box.top)), Math.max(...boxes.map(box => box.bottom))];
        })"""
    )
    assert len(ends) >= 5 and all(max(edge) - min(edge) <= 2 for edge in zip(*ends, strict=True)), ends
    heading = page.get_by_role("heading", level=1).bounding_box()
    button = page.get_by_role("button", name="Copy link").bounding_box()
    assert abs(heading["y"] + heading["height"] / 2 - button["y"] - button["height"] / 2) <= 4


def test_a_bar_is_opened_by_keyboard(page, app_url):
    open_page(page, f"{app_url}/?preset=original")
    details = page.get_by_role("combobox", name="Details of an instance")
    for _ in range(2):
        details.focus()
        page.keyboard.type("V100")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("p3.2xlarge")
        settle(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        settle(page)


def test_use_my_own_profile_opens_the_upload_on_a_phone_too(phone: Page, app_url):
    open_page(phone, app_url)
    phone.get_by_role("button", name="Use my own profile").click()
    settle(phone)
    expect(phone.get_by_test_id("stFileUploader").first).to_be_in_viewport()


def test_the_wait_for_four_vcpus_is_drawn_as_a_hatched_part_of_the_bars(page, app_url):
    open_page(page, f"{app_url}/?loading=vcpus&vcpu_rate=30&preset=aws")
    assert len(bars(page, "latency-bars")) == len(bars(page, "cost-bars"))
    for chart in ("latency-bars", "cost-bars"):
        drawn = page.locator(f".st-key-{chart} .bars .point path")
        fills = drawn.evaluate_all("paths => paths.map(path => getComputedStyle(path).fill)")
        hatched = [fill for fill in fills if fill.startswith("url(")]
        # A10G, L4 and L40S have four vCPUs there.
        assert 3 <= len(hatched) < len(fills) - len(hatched)
    expect(page.get_by_text("▨ waits for data")).to_be_visible()
    press(page, "Batch size", "ArrowRight", 2)
    assert any(
        fill.startswith("url(") for fill in drawn.evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
    )
