"""A newcomer's way to a costed answer for a training of their own: `python -m benchmarks.newcomer [--file PROFILE]`.

Opens the app, gives a profile, says how many images and epochs, and waits for what to rent: at a person's pace, by the
labels that a person reads, on a laptop and on a phone. Prints the inputs that it took and the seconds.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from benchmarks.pages import PATIENCE_MS, PHONE, WIDE, complete
from benchmarks.served_app import FLAGS, chromium_path, served
from profet_core.artifacts.samples import load_samples

IMAGES, EPOCHS = 20_000, 30
#: What it should take.
MOST_INPUTS, MOST_SECONDS = 3, 30.0
#: To find the next thing to do, and between two keys.
LOOK_MS, KEY_MS = 1000, 150


@dataclass(slots=True)
class Way:
    """What it took.

    Attributes
    ----------
    inputs : fields that were filled. clicks : what had to be clicked to get to them.
    answer : what the page then says first.
    """

    inputs: int = 0
    clicks: int = 0
    seconds: float = 0.0
    answer: str = ""


def newcomer(browser: Browser, url: str, file: Path, size: dict[str, int]) -> Way:
    """Go the whole way in a fresh browser."""
    page = browser.new_context(viewport=size).new_page()
    page.set_default_timeout(PATIENCE_MS)
    way, started = Way(), time.perf_counter()
    page.goto(url)
    complete(page)
    unfold = page.get_by_test_id("stExpandSidebarButton")
    if unfold.is_visible():
        _click(way, page, unfold)
    _click(way, page, page.get_by_role("radio", name="Upload", exact=True))
    page.wait_for_timeout(LOOK_MS)
    page.locator("input[type=file]").first.set_input_files(file)
    way.inputs += 1
    page.get_by_text(f"Shown: your upload {file.name}").first.wait_for()
    _fill(way, page, "Images", str(IMAGES))
    _fill(way, page, "Epochs", str(EPOCHS))
    page.get_by_text(f"{IMAGES:,} images, {EPOCHS} epochs").first.wait_for(state="attached")
    complete(page)
    way.seconds = time.perf_counter() - started
    way.answer = page.get_by_role("heading", level=2, include_hidden=True).first.inner_text()
    page.context.close()
    return way


def _click(way: Way, page: Page, control: Locator) -> None:
    control.wait_for()
    page.wait_for_timeout(LOOK_MS)
    control.click()
    complete(page)
    way.clicks += 1


def _fill(way: Way, page: Page, label: str, text: str) -> None:
    field = page.get_by_role("textbox", name=label, exact=True)
    field.wait_for()
    page.wait_for_timeout(LOOK_MS)
    field.fill("")
    field.press_sequentially(text, delay=KEY_MS)
    field.press("Enter")
    way.inputs += 1


def main() -> None:
    """Go the way on both sizes and print what it took; fails if it took more than it should."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.newcomer", description=__doc__)
    parser.add_argument(
        "--file", type=Path, default=load_samples()[0].path, help="a profile (default: a sample's file)"
    )
    options = parser.parse_args()
    chromium = chromium_path()
    if chromium is None:
        raise SystemExit("No Chromium is installed: sudo apt-get install chromium.")
    missed = False
    with served() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for name, size in (("1280 px", WIDE), ("390 px", PHONE)):
            way = newcomer(browser, url, options.file, size)
            print(f"{name:<8} {way.inputs} inputs, {way.clicks} clicks, {way.seconds:.1f} s: {way.answer}")
            missed |= way.inputs > MOST_INPUTS or way.seconds > MOST_SECONDS
        browser.close()
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
