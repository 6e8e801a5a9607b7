"""Parts that several documents have."""

from __future__ import annotations

from dataclasses import asdict

from profet_core.documents.parts import memory_document, offer_document
from profet_core.memory.fit import FitAnswer


def test_an_offer_is_all_that_the_catalogue_has_of_it(catalog):
    for offer in catalog.all_offers:
        assert list(offer_document(offer).items()) == list(asdict(offer).items())


def test_a_fit_is_all_that_its_answer_has():
    fit = FitAnswer("fits", 0.98, 320, "It ran in less.")
    assert memory_document({"g5.xlarge": fit}) == {"g5.xlarge": asdict(fit)}
