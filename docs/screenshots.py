"""Takes the README's pictures of the app, light and dark: `python -m docs.screenshots`, or `make screenshots`."""

from __future__ import annotations

import argparse
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from benchmarks.served_app import FLAGS, chromium_path, served

REPOSITORY = Path(__file__).resolve().parents[1]
IMAGES = REPOSITORY / "docs" / "images"
SIZE = {"width": 1280, "height": 800}
#: A picture of a page that a reader loads with the README.
MAX_BYTES = 200_000
#: A busy machine takes its time to draw a chart.
PATIENCE_S = 120
#: After the page has moved, for the header to follow.
SETTLE_MS = 1000


def main() -> None:
    """Start the app, take each picture, stop the app."""
    parser = argparse.ArgumentParser(prog="python -m docs.screenshots", description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGES, metavar="DIR", help="folder to write (docs/images)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chromium = chromium_path()
    if chromium is None:
        raise SystemExit("No Chromium is installed: sudo apt-get install chromium.")
    with served() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=[*FLAGS, "--hide-scrollbars"])
        for scheme in ("light", "dark"):
            path = options.out / f"answer-{scheme}.png"
            take(browser, url, scheme, path)
            print(f"{path}: {path.stat().st_size:,} bytes")
        browser.close()


def take(browser: Browser, url: str, scheme: str, path: Path) -> None:
    """Write the answer for the first sample, as a visitor with a light or dark desktop sees it.

    Raises
    ------
    SystemExit : the picture has more than `MAX_BYTES`.
    """
    context = browser.new_context(viewport=SIZE, color_scheme=scheme, reduced_motion="reduce")
    context.set_default_timeout(1000 * PATIENCE_S)
    expect.set_options(timeout=1000 * PATIENCE_S)
    page = context.new_page()
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    # Charts and fonts load their code when first shown.
    expect(page.locator(".js-plotly-plot .xtick text").first).to_be_visible()
    page.evaluate("document.fonts.ready")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=path, animations="disabled", caret="hide")
    context.close()
    if path.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{path} has {path.stat().st_size:,} bytes, more than {MAX_BYTES:,}.")


if __name__ == "__main__":
    main()
