"""What axe-core finds on a page, at two widths, light and dark.

Only what is serious or critical counts, and only what can be changed here: `OF_STREAMLIT` lists what can't, with why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

PATIENCE_MS = 120_000
WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
_COUNTED = ("serious", "critical")
#: Counted whatever their impact.
_COUNTED_RULES = ("heading-order", "page-has-heading-one", "empty-heading")
#: No page has more expanders.
_MAX_FOLDS = 60
#: Labels, tables and captions take a moment longer than the script, and colors and folds change gradually: a page rests
#: when nothing is loading or moving and its markup is the same as a quarter of a second before.
_AT_REST = """async patience_ms => {
  const until = performance.now() + patience_ms;
  const moves = () => document.querySelector('[data-testid=stSkeleton]') || document.getAnimations().some(
    one => one.playState === 'running' && one.effect.getComputedTiming().iterations !== Infinity);
  for (let before = null, now; moves() || (now = document.body.innerHTML) !== before; before = now) {
    if (performance.now() > until) throw new Error('The page does not come to rest.');
    await new Promise(done => setTimeout(done, 250));
  }
}"""
#: What WCAG 2.2 asks for at levels A and AA, and what axe-core's authors hold to be good practice (heading order).
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


_HAS_SCHEME = """scheme => {
  const [r, g, b] = getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor.match(/\\d+/g);
  return (+r + +g + +b > 384) === (scheme === 'light');
}"""
#: What a screen reader or a list of choices says with a backslash in it.
_ESCAPED = """() => [...document.querySelectorAll('[aria-label], [title], [placeholder], [alt], [role=option]')]
  .flatMap(e => [e.getAttribute('aria-label'), e.title, e.placeholder, e.alt, e.role === 'option' ? e.textContent : ''])
  .concat([...document.querySelectorAll('input')].map(e => e.value))
  .filter(text => (text || '').includes('\\\\'))"""
_NAMELESS = """() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
  .filter(e => !e.closest('[aria-label]') && !e.querySelector('[aria-label], [role=img]'))
  .map(e => e.outerHTML.slice(0, 120))"""


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


OF_STREAMLIT = (
    Exempt(
        "scrollable-region-focusable",
        r"stTable|stCode|stMarkdown|table\[aria-label",
        "Streamlit's tables, those of its markdown too, and code scroll sideways where they are too wide, in markup "
        "that is not ours to change; "
        "Chromium (from 130) and Firefox let the keyboard scroll what holds no control.",
    ),
    *(
        Exempt(rule, "stSidebarNavItems", "On a phone Streamlit draws sections of the navigation as parts of one list.")
        for rule in ("list", "listitem")
    ),
    Exempt(
        "target-size",
        "stDateInput",
        "Streamlit draws year, month and day of a date field as parts 17.9 px wide; whether their distance makes up "
        "for that depends on the field's width to a part of a pixel. The keyboard reaches each, and a calendar opens.",
    ),
)


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


_NAVIGATION = "() => [...document.querySelectorAll('[data-testid^=stTopNav][href]')].map(link => link.href)"


def paths(browser: Browser, url: str) -> list[str]:
    """The pages in the navigation, the first one as ''."""
    page = browser.new_context(viewport={"width": WIDTHS[-1], "height": 800}).new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url)
    complete(page)
    page.get_by_test_id("stTopNavSection").click()
    page.get_by_role("menuitem").first.wait_for()
    names = [link.rpartition("/")[2] for link in page.evaluate(_NAVIGATION)]
    page.context.close()
    return names


def complete(page: Page) -> None:
    """Wait until the page's script has run and its charts are drawn."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-testid=stApp][data-test-script-state="notRunning"]')
    for chart in page.locator("[data-testid=stPlotlyChart]:visible").all():
        chart.locator(".main-svg").first.wait_for()


def findings(page: Page) -> list[Finding]:
    """What is wrong with the page as it is now, without what is Streamlit's."""
    options = {"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]}
    response = Axe().run(page, options=options).response
    violations = [
        Finding(
            rule["id"],
            rule["impact"],
            _where(page, " ".join(map(str, node["target"]))),
            node["html"],
            "; ".join(check["message"] for check in (*node["any"], *node["all"], *node["none"])),
        )
        for rule in response["violations"]
        if rule["impact"] in _COUNTED or rule["id"] in _COUNTED_RULES
        for node in rule["nodes"]
    ]
    violations += [
        Finding("escape-mark", "serious", "", label, "A label shows a backslash.") for label in page.evaluate(_ESCAPED)
    ]
    violations += [
        Finding("chart-name", "serious", "", html, "A chart has no name.") for html in page.evaluate(_NAMELESS)
    ]
    return [one for one in violations if not any(_is_exempt(one, exempt) for exempt in OF_STREAMLIT)]


def _where(page: Page, target: str) -> str:
    """An element's selector, and in which of Streamlit's widgets it stands: the selector alone may not say so."""
    widgets = page.evaluate(
        "at => ['stTable', 'stMarkdown', 'stDateInput', 'stSidebarNavItems']"
        ".filter(id => document.querySelector(at)?.closest(`[data-testid=${id}]`))",
        target,
    )
    return " in ".join([target, *widgets])


def findings_of(browser: Browser, url: str, path: str) -> dict[str, list[Finding]]:
    """Width and scheme -> what is wrong with a page, with all opened that folds."""
    page = browser.new_context(viewport={"width": WIDTHS[-1], "height": 900}).new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{url}/{path}")
    complete(page)
    unfold(page)
    by_view = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(_HAS_SCHEME, arg=scheme)
            page.evaluate(_AT_REST, PATIENCE_MS)
            by_view[f"{width} {scheme}"] = findings(page)
    page.context.close()
    return by_view


def unfold(page: Page) -> None:
    """Open every expander, and those within."""
    for _ in range(_MAX_FOLDS):
        closed = page.locator("details:not([open]) > summary:visible")
        if not closed.count():
            return
        closed.first.click()
        page.evaluate(_AT_REST, PATIENCE_MS)
        complete(page)


def _is_exempt(one: Finding, exempt: Exempt) -> bool:
    return one.rule == exempt.rule and bool(re.search(exempt.target, f"{one.target} {one.html}"))
