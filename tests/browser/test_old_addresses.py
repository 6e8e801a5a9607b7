"""Links to pages that are gone, in a real browser: typed directly, on a fresh session, and left again by Back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_whole_flow import open_page, settle

pytestmark = pytest.mark.browser

ANSWER = "Which cloud GPU should train it?"
VGG, LENET = "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s"
#: Old link, the page's heading today, and what the address then ends with.
LINKS = [
    ("predict?sample=" + VGG, ANSWER, f"/?sample={VGG}"),
    ("cost?epochs=3", ANSWER, "/?epochs=3"),
    ("advise?deadline_h=5", ANSWER, "/?deadline_h=5"),
    ("scale?axis=pixels", "", "/sizes?axis=pixels"),
    ("compare", "Profiles", "/profiles"),
    (
        f"compare?compare_samples={VGG},{LENET}&compare_by=cost",
        "Profiles",
        f"/profiles?compare_samples={VGG},{LENET}&compare_by=cost",
    ),
    (f"inspect/?inspect={LENET}", "Profiles", f"/profiles?inspect={LENET}&view=inside"),
    ("accuracy?latency_is=not", "How good is it?", "/about?latency_is=not&open=accuracy"),
    ("guide", "How good is it?", "/about?open=method"),
]


@pytest.mark.parametrize(("link", "heading", "ends"), LINKS)
def test_an_old_link_opens_the_page_of_today_with_its_settings(page, app_url, link, heading, ends):
    open_page(page, f"{app_url}/{link}")
    if heading:
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    expect(page.get_by_text("Page not found")).to_have_count(0)
    expect(page).to_have_url(re.compile(re.escape(ends) + "$"))


def test_what_the_old_link_asked_for_is_shown(page, app_url):
    open_page(page, f"{app_url}/inspect?inspect={LENET}")
    expect(page.get_by_text("This step leaves the GPU waiting")).to_be_visible()
    open_page(page, f"{app_url}/accuracy?points_anchor=g4dn.xlarge")
    expect(page.get_by_role("combobox", name="Anchor")).to_have_value(re.compile("g4dn.xlarge"))


def test_back_leaves_the_page_that_an_old_link_opened(page, app_url):
    open_page(page, app_url)
    page.goto(f"{app_url}/guide")
    expect(page.get_by_role("heading", level=1)).to_have_text("How good is it?")
    settle(page)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(ANSWER)


def test_a_link_within_the_app_opens_what_it_names(page, app_url):
    open_page(page, f"{app_url}/?sample={LENET}")
    page.get_by_role("link", name="What is in it?").click()
    expect(page.get_by_text("This step leaves the GPU waiting")).to_be_visible()
    settle(page)
    page.go_back()
    expect(page.get_by_role("link", name="What is in it?")).to_be_visible()
    open_page(page, f"{app_url}/profiles")
    page.get_by_role("link", name="How to record one").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("How good is it?")
    expect(page.get_by_text("profet_recorder").first).to_be_visible()
