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


def test_anchor_upload_and_latency_give_four_bars_of_latency_and_of_cost_in_six_actions(page, app_url, flat):
    open_page(page, app_url)
    actions = [
        lambda: choose_gpu(page, ANCHOR, "g3s.xlarge"),
        lambda: click(page, "Upload"),
        lambda: (give_file(page, flat, "test_A.json"), settle(page)),
        lambda: type_number(page, LATENCY, "122400 us", "textbox"),
        lambda: click(page, "PROFET's 4"),
    ]
    assert len(actions) <= 6
    for act in actions:
        act()
        assert_no_red(page)
    times, costs = bars(page, "latency-bars"), bars(page, "cost-bars")
    assert len(times) == len(costs) == len(ORIGINAL)
    (anchor,) = [text for name, text in times if name.endswith("(anchor)")]
    assert anchor.startswith("122") and "ms" in anchor
    expect(page).to_have_url(f"{app_url}/?source=upload&latency=122400+us&anchor=g3s.xlarge&preset=original")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


def test_upload_first_then_one_form_asks_for_the_rest_prefilled_by_the_file_s_name(page, app_url, flat):
    open_page(page, f"{app_url}/?preset=original&per=epoch")
    click(page, "Upload")
    give_file(page, flat, "vgg16_128ds_16bs_g3s.json")
    settle(page)
    expect(page.locator(".profet-bars")).to_have_count(0)
    expect(page.get_by_role("combobox", name="Which GPU was this recorded on?")).to_have_value("M60 (g3s.xlarge)")
    expect(page.get_by_role("spinbutton", name="Batch size")).to_have_value("16")
    assert_no_red(page)
    proceed(page)
    assert len(bars(page, "latency-bars")) == len(bars(page, "cost-bars")) == len(ORIGINAL)
    expect(page.get_by_role("slider", name="Batch size")).to_have_attribute("aria-valuetext", "16")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)
    page.reload()
    settle(page)
    expect(page.get_by_text("Your upload is gone after a reload.")).to_be_visible()


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


def test_answers_are_kept_where_edit_was_opened_before_continue(page, app_url, flat):
    open_page(page, app_url)
    choose_gpu(page, ANCHOR, "g3s.xlarge")
    click(page, "Upload")
    give_file(page, flat, "vgg16_128ds_16bs.json")
    settle(page)
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("spinbutton", name="Steps in the file")).to_have_value("2")
    page.keyboard.press("Escape")
    proceed(page)
    type_number(page, "Epochs", "9")
    click(page, "Epoch")
    # The latency shows that the file covers one step, for the closed field too.
    type_number(page, LATENCY, "61.2 ms", "textbox")
    click(page, "PROFET's 4")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)
    expect(page).to_have_url(re.compile("profiled_batch=16&profiled_pixels=128"))
    assert "steps=" not in page.url
    expect(page.get_by_role("slider", name="Batch size")).to_have_attribute("aria-valuetext", "16")
    page.get_by_role("button", name="Edit").click()
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
    proceed(page)
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
