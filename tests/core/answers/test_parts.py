"""What several answers share: parts of documents, and parameters of functions."""

from __future__ import annotations

from inspect import signature

import pytest
from msgspec.structs import asdict

from profet_core import advise, predict, read_profile
from profet_core.answers.context import OfferDocument
from profet_core.catalog.instance import old_price_note
from profet_core.questions import OFFER_FIELDS, AdviseQuestion, PredictQuestion, fields_of


def test_an_offer_is_all_that_the_catalog_has(catalog):
    for offer in catalog.all_offers:
        written = asdict(OfferDocument.of(offer))
        assert list(written.items())[:-2] == list(asdict(offer).items())
        assert written["usd_per_gpu_hour"] * offer.gpu_count == pytest.approx(offer.usd_per_hour)
        assert written["price_note"] == old_price_note(offer)


def test_a_function_s_parameters_are_its_question_s_fields(models, catalog, samples):
    sample, filters = samples["resnet50-224px-b64-g4dn"], set(OFFER_FIELDS)
    profile = read_profile(sample.data, "profile.json")
    assert signature(advise).parameters.keys() == {"models", "catalog", *fields_of(AdviseQuestion)}
    assert signature(predict).parameters.keys() == {"models", "catalog", *fields_of(PredictQuestion)} - filters
    prediction = predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms, targets=["p3.2xlarge"])
    assert [row.instance for row in prediction.predictions] == [sample.anchor, "p3.2xlarge"]
    with pytest.raises(TypeError, match="provider"):
        predict(models, catalog, profile, sample.anchor, provider="aws")
