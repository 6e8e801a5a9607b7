"""The whole way through the app in a real browser: upload, anchor, bars, sliders, pages, link; and a phone."""

from __future__ import annotations

import json
import re
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from profet_cli.main import main
from profet_core.training.advise import ORIGINAL
from profet_profiles.units import format_usd, time_unit
from tests.browser.conftest import navigation_link

pytestmark = pytest.mark.browser

#: Charts and tables load their code when first shown; a busy machine takes its time.
LOADED_MS = 60_000

UPLOADED = "resnet50-128px-b64-g4dn"
PAGES = ("", "scaler", "sizes", "compare", "scale_out", "many_core", "accuracy", "about")


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    settle(page)


#: Waits until all runs that were asked for have ended. A page may wait a fifth of a second before it asks (a slider);
#: a timer that is set later ends later, however busy the machine is.
_SETTLED = """async patience_ms => {
  const {profetSeen: seen} = window, until = performance.now() + patience_ms;
  for (let quiet = 0; quiet < 2;) {
    if (performance.now() > until) return `not settled: ${JSON.stringify(seen)}`;
    await new Promise(done => setTimeout(done, 250));
    const app = document.querySelector('[data-testid=stApp]');
    const ended = seen.asked && seen.ended > seen.asked && app?.dataset.testScriptState === 'notRunning';
    quiet = ended && !seen.sending ? quiet + 1 : 0;
  }
}"""
_WORDS = """() => {
  const seen = element => element.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const walker = document.createTreeWalker(document.querySelector('[data-testid=stApp]'), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, range = document.createRange();
    // Labels of charts and names of icons aren't read as words; names of instances are in bold or small beside it.
    if (node.parentElement.closest('svg, style, script, strong, [data-testid=stIconMaterial]')) continue;
    range.selectNode(node);
    const box = range.getBoundingClientRect();
    if (!seen(node.parentElement) || box.width <= 1 || box.height <= 1) continue;
    if (box.top > innerHeight || box.right <= 0) continue;
    found.push(...(node.textContent.match(/[A-Za-z][A-Za-z'’-]+/g) || []));
  }
  return found;
}"""


def settle(page: Page) -> None:
    """Wait until the script that the last action started has run."""
    assert page.evaluate(_SETTLED, LOADED_MS) is None


def follow(page: Page, name: str) -> None:
    """Switch pages by the navigation."""
    navigation_link(page, name).click()
    settle(page)


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


def bars(page: Page, chart: str) -> list[tuple[str, str]]:
    """Name and value of each row of a bar chart, from the top."""
    rows = page.locator(".profet-bars .row")
    expect(rows.first).to_be_attached(timeout=LOADED_MS)
    more = page.get_by_role("button", name=re.compile(r"^Show all \d+$"))
    if more.count():
        more.click()
    names = rows.locator(".name").all_text_contents()
    values = rows.locator(f"[data-chart={chart}] .value").all_text_contents()
    return list(zip(map(clean, names), map(clean, values), strict=True))


def clean(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "").strip()


def give_file(scope: Page | Locator, data: bytes, name: str) -> None:
    scope.locator("input[type=file]").first.set_input_files(
        {"name": name, "mimeType": "application/json", "buffer": data}
    )


def type_number(page: Page, label: str, value: str, role: Literal["spinbutton", "textbox"] = "spinbutton") -> None:
    field = page.get_by_role(role, name=label)
    field.fill(value)
    field.press("Enter")
    settle(page)


def choose_gpu(page: Page, label: str, name: str) -> None:
    """Choose in a box by typing a part of a label."""
    box = page.get_by_role("combobox", name=label)
    box.fill(name)
    box.press("Enter")
    settle(page)


def proceed(page: Page) -> None:
    """Answer what is asked of an upload."""
    page.get_by_role("button", name="Continue").click()
    settle(page)


