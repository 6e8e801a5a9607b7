"""Predict in a browser: link, picture, chips, sliders over a steady axis, one line of tools, the keyboard."""

from __future__ import annotations

import base64
import csv
import re
from itertools import combinations
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_whole_flow import bars, clean, open_page, press, settle, type_number

pytestmark = pytest.mark.browser

_AXES = (
    "() => [...document.querySelectorAll('.profet-bars .tick')].map(tick => [tick.getAttribute('x'), tick.textContent])"
)
_TOPS = """() => [...document.querySelectorAll('.stSlider, .st-key-toolbar, .profet-bars')].map(
  element => element.getBoundingClientRect().top)"""
_PLACES = "at => [...document.querySelectorAll('.profet-bars ' + at)].map(part => part.getBoundingClientRect().right)"
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
    assert "at_batch=66" in link and "epochs=9" in link
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
    drawn = page.locator(".profet-bars").bounding_box()
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    assert download.value.suggested_filename == "profet-predict.png"
    encoded = base64.b64encode(Path(download.value.path()).read_bytes()).decode()
    empty, columns = page.evaluate(_EMPTY_COLUMNS, encoded)
    # The title begins at the margin; a name that is cut would stand at the edge.
    assert 30 <= empty <= 40
    assert columns >= 2 * drawn["width"]


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
    before, axes, places = bars(page, "cost-bars"), *map(page.evaluate, (_AXES, _TOPS))
    profiled = page.evaluate(_PLACES, ".bar")
    assert press(page, "Image size", "PageDown", 1) < 224
    assert bars(page, "cost-bars") != before
    assert page.evaluate(_AXES) == axes and page.evaluate(_TOPS) == places
    marks = page.evaluate(_PLACES, ".usual")
    assert sorted(marks) == pytest.approx(sorted(profiled), abs=1), "a mark at the value of the profiled size"


@pytest.mark.parametrize("width", [1440, 1280])
@pytest.mark.parametrize("query", ["", "?preset=original&per=step"])
def test_header_and_toolbar_are_one_line_each(page, app_url, width, query):
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, f"{app_url}/{query}")
    expect(page.locator("[data-testid=stMain] [data-testid=stSkeleton]")).to_have_count(0)
    ends = page.locator(".st-key-toolbar > *").evaluate_all(
        """tools => tools.map(tool => {
            const every = [...tool.querySelectorAll('button, [role=group]')].map(one => one.getBoundingClientRect());
            const boxes = every.filter(box => box.height);
            return [Math.min(...boxes.map(box => box.top)), Math.max(...boxes.map(box => box.bottom))];
        })"""
    )
    assert len(ends) >= 5 and all(max(edge) - min(edge) <= 2 for edge in zip(*ends, strict=True)), ends
    heading = page.get_by_role("heading", level=1).bounding_box()
    button = page.get_by_role("button", name="Copy link").bounding_box()
    assert abs(heading["y"] + heading["height"] / 2 - button["y"] - button["height"] / 2) <= 4


def test_the_recommended_rows_are_tagged_on_top_of_ten_and_all_are_shown_on_demand(page, app_url):
    open_page(page, app_url)
    rows, tags = page.locator(".profet-bars .row"), page.locator(".profet-bars .row .tag")
    expect(rows.first).to_be_attached()
    assert sorted(tags.all_text_contents()) == ["Best trade-off", "Cheapest", "Fastest"]
    named = [text.split(": ")[1].split("\n")[0].partition(" $")[0] for text in cards(page)]
    assert rows.locator(".tag").count() == 3 and 10 <= rows.count() <= 11, "the anchor stays in sight"
    first = [clean(name) for name in rows.locator(".name").all_text_contents()[:3]]
    assert all(any(text.startswith(name) for text in named) for name in first)
    shown = bars(page, "cost-bars")
    assert len(shown) > 20 and page.get_by_role("button", name="Show 11").is_visible()
    usd = [amount(text) for _, text in shown if text.startswith("$")]
    assert usd[3:] == sorted(usd[3:]) and usd[:3] == sorted(usd[:3]), "below the recommended ones by cost"
    assert page.get_by_text("On unseen networks, predictions for GPUs like").is_visible()


