"""Many files at once in a real browser, the list on Profiles, and that the server lets the files go."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import FilePayload, Page, expect

from profet_core import predict
from profet_core.advice.request import Workload
from profet_core.units import format_duration
from tests.browser.test_whole_flow import LOADED_MS, column, open_page, open_sidebar, settle

pytestmark = pytest.mark.browser

VGG, LENET = "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s"


def payload(name: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


def give_files(page: Page, *files: FilePayload) -> None:
    page.locator("input[type=file]").first.set_input_files(list(files))
    settle(page)


def files_of(samples, repository, *names: str) -> list[FilePayload]:
    step = repository / "sample_traces" / "formats" / "tensorflow-step.xplane.pb"
    return [*(payload(f"{name}.json", samples[name].data) for name in names), payload(step.name, step.read_bytes())]


def overflow(page: Page) -> int:
    return page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth - window.innerWidth")


def test_three_files_and_a_bad_one_become_a_list_that_is_compared_looked_into_and_used(
    page, app_url, repository, samples
):
    open_page(page, f"{app_url}/profiles")
    give_files(page, *files_of(samples, repository, VGG, LENET), payload("bad.json", b"{"))
    error = page.get_by_test_id("stAlert").filter(has_text="bad.json: The file is not valid JSON")
    expect(error).to_have_count(1)
    expect(page.get_by_test_id("stFileUploaderFile")).to_have_count(0)
    expect(page.get_by_role("radiogroup", name="3 profiles")).to_be_visible()
    expect(page.get_by_role("radio", name="tensorflow-step.xplane.pb")).to_be_checked()
    refused = page.get_by_test_id("stAlert").filter(has_text="Nothing is predicted from these")
    expect(refused).to_contain_text("tensorflow-step.xplane.pb: This profile holds no GPU time")
    expect(page.get_by_test_id("stDataFrame")).to_be_visible(timeout=LOADED_MS)

    choose(page, f"{VGG}.json")
    name = page.get_by_role("textbox", name="Name")
    expect(name).to_have_value(f"{VGG}.json")
    name.fill("my network")
    name.press("Enter")
    settle(page)
    choose(page, f"{LENET}.json")
    page.get_by_role("button", name="Remove", exact=True).click()
    settle(page)
    expect(page.get_by_role("radiogroup", name="2 profiles")).to_be_visible()

    choose(page, "my network")
    page.get_by_text("Inside this one").click()
    settle(page)
    expect(page.get_by_text("the GPU worked for about 99% of the step")).to_be_visible()
    expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible(timeout=LOADED_MS)
    page.get_by_role("button", name="Use for the answer").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Which cloud GPU should train it?")
    expect(page.get_by_text("your upload my network").first).to_be_visible()


def choose(page: Page, name: str) -> None:
    page.get_by_test_id("stRadio").get_by_text(name).first.click()
    settle(page)


def test_one_of_the_list_is_chosen_on_the_answer(page, app_url, models, catalog, samples, repository):
    open_page(page, f"{app_url}/?source=upload")
    give_files(page, *files_of(samples, repository, VGG, LENET))
    page.get_by_role("combobox", name="Shown, of your 3 profiles").click()
    page.get_by_role("option", name=f"{VGG}.json").click()
    expect(page.get_by_text(f"Shown: your upload {VGG}.json")).to_be_visible()
    settle(page)
    sample = samples[VGG]
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms).latencies_ms
    work = Workload(50_000, sample.batch_size, 10)
    shown = {name.rpartition("/")[2]: latency_ms for name, latency_ms in expected.items()}
    for name, cell in column(page, "Time").items():
        assert cell == format_duration(shown[name] * work.steps / 1000)


def test_a_step_that_leaves_the_gpu_idle_is_called_out(page, app_url):
    open_page(page, f"{app_url}/profiles?view=inside&inspect={LENET}")
    expect(page.get_by_text("This step leaves the GPU waiting")).to_be_visible()
    expect(page.get_by_text("Another GPU won't fix it")).to_be_visible()


def test_a_phone_shows_the_list_without_sideways_scrolling(phone, app_url, repository, samples):
    open_page(phone, f"{app_url}/profiles")
    long = payload("a-very-long-name-of-a-profile-" * 4 + ".json", json.dumps({"Device_Conv2D": 5e4}).encode())
    give_files(phone, *files_of(samples, repository, VGG), long, payload("also-" * 30 + ".json", b"{"))
    expect(phone.get_by_role("radiogroup", name="3 profiles")).to_be_visible()
    assert overflow(phone) <= 0
    open_page(phone, f"{app_url}/?source=upload")
    open_sidebar(phone)
    give_files(phone, *files_of(samples, repository, VGG, LENET), long)
    assert overflow(phone) <= 0
