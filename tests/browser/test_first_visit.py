"""A fresh server's very first visit, by any link and from any working directory, opens the page that was asked for."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import served
from tests.browser.test_whole_flow import open_page

pytestmark = pytest.mark.browser

PREDICT = "Training time and cost on every cloud GPU, from one profiled step"
SIZES = "Latency and cost by batch size and image size"


@pytest.mark.parametrize(
    ("link", "heading"),
    [
        ("", PREDICT),
        ("sizes?epochs=3", SIZES),
    ],
)
def test_the_first_link_opens_its_page(page, repository, link, heading):
    with served(repository / "streamlit_app.py") as url:
        open_page(page, f"{url}/{link}")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        expect(page.get_by_text("Page not found")).to_have_count(0)
        assert page.url == f"{url}/{link}"
