"""The whole way through the app in a real browser: upload, latency, table, Scale, Cost, reload; and a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from profet_core import cost_table, predict, scale
from profet_core.scaling.context import scale_context
from profet_core.units import format_duration, format_ms, format_usd
from ui.tables import format_range_ms

pytestmark = pytest.mark.browser

#: Charts and tables load their code when first shown; a busy machine takes its time.
LOADED_MS = 20_000

UPLOADED = "vgg16-224px-b16-g3s"
ENDS = ("resnet50-128px-b16-g4dn", "resnet50-128px-b256-g4dn")
PAGES = ("", "scale", "profiles", "about", "cost", "advise")


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    settle(page)


def settle(page: Page) -> None:
    """Wait until the script that the last action started has run."""
    page.wait_for_timeout(300)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=LOADED_MS)


def follow(page: Page, name: str) -> None:
    """Switch pages by the navigation."""
    page.get_by_role("link", name=name, exact=True).first.click()
    settle(page)


def column(page: Page, name: str, table: int = 0) -> dict[str, str]:
    """Instance -> cell, of one column of a table, as the browser shows it."""
    shown = page.get_by_test_id("stTable").nth(table)
    expect(shown).to_be_visible(timeout=LOADED_MS)
    header = [text.strip() for text in shown.locator("thead th").all_inner_texts()]
    rows = [[clean(cell) for cell in row.locator("td").all_inner_texts()] for row in shown.locator("tbody tr").all()]
    return {row[0]: row[header.index(name)] for row in rows}


def clean(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "").strip()


def give_file(scope: Page | Locator, data: bytes, name: str) -> None:
    scope.locator("input[type=file]").first.set_input_files(
        {"name": name, "mimeType": "application/json", "buffer": data}
    )


def type_number(page: Page, label: str, value: str) -> None:
    field = page.get_by_role("textbox", name=label)
    field.fill(value)
    field.press("Enter")
    settle(page)


def test_from_an_upload_to_the_cost_and_back_by_the_link(page, app_url, models, catalog, samples):
    sample = samples[UPLOADED]
    open_page(page, app_url)
    page.get_by_role("radio", name="Upload").click()
    settle(page)
    give_file(page, sample.data, "mine.json")
    expect(page.get_by_text("Shown: your upload mine.json")).to_be_visible()
    type_number(page, "Step latency there (optional)", "330")
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=330.0)
    shown = column(page, "Step latency")
    assert {name.removesuffix(" (anchor)"): text for name, text in shown.items()} == {
        name: format_ms(value) for name, value in expected.latencies_ms.items()
    }

    low, high = fill_scale(page, models, catalog, samples)
    at = move_slider(page, "Batch size")
    context = scale_context("batch", samples[ENDS[1]].profile)
    scaled = {
        name: scale(models, models.profiled(name), "batch", low[name], high[name], at, context=context).latency_ms
        for name in low
    }
    assert column(page, f"At batch {at} (slider)") == {name: format_ms(value) for name, value in scaled.items()}

    follow(page, "Cost")
    type_number(page, "Epochs", "3")
    table = cost_table(expected.latencies_ms, catalog, images=50_000, batch_size=16, epochs=3)
    assert column(page, "3 epochs") == {row.instance: format_duration(row.total_s) for row in table.rows}
    assert column(page, "$ for 3 epochs") == {row.instance: format_usd(row.total_usd) for row in table.rows}

    follow(page, "Predict")
    assert column(page, "Step latency") == shown


def fill_scale(page: Page, models, catalog, samples) -> list[dict[str, float]]:
    """Fill both ends of the batch axis with uploads; returns what must be predicted from them."""
    follow(page, "Scale")
    for index, name in enumerate(ENDS):
        page.get_by_role("radio", name="Upload").nth(index).click()
        settle(page)
        give_file(page.get_by_test_id("stColumn").nth(index), samples[name].data, f"end-{index}.json")
        expect(page.get_by_text(f"Shown: your upload end-{index}.json")).to_be_visible()
        settle(page)
    return [
        predict(
            models, catalog, samples[name].profile, samples[name].anchor, latency_ms=samples[name].latency_ms
        ).latencies_ms
        for name in ENDS
    ]


def move_slider(page: Page, label: str) -> int:
    slider = page.get_by_role("slider", name=label)
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    settle(page)
    return int(slider.input_value())


def test_a_reloaded_link_shows_the_same_view(page, app_url, models, catalog, samples):
    open_page(page, f"{app_url}/scale?axis=batch&batch=100&show=p2.xlarge")
    at = move_slider(page, "Batch size")
    assert at == 104
    before = column(page, f"At batch {at} (slider)")
    assert list(before) == ["p2.xlarge"]
    assert "batch=104" in page.url and "show=p2.xlarge" in page.url
    page.reload()
    settle(page)
    assert column(page, f"At batch {at} (slider)") == before
    follow(page, "Cost")
    page.get_by_role("radio", name="Another one (from Scale)").click()
    settle(page)
    type_number(page, "Epochs", "5")
    costs = column(page, "$ for 5 epochs")
    open_page(page, page.url)
    assert column(page, "$ for 5 epochs") == costs


def test_the_back_button_brings_the_former_view_back(page, app_url):
    open_page(page, f"{app_url}/scale?batch=100")
    at_100 = column(page, "At batch 100 (slider)")
    follow(page, "Guide")
    page.go_back()
    settle(page)
    expect(page.get_by_role("slider", name="Batch size")).to_have_value("100")
    assert column(page, "At batch 100 (slider)") == at_100


def test_the_interval_goes_with_the_documented_method_and_its_link(page, app_url, models, catalog, samples):
    sample = next(iter(samples.values()))
    open_page(page, app_url)
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    between = column(page, f"{expected.interval_level:.0%} interval")
    assert between.pop(f"{sample.anchor} (anchor)") == "–"
    assert between == {
        row.instance: format_range_ms(row.interval.low_ms, row.interval.high_ms)
        for row in expected.predictions
        if row.interval
    }
    open_page(page, f"{app_url}/?method=profet")
    documented = predict(
        models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, method="profet"
    ).latencies_ms
    shown = column(page, "Step latency")
    assert {name.removesuffix(" (anchor)"): text for name, text in shown.items()} == {
        name: format_ms(value) for name, value in documented.items()
    }
    expect(page.get_by_role("columnheader", name="interval")).to_have_count(0)
    assert "method=profet" in page.url


def test_a_phone_shows_the_interval_in_one_line(phone, app_url, catalog):
    open_page(phone, app_url)
    cells = phone.get_by_test_id("stTable").first.locator("tbody tr td:nth-child(3)")
    expect(cells).to_have_count(len(catalog), timeout=LOADED_MS)
    assert all(box["height"] < 45 for cell in cells.all()[1:] if (box := cell.bounding_box()))


def test_a_bad_upload_leaves_one_line_and_the_numbers(page, app_url):
    open_page(page, app_url)
    before = column(page, "Step latency")
    page.get_by_role("radio", name="Upload").click()
    settle(page)
    give_file(page, b'{"<b>bold</b>": 1}', "<img src=x>_*bad*.json")
    line = page.get_by_test_id("stAlert")
    expect(line).to_have_count(1)
    expect(line).to_contain_text("_*bad*.json: No operation was found")
    assert column(page, "Step latency") == before
    assert page.locator("[data-testid=stAlert] img").count() == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_every_page_without_sideways_scrolling(phone, app_url, name):
    open_page(phone, f"{app_url}/{name}")
    widths = phone.evaluate(
        """() => {
            const main = document.querySelector('[data-testid=stMain]');
            return [document.documentElement.scrollWidth, main.scrollWidth];
        }"""
    )
    assert max(widths) <= 390
    clipped = phone.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stMain] :is(button, input, [role=radio])')]
            .filter(element => element.getBoundingClientRect().right > 391 && element.offsetParent)
            .map(element => element.outerHTML.slice(0, 120))"""
    )
    assert clipped == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_found_by_its_own_url(page, app_url, name):
    open_page(page, f"{app_url}/{name}")
    expect(page.get_by_text("Page not found")).to_have_count(0)
    assert page.url == f"{app_url}/{name}"
