"""Old addresses lead to the pages of today with the settings of their links; browsers follow in tests/browser."""

from __future__ import annotations

from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest

from ui.old_addresses import MOVED, new_address, old_routes


@pytest.mark.parametrize("end", ["", "/"])
@pytest.mark.parametrize("path", MOVED)
def test_it_leads_to_the_page_that_took_its_place_whatever_stands_before_it(path, end):
    for before in ("https://profet.example/", "https://example.org/apps/profet/"):
        found = urlsplit(urljoin(f"{before}{path}{end}", new_address(f"/{path}{end}", "")))
        assert f"{found.scheme}://{found.netloc}{found.path}" == f"{before}{MOVED[path].page}"
        assert dict(parse_qsl(found.query)) == MOVED[path].settings


def test_the_settings_of_the_link_are_kept_and_go_first():
    query = "compare_samples=a%2Cb&compare_by=cost&utm_source=mail&empty="
    assert new_address("/compare", query) == f"./profiles?{query}"
    assert new_address("/inspect", "view=compare&inspect=x") == "./profiles?view=compare&inspect=x"
    assert new_address("/predict", "") == "./"
    assert new_address("/predict/", "sample=x&latency=5") == "../?sample=x&latency=5"


@pytest.mark.parametrize("query", ["//evil.example/", "%0d%0aSet-Cookie:x=1", "&&&=&;", "a=" + "9" * 4000, "%ff%zz"])
def test_a_strange_query_changes_no_address(query):
    found = new_address("/guide", query)
    assert found.startswith(f"./about?{query}") and urlsplit(urljoin("https://here.example/guide", found)).netloc == (
        "here.example"
    )


def test_no_page_of_today_is_an_old_address(repository):
    pages = {path.parent.name for path in (repository / "pages").glob("*/*.py") if path.stem == path.parent.name}
    assert {"profiles", "about"} <= pages
    assert {moved.page for moved in MOVED.values() if moved.page} <= pages
    assert not {"profiles", "about"} & set(MOVED)
    assert len(old_routes()) == 2 * len(MOVED)
