"""What each page asks of a reader, measured in a headless Chromium: `python -m benchmarks.pages`.

Words and controls that are seen before anything is opened, the height of the page on a phone, and the seconds from
opening its address until all of it is there; on a server that is warm, and medians of repeats. Below, beside what the
pages asked before they became four: `pages_before.csv`, measured by the same script on the commit that it names.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.served_app import FLAGS, chromium_path, served

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PATIENCE_MS = 120_000
#: A page of before a row, with the address of the page that it became.
BEFORE = Path(__file__).with_name("pages_before.csv")
FIRST_PAGE = "first page"
#: What doesn't change for so long stays as it is.
SETTLED_MS = 1500

_WHOLE = ("words", "controls", "phone_height_px")
_VISIBLE = "element => element.checkVisibility({visibilityProperty: true, opacityProperty: true})"
_WORDS = f"""() => {{
  const seen = {_VISIBLE};
  const walker = document.createTreeWalker(document.querySelector('[data-testid=stApp]'), NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {{
    const node = walker.currentNode;
    // Labels of a chart and names of icons aren't read as words.
    if (node.parentElement.closest('svg, style, script, [data-testid=stIconMaterial]') || !seen(node.parentElement))
      continue;
    // What only a screen reader finds is clipped to a point or beyond the edge.
    const box = node.parentElement.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1 || box.right <= 0 || box.bottom + window.scrollY <= 0) continue;
    words += (node.textContent.match(/[\\p{{L}}\\p{{N}}]+[^\\s]*/gu) || []).length;
  }}
  return words;
}}"""
_CONTROLS = f"""() => {{
  const kinds = 'input, textarea, select, button, a[href], summary, [role=slider], [role=radio], [role=combobox]';
  const parts = [...document.querySelectorAll('[data-testid=stMain], [data-testid=stSidebar]')];
  return parts.flatMap(part => [...part.querySelectorAll(kinds)]).filter({_VISIBLE}).length;
}}"""
_HEIGHT = "() => Math.max(...[...document.querySelectorAll('[data-testid=stMain], body')].map(e => e.scrollHeight))"
_NAVIGATION = "() => [...document.querySelectorAll('[data-testid^=stTopNav][href]')].map(link => link.href)"


@dataclass(frozen=True, slots=True)
class PageFigures:
    """One page; the seconds are None where they were not measured on a quiet machine."""

    name: str
    words: int
    controls: int
    phone_height_px: int
    seconds: float | None


def measure(browser: Browser, url: str, path: str, repeats: int) -> PageFigures:
    """The page at an address, opened `repeats` times."""
    seconds = []
    for _ in range(repeats):
        page = _opened(browser, WIDE)
        started = time.perf_counter()
        page.goto(f"{url}/{path}")
        complete(page)
        seconds.append(time.perf_counter() - started)
        settle(page)
        words, controls = page.evaluate(_WORDS), page.evaluate(_CONTROLS)
        page.context.close()
    phone = _opened(browser, PHONE)
    phone.goto(f"{url}/{path}")
    complete(phone)
    settle(phone)
    height = phone.evaluate(_HEIGHT)
    phone.context.close()
    return PageFigures(path or FIRST_PAGE, words, controls, height, statistics.median(seconds))


def paths(browser: Browser, url: str) -> list[str]:
    """The pages in the navigation, the first one as ''."""
    page = _opened(browser, WIDE)
    page.goto(url)
    complete(page)
    page.get_by_test_id("stTopNavSection").click()
    page.get_by_role("menuitem").first.wait_for()
    found = [link.rpartition("/")[2] for link in page.evaluate(_NAVIGATION)]
    page.context.close()
    return found


def _opened(browser: Browser, size: dict[str, int]) -> Page:
    context = browser.new_context(viewport=size)
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


def complete(page: Page) -> None:
    """Wait until the page's script has run and its charts are drawn."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-testid=stApp][data-test-script-state="notRunning"]')
    for chart in page.locator("[data-testid=stPlotlyChart]:visible").all():
        chart.locator(".main-svg").first.wait_for()


def settle(page: Page) -> None:
    """Wait until nothing moves: parts of a page load their code when they are first shown."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function("() => !document.querySelector('[data-testid=stSkeleton]')")
    before = None
    while (now := (page.evaluate(_WORDS), page.evaluate(_HEIGHT))) != before:
        before = now
        page.wait_for_timeout(SETTLED_MS)


def before() -> list[tuple[str, PageFigures]]:
    """What the pages asked before, each with the address of the page that it became."""
    with BEFORE.open(encoding="utf-8", newline="") as file:
        return [
            (
                row["became"],
                PageFigures(
                    row["page"],
                    *(int(row[name]) for name in _WHOLE),
                    float(row["seconds"]) if row["seconds"] else None,
                ),
            )
            for row in csv.DictReader(line for line in file if not line.startswith("#"))
        ]


def print_figures(rows: Iterable[PageFigures]) -> None:
    """A line a page."""
    for row in rows:
        seconds = "–" if row.seconds is None else f"{row.seconds:.2f}"
        print(f"{row.name:<14} {row.words:>6} {row.controls:>9} {row.phone_height_px:>15} {seconds:>8}", flush=True)


def print_beside_before(now: Iterable[PageFigures]) -> None:
    """Each page below those that it took the place of."""
    for row in now:
        print()
        print_figures([replace(old, name=f"- {old.name}") for became, old in before() if became == row.name])
        print_figures([row])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    chromium = chromium_path()
    if chromium is None:
        raise SystemExit("No Chromium is installed: sudo apt-get install chromium.")
    print(f"{'page':<14} {'words':>6} {'controls':>9} {'px high at 390':>15} {'seconds':>8}")
    with served() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        print_beside_before(measure(browser, url, path, options.repeats) for path in paths(browser, url))
        browser.close()


if __name__ == "__main__":
    main()
