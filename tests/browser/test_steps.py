"""How many steps a file covers, in a real browser: preset, inferred, chosen, questioned; on a phone too."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_own_profiles import VGG, give_files, payload
from tests.browser.test_whole_flow import follow, open_page, settle

pytestmark = pytest.mark.browser


def recorded(samples, steps: int) -> bytes:
    """A file of so many steps of a sample, which doesn't say how many."""
    totals = {name: us * steps for name, us in samples[VGG].profile.operations.items()}
    return json.dumps({"operations": totals, "meta": {"gpu": "Tesla M60"}}).encode()


def choose(page: Page, label: str) -> None:
    page.get_by_role("radio", name=label, exact=True).click()
    settle(page)


def type_number(page: Page, label: str, number: float) -> None:
    field = page.get_by_role("spinbutton", name=label, exact=True)
    field.fill(str(number))
    field.press("Enter")
    settle(page)


def test_it_is_preset_then_inferred_then_chosen_then_questioned(page, app_url, samples):
    open_page(page, f"{app_url}/?source=upload")
    give_files(page, payload("net.json", recorded(samples, 5)))
    expect(page.get_by_role("radio", name="1 step", exact=True)).to_be_checked()
    expect(page.get_by_text("one step assumed")).to_be_visible()
    type_number(page, "3 · Anchor latency (optional)", samples[VGG].latency_ms)
    expect(page.get_by_role("radio", name="n steps", exact=True)).to_be_checked()
    expect(page.get_by_role("spinbutton", name="Steps", exact=True)).to_have_value("5")
    expect(page.get_by_text("the latency match 5 steps")).to_be_visible()
    choose(page, "2 steps")
    expect(page.get_by_text("does the file cover 5 steps?")).to_be_visible()
    page.get_by_role("button", name="Read it as 5 steps").click()
    settle(page)
    expect(page.get_by_text("5 steps, as you say.")).to_be_visible()
    expect(page.get_by_text("doesn't fit this profile")).to_have_count(0)
    assert "steps=5" in page.url
    follow(page, "Compare")
    expect(page.get_by_role("spinbutton", name="Steps", exact=True)).to_have_value("5")
