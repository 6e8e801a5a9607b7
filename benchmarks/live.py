"""From moving a slider to the changed view, in a headless Chromium: `python -m benchmarks.live`.

A key is pressed on the slider, again and again. Its chart's cursor is drawn in the browser; the read-off below comes
from the server. Times are from the key's press, as the browser sees it, until the page has changed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

from benchmarks.first_page import chromium, new_page, wait_until_drawn
from benchmarks.served_app import served

PATH, REPEATS = "sizes", 25
#: Notes when a key goes down, and what changes after that: the cursor's attributes, and texts of the read-off.
_WATCH = """() => {
  const view = document.querySelector('[class*="st-key-live-"]');
  const cursor = view.querySelector('.live-cursor');
  window.seen = {};
  addEventListener('keydown', () => { window.seen = {pressed: performance.now()}; }, true);
  const note = name => () => { window.seen[name] ??= performance.now(); };
  new MutationObserver(note('cursor')).observe(cursor, {attributes: true, attributeFilter: ['data-at']});
  const text = () => view.querySelector('table')?.textContent;
  let before = text();
  new MutationObserver(() => {
    if (text() && text() !== before) {
      before = text();
      note('text')();
    }
  }).observe(view, {subtree: true, characterData: true, childList: true});
}"""
_SEEN = "() => window.seen.cursor && window.seen.text && window.seen"


@dataclass(frozen=True, slots=True)
class Move:
    """Milliseconds from a key's press until the cursor stands at the new value, and until the read-off says so."""

    cursor_ms: float
    text_ms: float


def moves(page: Page, repeats: int) -> Iterator[Move]:
    """Press a key on the slider of the page's live view, wait until all has changed, and rest."""
    page.get_by_role("slider").focus()
    page.evaluate(_WATCH)
    for number in range(repeats):
        page.keyboard.press(("ArrowRight", "ArrowLeft")[number % 20 >= 10])
        seen = page.wait_for_function(_SEEN).json_value()
        yield Move(seen["cursor"] - seen["pressed"], seen["text"] - seen["pressed"])
        page.wait_for_timeout(200)


def slider(browser: Browser, url: str, repeats: int = REPEATS) -> Move:
    """Medians, after some moves that are not counted."""
    page = new_page(browser)
    page.goto(f"{url}/{PATH}")
    wait_until_drawn(page)
    page.locator(".live-cursor").wait_for(state="attached")
    every = list(moves(page, repeats + 5))[5:]
    page.context.close()
    return Move(statistics.median(move.cursor_ms for move in every), statistics.median(move.text_ms for move in every))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    with chromium() as browser, served() as url:
        move = slider(browser, url, options.repeats)
    print(f"a slider's key to the cursor: {move.cursor_ms:.0f} ms, to the read-off: {move.text_ms:.0f} ms (medians)")


if __name__ == "__main__":
    main()
