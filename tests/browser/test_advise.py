"""Advise in a real browser: what was typed on Cost counts, a deadline changes the answer, the link reopens the view."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from profet_core import predict
from profet_core.advice.advise import advise
from profet_core.advice.request import Limits, Workload
from profet_core.advice.words import answer_sentences
from profet_core.catalog.offers import offers_in_market
from tests.browser.test_whole_flow import LOADED_MS, clean, follow, open_page, settle, type_number

pytestmark = pytest.mark.browser


@pytest.fixture
def answer(models, catalog, samples):
    """`answer(limits)` -> the first sentence of the core's advice on the first sample, 50,000 images, 90 epochs."""
    sample = next(iter(samples.values()))
    found = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)

    def ask(limits: Limits | None = None) -> str:
        workload = Workload(50_000, sample.batch_size, 90)
        return answer_sentences(advise(found.predictions, offers_in_market(catalog), workload, limits))[0]

    return ask


def said(page: Page) -> str:
    first = page.locator("strong").first
    expect(first).to_be_visible(timeout=LOADED_MS)
    return clean(first.inner_text())


def test_from_cost_to_a_deadline_and_back_by_the_link(page, app_url, answer):
    open_page(page, f"{app_url}/cost")
    type_number(page, "Epochs", "90")
    follow(page, "Advise")
    assert said(page) == answer()
    type_number(page, "Deadline (hours)", "2")
    assert said(page) == answer(Limits(deadline_h=2))
    assert "deadline_h=2" in page.url and "epochs=90" in page.url
    page.reload()
    settle(page)
    assert said(page) == answer(Limits(deadline_h=2))
    type_number(page, "Deadline (hours)", "0.0001")
    assert said(page).startswith("Nothing is expected to be done within 0.360 s")
