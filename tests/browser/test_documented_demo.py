"""The documented demo as a visitor does it: anchor, upload, latency, four bars; in both orders, and on a phone."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from profet_core.training.advise import ORIGINAL
from tests.browser.test_whole_flow import bars, choose_gpu, give_file, open_page, proceed, settle, type_number

pytestmark = pytest.mark.browser

ANCHOR, LATENCY = "1 · GPU you measured on (anchor)", "3 · Measured time there (optional)"
TEST_A = "vgg16-128px-b16-g3s"


@pytest.fixture
def flat(samples) -> bytes:
    """PROFET's test data A as its recorder writes it."""
    return json.dumps([{name: 2 * us for name, us in samples[TEST_A].profile.operations.items()}]).encode()


def click(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name).click()
    settle(page)


def assert_no_red(page: Page) -> None:
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)


@pytest.mark.parametrize(("first", "file"), [("anchor", "test_A.json"), ("upload", "vgg16_128ds_16bs_g3s.json")])
def test_the_documented_steps_give_four_bars_of_latency_and_of_cost_in_six_actions(page, app_url, flat, first, file):
    open_page(page, app_url)
    give = [lambda: click(page, "Upload"), lambda: (give_file(page, flat, file), settle(page))]
    anchor = [lambda: choose_gpu(page, ANCHOR, "g3s.xlarge")]
    actions = [
        # In the other order, the file's name has the anchor.
        *(anchor + give if first == "anchor" else give),
        lambda: type_number(page, LATENCY, "122400 us", "textbox"),
        lambda: click(page, "PROFET's 4"),
    ]
    assert len(actions) <= 6
    for act in actions:
        act()
        assert_no_red(page)
    times, costs = bars(page, "latency-bars"), bars(page, "cost-bars")
    assert len(times) == len(costs) == len(ORIGINAL)
    (measured,) = [text for name, text in times if name.endswith("(anchor)")]
    # A step where no file says the batch size, else the training.
    assert measured.startswith("122 ms") is (first == "anchor") and not measured.startswith("enter")
    sizes = "" if first == "anchor" else "&profiled_batch=16&profiled_pixels=128"
    expect(page).to_have_url(f"{app_url}/?source=upload&latency=122400+us&anchor=g3s.xlarge{sizes}&preset=original")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


def test_a_file_dropped_on_the_charts_answers_from_its_name_until_the_visitor_changes_that(page, app_url, flat):
    open_page(page, app_url)
    before = bars(page, "cost-bars")
    assert drop(page, "huge.json", " " * (31 * 2**20)) == [True, True]
    expect(page.get_by_role("status").filter(has_text="huge.json is 31.0 MB; the limit is 30 MB")).to_be_visible()
    assert bars(page, "cost-bars") == before and page.url == f"{app_url}/"
    assert drop(page, "vgg16_128ds_16bs_g3s.json", flat.decode()) == [True, True]
    expect(page.get_by_text("Batch 16 and 128 px are from the file's name.")).to_be_visible()
    settle(page)
    assert_no_red(page)
    batch, pixels = (page.get_by_role("slider", name=name) for name in ("Batch size", "Image size"))
    expect(batch).to_have_attribute("aria-valuetext", "16")
    expect(pixels).to_have_attribute("aria-valuetext", "128")
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Change", exact=True).click()
    settle(page)
    for slider in (batch, pixels):
        expect(slider).to_have_attribute("aria-valuetext", "–")
    page.get_by_role("spinbutton", name="Batch size").fill("32")
    proceed(page)
    expect(batch).to_have_attribute("aria-valuetext", "32")
    expect(pixels).to_have_attribute("aria-valuetext", "128")
    page.reload()
    settle(page)
    expect(page.get_by_text("Your upload is gone after a reload.")).to_be_visible()


_DROP = """async ([name, text]) => {
  const dataTransfer = new DataTransfer(), more = {bubbles: true, cancelable: true, dataTransfer};
  dataTransfer.items.add(new File([text], name, {type: "application/json"}));
  const chart = document.querySelector(".profet-bars"), drop = new DragEvent("drop", more);
  chart.dispatchEvent(new DragEvent("dragover", more));
  const isShown = document.querySelector(".profet-drop") !== null;
  chart.dispatchEvent(drop);
  return [isShown, drop.defaultPrevented];
}"""


def drop(page: Page, name: str, text: str) -> list[bool]:
    """Drop a file on the charts; returns whether there was a target, and whether the browser leaves it to the page."""
    return page.evaluate(_DROP, [name, text])


