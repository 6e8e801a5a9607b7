"""The first page on a cold and a warm server and over a slow line, and the slider, in a headless Chromium."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Request, sync_playwright

from benchmarks.served_app import FLAGS, SCRIPT, chromium_path, served

#: A slow line, as on the way.
MBIT_PER_S, ROUND_TRIP_MS = 1.6, 150
_PATIENCE_MS = 120_000
#: Between two moves of the slider, and how many there are.
_REST_MS, _MOVES = 700, 20
#: The values behind the bars.
_VALUES = ":is([data-chart=cost-bars] .value, .st-key-cost-bars :is(.textpoint text, .bartext))"
_WIDE = {"width": 1280, "height": 800}
#: The first amount of time or money outside of the fields.
_ANSWER = """() => [...document.querySelectorAll(
  '#first-paint td, [data-testid=stMain] :is([data-testid=stMarkdownContainer], [data-testid=stTable],' +
  '[data-testid=stMetric])')]
  .some(part => !part.closest('label, button') && /\\$\\d|\\d\\s(ms|s|min|h)\\b/.test(part.innerText))"""

#: While the code of an element is on its way, a skeleton stands in its place.
_DRAWN = """() => !document.querySelector('[data-testid=stMain] [data-testid=stSkeleton]') &&
  [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
  .every(chart => chart.querySelector('.main-svg') || !chart.checkVisibility())"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless browser."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def _first_page(browser: Browser, url: str, *, is_slow: bool = False) -> dict[str, float]:
    """Open a served page in a new browser profile, over a line that may be made slow.

    Seconds until the first answer is read and until all is drawn, and what came over a slow line: megabytes and files,
    and `reload_mb` when the page was loaded again.
    """
    page = _new_page(browser)
    received: list[float] = []
    loaded: list[Request] = []
    if is_slow:
        line, bytes_per_s = page.context.new_cdp_session(page), MBIT_PER_S * 125_000
        line.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
        page.on("requestfinished", lambda request: loaded.append(request))
        page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data))))
        line.send("Network.enable")
        rates = {"downloadThroughput": bytes_per_s, "uploadThroughput": bytes_per_s}
        line.send("Network.emulateNetworkConditions", {"offline": False, "latency": ROUND_TRIP_MS, **rates})
    started = time.perf_counter()
    # Its fonts and pictures may come later.
    page.goto(url, wait_until="commit")
    page.wait_for_function(_ANSWER)
    answer_s = time.perf_counter() - started
    _wait_until_drawn(page)
    complete_s = time.perf_counter() - started
    wire_mb, files = 0.0, 0
    if is_slow:
        page.wait_for_load_state("networkidle")
        wire_mb, files = sum(received) / 1e6, len(loaded)
        page.reload(wait_until="commit")
        _wait_until_drawn(page)
        page.wait_for_load_state("networkidle")
    page.context.close()
    return {
        "answer_s": answer_s,
        "complete_s": complete_s,
        "wire_mb": wire_mb,
        "files": files,
        "reload_mb": sum(received) / 1e6 - wire_mb,
    }


def _slider_ms(browser: Browser, url: str) -> list[float]:
    """Milliseconds from the release of the batch-size slider until the bars show other values, one per move."""
    page = _new_page(browser)
    page.goto(url)
    _wait_until_drawn(page)
    page.wait_for_selector(_VALUES, state="attached")
    page.get_by_role("slider", name="Batch size").focus()
    moves_ms = []
    for move in range(_MOVES):
        page.wait_for_timeout(_REST_MS)
        before = page.locator(_VALUES).first.text_content()
        started = time.perf_counter()
        page.keyboard.press("ArrowRight" if move % 2 == 0 else "ArrowLeft")
        page.wait_for_function(
            "([values, before]) => ![before, undefined].includes(document.querySelector(values)?.textContent)",
            arg=[_VALUES, before],
            polling=5,
        )
        moves_ms.append(1_000 * (time.perf_counter() - started))
    page.context.close()
    return moves_ms


def _new_page(browser: Browser) -> Page:
    """In a browser profile of its own: nothing is kept from before."""
    page = browser.new_context(viewport=_WIDE).new_page()
    page.set_default_timeout(_PATIENCE_MS)
    return page


def _wait_until_drawn(page: Page) -> None:
    """Until the script has run and every element stands where its place was."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-testid=stApp][data-test-script-state="notRunning"]')
    page.wait_for_function(_DRAWN)


def opened(
    browser: Browser, repeats: int, script: Path = SCRIPT
) -> tuple[dict[str, list[dict[str, float]]], list[float]]:
    """How fast the app is, or another script that has the same slider and bars; the slider's moves, milliseconds.

    Runs of a first page on a "cold" server, a "warm" one, and from that over a "slow" line.
    """
    cold = []
    for _ in range(repeats):
        with served(script) as url:
            cold.append(_first_page(browser, url))
    with served(script) as url:
        _first_page(browser, url)
        warm = [_first_page(browser, url) for _ in range(repeats)]
        slow = [_first_page(browser, url, is_slow=True) for _ in range(repeats)]
        return {"cold": cold, "warm": warm, "slow": slow}, _slider_ms(browser, url)