def press(page: Page, label: str, key: str, times: int) -> int:
    """Move a slider by keys; returns the size it then shows."""
    slider = page.get_by_role("slider", name=label)
    for _ in range(times):
        # One at a time: on a busy machine, keys pressed while the page is redrawn are lost.
        slider.focus()
        page.keyboard.press(key)
        settle(page)
    return int(slider.get_attribute("aria-valuetext") or 0)


def test_a_newcomer_uploads_the_original_demo_s_file_and_reads_the_command_line_s_numbers(
    page, app_url, samples, tmp_path, capsys
):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([{name: 2 * us for name, us in samples[UPLOADED].profile.operations.items()}]))

    def command(*more: object) -> dict[str, dict]:
        arguments = ("advise", file, "--anchor", "g4dn.xlarge", "--images", 1_281_167, "--epochs", 90, *more)
        sizes = ("--profiled-batch", 64, "--profiled-pixels", 128, "--without-latency", "--include-retired")
        assert main([str(part) for part in (*arguments, *sizes, "--format", "json")]) == 0
        plans = json.loads(capsys.readouterr().out)["plans"]
        return {plan["instance"]: plan for plan in plans if plan["instance"] in ORIGINAL}

    open_page(page, f"{app_url}/?preset=original&per=training")
    page.get_by_role("radio", name="Upload").click()
    settle(page)
    give_file(page, file.read_bytes(), file.name)
    settle(page)
    choose_gpu(page, "Which GPU was this recorded on?", "g4dn.xlarge")
    proceed(page)
    assert len(bars(page, "latency-bars")) == len(bars(page, "cost-bars")) == 4, "a step, before any size is known"
    page.get_by_role("spinbutton", name="Batch size").fill("64")
    page.get_by_role("spinbutton", name="Image size").fill("128")
    proceed(page)
    check(page, command(), 90)
    batch, pixels = press(page, "Batch size", "ArrowRight", 4), press(page, "Image size", "ArrowRight", 1)
    assert (batch, pixels) == (68, 129)
    page.get_by_role("radio", name="Epoch").click()
    settle(page)
    check(page, command("--at-batch", batch, "--at-pixels", pixels), 1)


