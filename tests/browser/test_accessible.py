"""axe-core finds nothing serious on any page, nor in what opens on them, at two widths, light and dark."""

from __future__ import annotations

import pytest

from benchmarks.accessibility import SCHEMES, findings, findings_of
from benchmarks.pages import paths
from tests.browser.test_whole_flow import open_page, settle

pytestmark = pytest.mark.browser


def test_every_page_unfolded(browser, app_url):
    found = [
        f"{path or 'first page'}, {where}: {one}"
        for path in paths(browser, app_url)
        for where, all_found in findings_of(browser, app_url, path).items()
        for one in all_found
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_question_a_refused_number_and_the_form_of_prices(page, app_url, scheme):
    page.emulate_media(color_scheme=scheme)
    open_page(page, f"{app_url}/?latency=122400&market=spot")
    page.get_by_role("textbox", name="Epochs").fill("203,3")
    page.keyboard.press("Enter")
    settle(page)
    page.get_by_role("button", name="Prices").click()
    settle(page)
    page.get_by_role("tab", name="Own instances").click()
    page.get_by_role("button", name="Add").click()
    settle(page)
    shown = page.get_by_role("alert").all_inner_texts()
    assert any("Give a whole number" in text for text in shown) and any("Give it a name" in text for text in shown)
    assert any("makes no sense" in text for text in shown)
    found = findings(page)
    assert not found, "\n".join(map(str, found))


def test_a_stranger_s_name_shows_no_escape_marks(page, app_url, samples):
    from tests.browser.test_own_profiles import give_files, payload

    data = next(iter(samples.values())).data
    open_page(page, f"{app_url}/?source=upload")
    give_files(
        page,
        payload("my_net*[v1](x).json", data),
        payload("2_b.json", data.replace(b'"batch_size": 64', b'"batch_size": 65')),
    )
    for path in ("", "profiles"):
        if path:
            page.get_by_role("link", name="Profiles", exact=True).first.click()
            settle(page)
        names = page.evaluate(
            "() => [...document.querySelectorAll('button, [role=radio], label')].map(e => e.innerText)"
        )
        assert not [name for name in names if "\\" in name]
        assert not [one for one in findings(page) if one.rule == "escape-mark"]
