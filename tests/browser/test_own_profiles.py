"""Many files at once in a real browser, the list on Profiles, and that the server lets the files go."""

from __future__ import annotations

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.test_whole_flow import LOADED_MS, open_page, settle

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


def test_three_files_and_a_bad_one_become_a_list_that_is_compared_looked_into_and_used(
    page, app_url, repository, samples
):
    open_page(page, f"{app_url}/compare")
    give_files(page, *files_of(samples, repository, VGG, LENET), payload("bad.json", b"{"))
    error = page.get_by_test_id("stAlert").filter(has_text="bad.json: The file is not valid JSON")
    expect(error).to_have_count(1)
    expect(page.get_by_test_id("stFileUploaderFile")).to_have_count(0)
    expect(page.get_by_role("radiogroup", name="3 profiles")).to_be_visible()
    expect(page.get_by_role("radio", name="tensorflow-step.xplane.pb")).to_be_checked()
    refused = page.get_by_test_id("stAlert").filter(has_text="No prediction for these profiles")
    expect(refused).to_contain_text("tensorflow-step.xplane.pb: This profile has no GPU time")
    expect(page.get_by_test_id("stDataFrame")).to_be_visible(timeout=LOADED_MS)

    choose(page, f"{VGG}.json")
    name = page.get_by_role("textbox", name="Name")
    expect(name).to_have_value(f"{VGG}.json")
    name.fill("my_net*[v1](x)")
    name.press("Enter")
    settle(page)
    names = page.evaluate("() => [...document.querySelectorAll('button, [role=radio], label')].map(e => e.innerText)")
    assert not [name for name in names if "\\" in name], "a stranger's name shows no escape marks"
    choose(page, f"{LENET}.json")
    page.get_by_role("button", name="Remove", exact=True).click()
    settle(page)
    expect(page.get_by_role("radiogroup", name="2 profiles")).to_be_visible()

    choose(page, "my_net*[v1](x)")
    page.get_by_role("radio", name="Inside one profile").click()
    settle(page)
    expect(page.get_by_text("the GPU is busy for about 99% of the step")).to_be_visible()
    expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible(timeout=LOADED_MS)
    page.get_by_role("button", name="Use in Predict").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Training time and cost on every cloud GPU, from one profiled step"
    )
    expect(page.get_by_text("your upload my_net*[v1](x)").first).to_be_visible()


def choose(page: Page, name: str) -> None:
    page.get_by_test_id("stRadio").get_by_text(name).first.click()
    settle(page)