def open_details(page: Page, typed: str) -> None:
    bars(page, "cost-bars")
    page.locator(".profet-bars .row", has_text=typed).first.focus()
    page.keyboard.press("Enter")


def test_a_bar_is_opened_by_keyboard(page, app_url):
    open_page(page, f"{app_url}/?preset=original")
    for _ in range(2):
        open_details(page, "V100")
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
        drawn, waits = (page.locator(f"[data-chart={chart}] {part}") for part in (".bar", ".waits"))
        # A10G, L4 and L40S have four vCPUs there.
        assert 3 <= waits.count() < drawn.count()
    expect(page.get_by_text("▨ waits for data")).to_be_visible()
    press(page, "Batch size", "ArrowRight", 2)
    assert waits.count()


def cards(page: Page) -> list[str]:
    """The text of each recommendation's card."""
    columns = page.locator("[data-testid=stMain] [data-testid=stColumn]").filter(
        has_text=re.compile(r"^(Cheapest|Fastest|Best|The only)")
    )
    expect(columns.first).to_be_visible()
    return [re.sub(r"\s", " ", text) for text in columns.all_inner_texts()]


def amount(text: str) -> float:
    return float(re.search(r"[\d,.]*\d", text)[0].replace(",", ""))


def hatched(page: Page, chart: str) -> list[str]:
    """Names of the rows whose bar is hatched."""
    bars(page, chart)
    rows = page.locator(".profet-bars .row", has=page.locator(f"[data-chart={chart}] .doubtful"))
    return [clean(name) for name in rows.locator(".name").all_text_contents()]


def click(page: Page, name: str, role: Literal["radio", "button"] = "radio") -> None:
    page.get_by_role(role, name=name, exact=True).click()
    settle(page)


def test_a_tied_offer_is_as_cheap_or_as_fast_only_within_five_percent_and_has_both_numbers(page, app_url):
    open_page(page, f"{app_url}/?preset=aws")
    seen = set()
    for step in ("deadline", "one per GPU", "AWS"):
        if step == "deadline":
            page.get_by_text("More options").click()
            settle(page)
            type_number(page, "Deadline (h)", "100")
        else:
            click(page, "One per GPU" if step == "one per GPU" else "AWS")
        hours, usd = dict(bars(page, "latency-bars")), dict(bars(page, "cost-bars"))
        for text in cards(page):
            tie = re.search(
                r"((?:Perhaps as|As) (fast|cheap)(?: \(\D*(\d+)% likely\))?): (.+? · \w+), ([\d.]+ h), (\$[\d,.]+)",
                text,
            )
            if tie is None:
                continue
            words, what, chance, name, time, cost = tie.groups()
            assert (hours[name], usd[name]) == (time, cost)
            card_usd, card_h = (amount(re.search(one, text)[0]) for one in (r"\$[\d,.]+", r"[\d.]+ h"))
            ratio = amount(time) / card_h if what == "fast" else amount(cost) / card_usd
            assert ratio <= 1.055 if words.startswith("As") else ratio > 1.045, text
            assert (chance is None) is words.startswith("As")
            seen.add(words[:2])
    assert "Pe" in seen
    assert "Practically" not in page.locator("[data-testid=stMain]").inner_text()


def test_what_may_not_fit_is_hatched_said_and_not_recommended(page, app_url):
    open_page(page, app_url)
    assert not hatched(page, "cost-bars")
    assert press(page, "Batch size", "End", 1) == 256
    doubtful = hatched(page, "cost-bars")
    assert doubtful and doubtful == hatched(page, "latency-bars")
    expect(page.get_by_text("▧ may not fit in memory")).to_be_visible()
    for name in doubtful:
        assert not any(name in text for text in cards(page))
    # What is lower than the cheapest card's is named.
    cheapest = amount(re.search(r"\$[\d,.]+", next(text for text in cards(page) if text.startswith("Cheapest")))[0])
    lowest = min(bars(page, "cost-bars"), key=lambda row: amount(row[1]) if "$" in row[1] else 1e9)
    if amount(lowest[1]) < cheapest:
        expect(page.get_by_text(f"{lowest[0].replace(' · ', ' at ')} (")).to_contain_text("likely to fit in memory")
    page.get_by_text("More options").click()
    settle(page)
    type_number(page, "Confidence (%)", "50")
    assert set(hatched(page, "cost-bars")) <= set(doubtful)


