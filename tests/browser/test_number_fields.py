"""Number fields in a real browser, whose own would drop a comma: "203,3" is 203.3, and what is no number is said."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_whole_flow import open_page, settle

pytestmark = pytest.mark.browser

LABEL = "Step latency there (optional)"


def test_marks_of_other_habits_are_understood_or_refused(page, app_url):
    open_page(page, app_url)
    field = page.get_by_role("textbox", name=LABEL)
    field.fill("")
    field.press_sequentially("203,3")
    field.press("Enter")
    settle(page)
    expect(page.get_by_text("= 203.3 ms", exact=True)).to_be_visible()
    assert "latency=203.3" in page.url
    expect(field).to_have_value("203,3")
    field.fill("203;3")
    field.press("Tab")
    settle(page)
    line = page.get_by_role("alert").filter(has_text="is no number")
    expect(line).to_contain_text('"203;3" is no number: write it like 1234.5 or 1.234,5. Until then: 203.3 ms.')
    assert "latency=203.3" in page.url
