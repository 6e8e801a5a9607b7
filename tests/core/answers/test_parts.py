"""Parts that several documents have."""

from __future__ import annotations

import pytest
from msgspec.structs import asdict

from profet_core.answers.documents import OFFER, document
from profet_core.catalog.instance import old_price_note


def test_an_offer_is_all_that_the_catalog_has(catalog):
    for offer in catalog.all_offers:
        written = document(offer, OFFER)
        assert list(written.items())[:-2] == list(asdict(offer).items())
        assert written["usd_per_gpu_hour"] * offer.gpu_count == pytest.approx(offer.usd_per_hour)
        assert written["price_note"] == old_price_note(offer)