def test_a_measurement_of_the_visitor_s_is_shown_as_typed(page, app_url):
    open_page(page, f"{app_url}/?preset=aws&per=step")
    name = next(name for name, _ in bars(page, "latency-bars") if name.startswith("A100 80 GB"))
    open_details(page, "A100 80")
    dialog = page.get_by_role("dialog")
    typed = dialog.get_by_role("spinbutton", name="Your step time at batch 64, 224 px (ms)")
    typed.fill("50")
    typed.press("Enter")
    settle(page)
    expect(dialog).to_contain_text("Step: 50.0 ms")
    expect(dialog).to_contain_text("Basis: Measured.")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    settle(page)
    assert dict(bars(page, "latency-bars"))[name] == "50.0 ms"
    click(page, "Table")
    row = page.get_by_role("row").filter(has_text="A100 80 GB")
    expect(row).to_contain_text("50.0 ms")
    expect(row).to_contain_text("Measured")
    expect(row).not_to_contain_text("Estimated")
    press(page, "Batch size", "ArrowRight", 1)
    expect(row).to_contain_text("Scaled")
    press(page, "Batch size", "ArrowLeft", 1)
    expect(row).to_contain_text("50.0 ms")


def test_retired_machines_say_so_and_are_not_recommended(page, app_url):
    open_page(page, app_url)
    click(page, "PROFET's 4")
    retired = [name for name, _ in bars(page, "cost-bars") if name.endswith("(retired)")]
    assert len(retired) == 3
    assert cards(page)[0].startswith("The only option: T4 · AWS")
    assert [text for text in cards(page) if "V100" in text or "K80" in text or "M60" in text] == []
    expect(page.get_by_text("is retired and can't be rented")).to_contain_text("V100 SXM at AWS")
    expect(page.get_by_text("Prices as of")).to_contain_text("2021: M60 · AWS, K80 · AWS")
    open_details(page, "V100")
    expect(page.get_by_role("dialog")).to_contain_text("V100 SXM · AWS (retired)")


def test_price_times_time_is_the_cost_shown_and_the_csv_has_all_of_it(page, app_url):
    open_page(page, app_url)
    card = cards(page)[0]
    usd, hours, price = (amount(re.search(one, card)[0]) for one in (r"\$[\d,.]+", r"[\d.]+ h", r"\$[\d.]+(?=/h)"))
    assert price < 1 and price * hours == pytest.approx(usd, rel=0.006)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    cheapest = min(rows, key=lambda row: float(row["training_usd"]))
    assert cheapest["name"].replace(" at ", " · ") in card and cheapest["price_as_of"][:2] == "20"
    assert float(cheapest["training_low_usd"]) < float(cheapest["training_usd"]) < float(cheapest["training_high_usd"])
    assert float(cheapest["step_ms"]) > 0 and "plan" not in cheapest


def test_the_scaler_says_what_predict_says_at_the_profiled_size(page, app_url):
    open_page(page, f"{app_url}/?preset=original&per=step&scaler_at_batch=64")
    predicted = dict(bars(page, "latency-bars"))["V100 SXM · AWS (retired)"]
    open_page(page, f"{app_url}/scaler?scaler_at_batch=64")
    expect(page.get_by_test_id("stMetricValue")).to_have_text(f"{predicted}/step")
    click(page, "PROFET's polynomial")
    expect(page.get_by_test_id("stMetricValue")).not_to_have_text(f"{predicted}/step")
