"""Starts the app on a free port and a headless Chromium; without a browser the tests are skipped, in CI they fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from benchmarks.served_app import FLAGS, chromium_path, served

# Playwright waits five seconds for what a test expects to see; a busy machine takes longer for the first page.
expect.set_options(timeout=60_000)

#: Notes in each page in which order it asks for runs of its script, runs end, and files are sent: `settle` reads it.
#: Of a message the fields count: a browser's 11 asks for a run, a server's 6 says that one ended (2: for another run).
_WATCH = """(() => {
  const seen = window.profetSeen = {clock: 0, asked: 0, ended: 0, sending: 0};
  const fields = function* (bytes) {
    let at = 0;
    const number = () => {
      let value = 0, shift = 0, byte;
      do { byte = bytes[at++]; value += (byte & 127) * 2 ** shift; shift += 7; } while (byte & 128);
      return value;
    };
    while (at < bytes.length) {
      const tag = number(), long = number();
      yield [tag >> 3, long];
      if ((tag & 7) === 2) at += long;
    }
  };
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (!this.profetWatched) {
      this.profetWatched = true;
      this.addEventListener("message", ({data}) => {
        for (const [field, value] of fields(new Uint8Array(data)))
          if (field === 6 && value !== 2) seen.ended = ++seen.clock;
      });
    }
    for (const [field] of fields(new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength)))
      if (field === 11) seen.asked = ++seen.clock;
    return send.call(this, data);
  };
  const sendFile = XMLHttpRequest.prototype.send;
  XMLHttpRequest.prototype.send = function (...body) {
    seen.sending++;
    this.addEventListener("loadend", () => seen.sending--);
    return sendFile.apply(this, body);
  };
})()"""


# Closed before other tests: while it is open, an event loop of its own runs in the tests' thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        reason = "no Chromium is installed: sudo apt-get install chromium"
        if os.environ.get("PROFET_REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def app_url(repository: Path) -> Iterator[str]:
    """The address of the app, served for all these tests."""
    with served(repository / "streamlit_app.py") as url:
        yield url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(20_000)
    context.add_init_script(_WATCH)
    yield context.new_page()
    context.close()


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """A page as narrow as a phone's."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    context.set_default_timeout(20_000)
    context.add_init_script(_WATCH)
    yield context.new_page()
    context.close()


def navigation_link(page: Page, name: str) -> Locator:
    """A link of the navigation; those under More are drawn once it is open."""
    link = page.get_by_test_id("stTopNavLink").filter(has_text=name)
    if link.count() == 0:
        page.get_by_test_id("stTopNavSection").click()
        link = page.get_by_role("menuitem").filter(has_text=name)
    return link