def test_on_a_phone_a_labelled_button_leads_to_the_upload_and_the_form_is_in_sight_after_it(phone, app_url, flat):
    open_page(phone, app_url)
    menu = phone.get_by_test_id("stExpandSidebarButton")
    label = menu.evaluate("button => getComputedStyle(button, '::after').content")
    assert "Menu" in label and menu.bounding_box()["width"] > 60
    menu.click()
    click(phone, "Upload")
    give_file(phone, flat, "test_A.json")
    settle(phone)
    expect(menu).to_have_attribute("aria-expanded", "false")
    question = phone.get_by_role("combobox", name="Which GPU was this recorded on?")
    expect(question).to_be_in_viewport()
    choose_gpu(phone, "Which GPU was this recorded on?", "g3s.xlarge")
    proceed(phone)
    expect(phone.locator("[data-chart=latency-bars] .bar").first).to_be_visible()
    assert_no_red(phone)


def test_a_slow_upload_shows_its_percentage(page, app_url):
    open_page(page, f"{app_url}/?source=upload")
    page.evaluate(
        """() => {
            window.percents = [];
            new MutationObserver(() => {
                const text = document.querySelector(".profet-upload")?.textContent;
                if (text && percents.at(-1) !== text) percents.push(text);
            }).observe(document.body, {subtree: true, childList: true, characterData: true});
        }"""
    )
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    rates = {"offline": False, "latency": 5, "downloadThroughput": -1, "uploadThroughput": 2_000_000}
    network.send("Network.emulateNetworkConditions", rates)
    give_file(page, b"[" + b" " * 4_000_000 + b"]", "large.json")
    settle(page)
    seen = page.evaluate("percents")
    assert len(seen) > 3 and all(text.startswith("Uploading large.json: ") and text.endswith("%") for text in seen)
    expect(page.locator(".profet-upload")).to_have_text("")


def test_answers_are_kept_where_edit_was_opened(page, app_url, flat):
    open_page(page, app_url)
    choose_gpu(page, ANCHOR, "g3s.xlarge")
    click(page, "Upload")
    give_file(page, flat, "vgg16_128ds_16bs.json")
    settle(page)
    page.get_by_test_id("stSidebar").get_by_role("button", name="Edit").click()
    expect(page.get_by_role("spinbutton", name="Steps in the file")).to_have_value("2")
    page.keyboard.press("Escape")
    expect(page.get_by_text("Batch 16 and 128 px are from the file's name.")).to_be_visible()
    type_number(page, "Epochs", "9")
    click(page, "Epoch")
    # The latency shows that the file covers one step, for the closed field too.
    type_number(page, LATENCY, "61.2 ms", "textbox")
    click(page, "PROFET's 4")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)
    expect(page).to_have_url(re.compile("profiled_batch=16&profiled_pixels=128"))
    assert "steps=" not in page.url
    expect(page.get_by_role("slider", name="Batch size")).to_have_attribute("aria-valuetext", "16")
    page.get_by_test_id("stSidebar").get_by_role("button", name="Edit").click()
    type_number(page, "Batch size", "32")
    expect(page.get_by_role("slider", name="Batch size")).to_have_attribute("aria-valuetext", "32")


def test_a_latency_typed_for_one_anchor_is_not_used_for_another_until_the_visitor_says_so(page, app_url, flat):
    latency = page.get_by_role("textbox", name=LATENCY)
    open_page(page, f"{app_url}/?preset=original")
    expect(latency).to_have_value("552.844 ms")
    choose_gpu(page, ANCHOR, "g3s.xlarge")
    # It was the sample's own.
    expect(latency).to_have_value("")
    expect(page.get_by_text("ms was for")).to_have_count(0)
    click(page, "Upload")
    give_file(page, flat, "vgg16_128ds_16bs.json")
    settle(page)
    type_number(page, LATENCY, "122400 us", "textbox")
    measured = bars(page, "cost-bars")
    choose_gpu(page, ANCHOR, "p3.2xlarge")
    expect(latency).to_have_value("")
    expect(page.get_by_text("122.4 ms was for M60.")).to_be_visible()
    predicted = bars(page, "cost-bars")
    page.get_by_role("button", name="Use it for V100 SXM").click()
    settle(page)
    expect(latency).to_have_value("122400 us")
    assert bars(page, "cost-bars") != predicted
    type_number(page, LATENCY, "30", "textbox")
    choose_gpu(page, ANCHOR, "g3s.xlarge")
    expect(latency).to_have_value("")
    expect(page.get_by_text("30 ms was for V100 SXM.")).to_be_visible()
    choose_gpu(page, ANCHOR, "p3.2xlarge")
    expect(latency).to_have_value("30")
    choose_gpu(page, ANCHOR, "g3s.xlarge")
    type_number(page, LATENCY, "122400 us", "textbox")
    assert bars(page, "cost-bars") == measured
    expect(page.get_by_text("ms was for")).to_have_count(0)
