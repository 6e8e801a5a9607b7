"""What axe-core finds on every page, at two widths, light and dark: `python -m benchmarks.accessibility`.

Only what is serious or critical counts, and only what can be changed here: `OF_STREAMLIT` lists what can't, with why.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from dataclasses import dataclass

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.pages import complete, paths, settle
from benchmarks.served_app import FLAGS, chromium_path, served

WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
_COUNTED = ("serious", "critical")
#: What WCAG 2.2 asks for at levels A and AA, and what axe-core's authors hold to be good practice (heading order).
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@dataclass(frozen=True, slots=True)
class Exempt:
    """What axe-core finds and nobody here can change.

    Attributes
    ----------
    target : pattern of the element's place or markup.
    """

    rule: str
    target: str
    reason: str


OF_STREAMLIT: tuple[Exempt, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One element that breaks one rule."""

    rule: str
    impact: str
    target: str
    html: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} ({self.impact}) at {self.target}: {self.message} {self.html[:200]}"


def findings(page: Page, impacts: Iterable[str] = _COUNTED) -> list[Finding]:
    """What axe-core finds on the page as it is now, without what is Streamlit's."""
    counted = tuple(impacts)
    options = {"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]}
    response = Axe().run(page, options=options).response
    found = [
        Finding(
            rule["id"],
            rule["impact"],
            " ".join(map(str, node["target"])),
            node["html"],
            "; ".join(check["message"] for check in (*node["any"], *node["all"], *node["none"])),
        )
        for rule in response["violations"]
        if rule["impact"] in counted
        for node in rule["nodes"]
    ]
    return [one for one in found if not any(_is_exempt(one, exempt) for exempt in OF_STREAMLIT)]


def findings_of(browser: Browser, url: str, width: int, scheme: str) -> dict[str, list[Finding]]:
    """Page -> its findings, of every page in the navigation."""
    found = {}
    for path in paths(browser, url):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.goto(f"{url}/{path}")
        complete(page)
        settle(page)
        found[path or "first page"] = findings(page)
        context.close()
    return found


def _is_exempt(one: Finding, exempt: Exempt) -> bool:
    return one.rule == exempt.rule and bool(re.search(exempt.target, f"{one.target} {one.html}"))


def main() -> None:
    """Check and print; fails if there is anything."""
    argparse.ArgumentParser(prog="python -m benchmarks.accessibility", description=__doc__).parse_args()
    chromium = chromium_path()
    if chromium is None:
        raise SystemExit("No Chromium is installed: sudo apt-get install chromium.")
    count = 0
    with served() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for width in WIDTHS:
            for scheme in SCHEMES:
                for path, found in findings_of(browser, url, width, scheme).items():
                    print(f"{path:<14} {width:>5} {scheme:<6} {len(found)}")
                    for one in found:
                        print(f"    {one}")
                    count += len(found)
        browser.close()
    raise SystemExit(1 if count else 0)


if __name__ == "__main__":
    main()