def check(page: Page, plans: dict[str, dict], epochs: int) -> None:
    """Compare both charts with the command line's plans, of so many of its 90 epochs."""
    ordered = sorted(plans.values(), key=lambda plan: plan["total_usd"])
    seconds = [plan["total_s"] * epochs / 90 for plan in ordered]
    unit = time_unit(sorted(seconds)[len(seconds) // 2])
    times, costs = bars(page, "latency-bars"), bars(page, "cost-bars")
    assert len(times) == 4 and [name for name, _ in times] == [name for name, _ in costs]
    assert [text for _, text in times[: len(ordered)]] == [unit.words(value) for value in seconds]
    assert [text for _, text in costs[: len(ordered)]] == [
        format_usd(plan["total_usd"] * epochs / 90) for plan in ordered
    ]
    (anchor,) = [(name, text) for name, text in times if name.endswith("(anchor)")]
    assert anchor[1] == "Enter a step time (3) to see this GPU"


def test_the_first_screen_has_bars_above_the_fold_and_few_words(browser, app_url):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(app_url)
    for chart in ("latency-bars", "cost-bars"):
        expect(page.locator(f"[data-chart={chart}] .value").nth(8)).to_be_in_viewport(timeout=LOADED_MS)
    expect(page.get_by_text("Cheapest: ")).to_be_in_viewport()
    words = page.evaluate(_WORDS)
    page.close()
    assert len(words) <= 140, words


def test_a_click_on_a_bar_opens_its_details_where_a_price_can_be_typed(page, app_url):
    open_page(page, f"{app_url}/?preset=original")
    before = bars(page, "cost-bars")
    for _ in range(2):
        page.locator("[data-chart=latency-bars] .bar").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        settle(page)
    page.locator("[data-chart=latency-bars] .bar").first.click()
    price = page.get_by_role("dialog").get_by_role("spinbutton", name="Your price ($/h)")
    price.fill("100")
    price.press("Enter")
    settle(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    settle(page)
    assert bars(page, "cost-bars") != before and "=100" in page.url


def test_a_bad_upload_leaves_one_line_with_the_command_that_records_one_and_the_numbers(page, app_url):
    open_page(page, f"{app_url}/?chart=table")
    before = column(page, "Training time")
    page.get_by_role("radio", name="Upload").click()
    settle(page)
    give_file(page, b'{"<b>bold</b>": 1}', "<img src=x>_*bad*.json")
    line = page.get_by_test_id("stAlert")
    expect(line).to_have_count(1)
    expect(line).to_contain_text("_*bad*.json can't be used. No operation was found")
    expect(line).to_contain_text("The sample is still shown.")
    expect(page.get_by_test_id("stSidebar").get_by_test_id("stAlert")).to_have_count(0)
    expect(page.get_by_test_id("stSidebar").get_by_text("profet-record train.py")).to_be_visible()
    assert column(page, "Training time") == before
    assert page.locator("[data-testid=stAlert] img").count() == 0


def test_what_was_typed_is_in_the_link_and_kept_by_other_pages_reload_and_back(page, app_url):
    open_page(page, f"{app_url}/?epochs=9&chart=table")
    type_number(page, "3 · Measured time there (optional)", "560", "textbox")
    type_number(page, "Images per epoch", "1234")
    expect(page).to_have_url(f"{app_url}/?latency=560&images=1234&epochs=9&chart=table")
    before = column(page, "Training time")
    for name in ("Sizes", "Predict"):
        follow(page, name)
        expect(page.get_by_role("spinbutton", name="Images per epoch")).to_have_value("1234")
        expect(page.get_by_role("textbox", name="3 · Measured time there (optional)")).to_have_value("560")
        expect(page.get_by_test_id("stAlert")).to_have_count(0)
    page.reload()
    settle(page)
    assert column(page, "Training time") == before
    at = press(page, "Batch size", "ArrowRight", 2)
    expect(page).to_have_url(re.compile(f"[?&]at_batch={at}(&|$)"))
    assert column(page, "Training time") != before
    follow(page, "Sizes")
    expect(page.get_by_role("slider", name="Batch size")).to_have_attribute("aria-valuetext", str(at))
    page.go_back()
    expect(page.get_by_role("slider", name="Batch size")).to_have_attribute("aria-valuetext", str(at))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_found_by_its_own_url_and_a_phone_shows_it_without_sideways_scrolling(phone, app_url, name):
    open_page(phone, f"{app_url}/{name}")
    expect(phone.get_by_text("Page not found")).to_have_count(0)
    assert phone.url == f"{app_url}/{name}"
    # Tables take their width once they are drawn.
    phone.wait_for_function(
        """() => Math.max(
            document.documentElement.scrollWidth, document.querySelector('[data-testid=stMain]').scrollWidth
        ) <= 390"""
    )
    clipped = phone.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stMain] :is(button, input, [role=radio])')]
            .filter(element => element.type !== 'range')
            .filter(element => element.getBoundingClientRect().right > 391 && element.offsetParent)
            .map(element => element.outerHTML.slice(0, 120))"""
    )
    assert clipped == []


def test_a_network_that_is_not_known_stays_in_its_box_without_another_one_s_numbers(page, app_url):
    open_page(page, f"{app_url}/estimate?preset=original&chart=table")
    box, table = page.get_by_role("combobox", name="Network name"), page.locator("table:has(button[data-does])")
    before = column(page, "Training time")
    choose_gpu(page, "Network name", "my-net 7")
    expect(box).to_have_value("my-net 7")
    expect(page.get_by_test_id("stAlert")).to_contain_text("my-net 7")
    expect(table).to_have_count(0)
    page.reload()
    settle(page)
    expect(box).to_have_value("my-net 7")
    expect(table).to_have_count(0)
    choose_gpu(page, "Network name", "ResNet-50")
    expect(box).to_have_value("resnet50")
    assert column(page, "Training time") == before
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
