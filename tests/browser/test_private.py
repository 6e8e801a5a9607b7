"""Browsers call no other host for any page, and a served session asks none."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Request, expect

from benchmarks.served_app import served
from tests.browser.accessibility import unfold
from tests.browser.test_whole_flow import PAGES, follow, give_file, open_page, settle
from tests.made.asked import Asked

pytestmark = pytest.mark.browser


def test_browsers_ask_no_other_origin_for_any_page(page, app_url):
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    for name in PAGES:
        open_page(page, f"{app_url}/{name}")
        unfold(page)
        page.wait_for_load_state("networkidle")
    hosts = {urlsplit(request.url).netloc for request in asked if urlsplit(request.url).scheme not in {"data", "blob"}}
    assert len(asked) > 50
    assert hosts == {urlsplit(app_url).netloc}


def test_a_served_session_asks_no_outside_host(page, tmp_path, samples):
    asked = Asked(tmp_path)
    sample = samples["vgg16-224px-b16-g3s"]
    with served(under=asked.under, environment=asked.environment) as url:
        open_page(page, url)
        page.get_by_role("radio", name="Upload").click()
        settle(page)
        give_file(page, sample.data, "mine.json")
        expect(page.get_by_text("mine.json: PROFET JSON")).to_be_visible()
        for name in ("Sizes", "Compare", "Accuracy", "About", "Predict"):
            follow(page, name)
    assert asked.outside == set()
