"""axe-core finds nothing serious on any page, nor in what opens on them, at two widths, light and dark."""

from __future__ import annotations

import pytest

from tests.browser.accessibility import SCHEMES, findings, findings_of, paths
from tests.browser.test_whole_flow import open_page, settle

pytestmark = pytest.mark.browser


def test_every_page_unfolded(browser, app_url):
    lines = [
        f"{path or 'first page'}, {where}: {one}"
        for path in paths(browser, app_url)
        for where, all_found in findings_of(browser, app_url, path).items()
        for one in all_found
    ]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_question_and_the_form_of_prices(page, app_url, scheme):
    page.emulate_media(color_scheme=scheme)
    open_page(page, f"{app_url}/?latency=122400&market=spot")
    shown = " ".join(page.get_by_role("alert").all_inner_texts())
    assert "122,400 ms" in shown
    page.get_by_role("button", name="Prices").click()
    settle(page)
    page.get_by_role("tab", name="Custom instances").click()
    settle(page)
    violations = findings(page)
    assert not violations, "\n".join(map(str, violations))
