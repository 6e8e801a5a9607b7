"""Parts that several documents have."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from profet_core.answers.documents import MEMORY, OFFER
from profet_core.catalog.instance import old_price_note
from profet_core.training.memory import FitAnswer


def test_an_offer_and_a_fit_are_all_that_catalog_and_answer_have(catalog):
    for offer in catalog.all_offers:
        document = OFFER.document(offer)
        assert list(document.items())[:-2] == list(asdict(offer).items())
        assert document["usd_per_gpu_hour"] * offer.gpu_count == pytest.approx(offer.usd_per_hour)
        assert document["price_note"] == old_price_note(offer)
    fit = FitAnswer("fits", 0.98, 320, "It ran in less.")
    assert MEMORY.document({"g5.xlarge": fit}) == {"g5.xlarge": asdict(fit)}
