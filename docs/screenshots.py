"""Takes pictures of the app: the README's (`make screenshots`), or of every page (`--every DIR`)."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.served_app import FLAGS, chromium_path, served

REPOSITORY = Path(__file__).resolve().parents[1]
IMAGES = REPOSITORY / "docs" / "images"
#: Width and height in pixels: a large and a small laptop, and a phone.
LAPTOP, SMALL, PHONE = (1440, 900), (1280, 800), (390, 844)
PAGES = ("", "scaler", "sizes", "compare", "scale_out", "estimate", "accuracy", "about")
VIEWS = (
    "?chart=scatter",
    "?chart=table",
    "?preset=original&per=epoch",
    "?predict_open=p3.2xlarge&preset=original",
    "estimate?hardware=cpus",
)
#: A picture of a page that a reader loads with the README.
MAX_BYTES = 200_000
#: A busy machine takes its time to draw a chart.
PATIENCE_S = 120
#: After the page has moved, for the header to follow.
SETTLE_MS = 1000


#: The file's name, the page's address, the color scheme, and the window in pixels.
Picture = tuple[str, str, str, tuple[int, int]]
README: tuple[Picture, ...] = tuple((f"predict-{scheme}", "", scheme, LAPTOP) for scheme in ("light", "dark"))


def every_page() -> list[Picture]:
    """Each page and view, light and dark, at each size."""
    stems = {path: re.sub(r"\W|_", "-", path).strip("-") or "predict" for path in (*PAGES, *VIEWS)}
    return [
        (f"{stems[path]}-{scheme}-{size[0]}", path, scheme, size)
        for path in (*PAGES, *VIEWS)
        for scheme in ("light", "dark")
        for size in (LAPTOP, SMALL, PHONE)
    ]


def main() -> None:
    """Start the app, take each picture, stop the app."""
    parser = argparse.ArgumentParser(prog="python -m docs.screenshots", description=__doc__)
    parser.add_argument("--every", type=Path, metavar="DIR", help="take every page instead, whole, into this folder")
    options = parser.parse_args()
    out, pictures = (IMAGES, list(README)) if options.every is None else (options.every, every_page())
    out.mkdir(parents=True, exist_ok=True)
    chromium = chromium_path()
    if chromium is None:
        raise SystemExit("No Chromium is installed: sudo apt-get install chromium.")
    expect.set_options(timeout=1000 * PATIENCE_S)
    with served() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=[*FLAGS, "--hide-scrollbars"])
        for picture in pictures:
            path = out / f"{picture[0]}.png"
            take(browser, url, picture, path, whole=options.every is not None)
            print(f"{path}: {path.stat().st_size:,} bytes", flush=True)
            if options.every is None and path.stat().st_size > MAX_BYTES:
                raise SystemExit(f"{path} has more than {MAX_BYTES:,} bytes.")
        browser.close()


def take(browser: Browser, url: str, picture: Picture, path: Path, *, whole: bool) -> None:
    """Write a picture of a page as a visitor first sees it, or of the whole of it."""
    _, address, scheme, (width, height) = picture
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    page.goto(f"{url}/{address}")
    _complete(page)
    if whole:
        # Streamlit scrolls the page inside the window: a window as high as the page shows all of it.
        needed = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": width, "height": max(height, int(needed))})
        _complete(page)
    page.screenshot(path=path, animations="disabled", caret="hide")
    context.close()


def _complete(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    # Widgets, charts and fonts load their code when first shown.
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    for chart in page.locator("[data-testid=stPlotlyChart]:visible").all():
        expect(chart.locator(".main-svg").first).to_be_visible()
    page.evaluate("document.fonts.ready")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(SETTLE_MS)


if __name__ == "__main__":
    main()
