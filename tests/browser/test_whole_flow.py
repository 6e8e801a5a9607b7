"""The whole way through the app in a real browser: upload, latency, answer, sizes, reload; and a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from profet_core import predict
from profet_core.advice.advise import advise
from profet_core.advice.headline import headline
from profet_core.advice.request import Limits, Workload
from profet_core.catalog.offers import offers_in_market
from profet_core.training.sizes import KnownStep, steps_at
from profet_core.units import format_duration, format_ms, format_usd

pytestmark = pytest.mark.browser

#: Charts and tables load their code when first shown; a busy machine takes its time.
LOADED_MS = 20_000

UPLOADED = "vgg16-224px-b16-g3s"
PAGES = ("", "sizes", "profiles", "about")


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    settle(page)


def settle(page: Page) -> None:
    """Wait until the script that the last action started has run."""
    # A busy machine takes most of a second to start it.
    page.wait_for_timeout(900)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=LOADED_MS)


def follow(page: Page, name: str) -> None:
    """Switch pages by the navigation."""
    page.get_by_role("link", name=name, exact=True).first.click()
    settle(page)


def open_sidebar(page: Page) -> None:
    """On a phone it is folded."""
    button = page.get_by_test_id("stExpandSidebarButton")
    if button.is_visible():
        button.click()
        expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "false")


def column(page: Page, name: str) -> dict[str, str]:
    """Instance -> cell, of one column of the result table, as the browser shows it."""
    shown = page.locator("table:has(button[data-does])")
    expect(shown).to_be_visible(timeout=LOADED_MS)
    header, *rows = shown.evaluate(
        """table => [...table.rows].map(row => [...row.cells].map(
            cell => (cell.querySelector("span:not([aria-hidden])") ?? cell.querySelector("button").firstChild
        ).textContent))"""
    )
    return {clean(row[0]): clean(row[header.index(name)]) for row in rows}


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


def test_from_an_upload_to_the_answer_and_sizes_and_back(page, app_url, models, catalog, samples):
    sample = samples[UPLOADED]
    open_page(page, app_url)
    page.get_by_role("radio", name="Upload").click()
    settle(page)
    give_file(page, sample.data, "mine.json")
    expect(page.get_by_text("Shown: your upload mine.json")).to_be_visible()
    type_number(page, "Step latency there (optional)", "330")
    type_number(page, "Epochs", "3")
    found = predict(models, catalog, sample.profile, sample.anchor, latency_ms=330.0)
    advice = advise(found.predictions, offers_in_market(catalog), Workload(50_000, 16, 3))
    assert said(page) == headline(advice)
    times = {plan.title: format_duration(plan.total_s) for plan in advice.plans}
    shown = column(page, "Time")
    assert advice.plans[0].title in shown and len(shown) >= 5 and shown.items() <= times.items()
    costs = {plan.title: format_usd(plan.total_usd) for plan in advice.plans}
    assert column(page, "Cost") == {name: costs[name] for name in shown}

    follow(page, "Sizes")
    at = move_slider(page, "Batch size")
    known = [KnownStep(sample.profile, found, 16, 224)]
    rows = steps_at(models, known, batch_size=at, pixels=224).step_times
    steps = {row.instance.rpartition("/")[2]: format_ms(row.latency_ms) for row in rows if row.latency_ms}
    carried = column(page, "Step")
    assert len(carried) >= 5 and {name.split(", ")[0]: cell for name, cell in carried.items()}.items() <= steps.items()

    follow(page, "Answer")
    expect(page.get_by_text(f"at batch size {at}")).to_be_visible()
    type_number(page, "Batch size", "")
    assert column(page, "Time") == shown


def said(page: Page) -> str:
    """The answer in one sentence."""
    shown = page.get_by_role("heading", level=2).first
    expect(shown).to_be_visible(timeout=LOADED_MS)
    return clean(shown.inner_text())


def move_slider(page: Page, label: str) -> int:
    slider = page.get_by_role("slider", name=label)
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    settle(page)
    return int(slider.input_value())


def test_a_reloaded_link_shows_the_same_view(page, app_url):
    open_page(page, f"{app_url}/sizes?axis=batch&batch=100&shows=cost")
    at = move_slider(page, "Batch size")
    assert at == 104
    before = column(page, "Step")
    assert "batch=104" in page.url and "shows=cost" in page.url
    page.reload()
    settle(page)
    assert column(page, "Step") == before
    follow(page, "Answer")
    type_number(page, "Epochs", "5")
    costs = column(page, "Cost")
    assert "batch=104" in page.url
    open_page(page, page.url)
    assert column(page, "Cost") == costs


def test_a_page_that_is_turned_to_keeps_what_was_typed_on_both(page, app_url):
    open_page(page, app_url)
    type_number(page, "Step latency there (optional)", "210")
    type_number(page, "Images", "1234")
    for name in ("Sizes", "Answer"):
        follow(page, name)
        expect(page.get_by_role("textbox", name="Images")).to_have_value("1234")
        expect(page.get_by_role("textbox", name="Step latency there (optional)")).to_have_value("210")
        expect(page.get_by_role("radio", name="Sample")).to_be_checked()
        expect(page.get_by_test_id("stAlert")).to_have_count(0)
        assert page.url.endswith("?latency=210&images=1234")


def test_a_deadline_changes_the_answer_and_is_in_the_link(page, app_url, models, catalog, samples):
    sample = next(iter(samples.values()))
    found = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)

    def answer(limits: Limits | None = None) -> str:
        work = Workload(50_000, sample.batch_size, 90)
        return headline(advise(found.predictions, offers_in_market(catalog), work, limits))

    open_page(page, f"{app_url}/advise?epochs=90")
    assert said(page) == answer()
    type_number(page, "Deadline (h)", "0.5")
    assert said(page) == answer(Limits(0.5)) != answer()
    assert "deadline_h=0.5" in page.url and "epochs=90" in page.url
    page.reload()
    settle(page)
    assert said(page) == answer(Limits(0.5))
    type_number(page, "Deadline (h)", "0.0001")
    assert said(page).startswith("Nothing is expected to be done within 0.360 s")


def test_the_back_button_brings_the_former_page_back_as_it_was(page, app_url):
    open_page(page, f"{app_url}/sizes?batch=100")
    at_100 = column(page, "Step")
    follow(page, "Answer")
    type_number(page, "Epochs", "5")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("What do batch and pixel size do?")
    settle(page)
    expect(page.get_by_role("slider", name="Batch size")).to_have_value("100")
    assert column(page, "Step") == at_100


def test_the_interval_goes_with_the_documented_method(page, app_url):
    open_page(page, f"{app_url}/?retired=True")
    ranges = column(page, "Range")
    assert ranges["p3.2xlarge"] != "–" and ranges["g4dn.xlarge"] == "–"
    open_page(page, f"{app_url}/?retired=True&method=profet")
    assert column(page, "Range")["p3.2xlarge"] == "–"
    assert "method=profet" in page.url


def test_a_bad_upload_leaves_one_line_and_the_numbers(page, app_url):
    open_page(page, app_url)
    before = column(page, "Time")
    page.get_by_role("radio", name="Upload").click()
    settle(page)
    give_file(page, b'{"<b>bold</b>": 1}', "<img src=x>_*bad*.json")
    line = page.get_by_test_id("stAlert")
    expect(line).to_have_count(1)
    expect(line).to_contain_text("_*bad*.json: No operation was found")
    assert column(page, "Time") == before
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
