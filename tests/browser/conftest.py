"""Starts the app on a free port and a headless Chromium; without a browser the tests are skipped, in CI they fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.served_app import FLAGS, chromium_path, served

# Playwright waits five seconds for what a test expects to see; a busy machine takes longer for the first page.
expect.set_options(timeout=20_000)


# Closed before other tests: while it is open, an event loop of its own runs in the tests' thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = chromium_path()
    if found is None:
        reason = "no Chromium is installed: sudo apt-get install chromium"
        if os.environ.get("PROFET_REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def app_url(repository: Path) -> Iterator[str]:
    """The address of the app, served for all these tests."""
    with served(repository / "streamlit_app.py", started_in=repository) as url:
        yield url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """A page as narrow as a phone's."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()
