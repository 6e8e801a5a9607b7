"""Requested offers of the catalog, each with its prediction's basis."""

from __future__ import annotations

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, Instance
from profet_core.catalog.collection import narrowed
from profet_core.fields.questions import InstancesQuestion
from profet_core.prediction.unprofiled import basis_by_instance

#: Basis of an instance without a prediction.
PRICE_ONLY = "price only"


def answer_instances(
    models: Models | None, catalog: Catalog, question: InstancesQuestion
) -> list[tuple[Instance, str]]:
    """Each offer and its basis; without models no offer has a basis.

    Raises
    ------
    NoOffersError : no offer matches; the message says what to widen.
    """
    basis_of = {} if models is None else basis_by_instance(models, catalog)
    every = question.all or question.market or question.region
    offers = narrowed(catalog.all_offers if every else catalog.values(), question.narrowing)
    return [(offer, basis_of.get(offer.name, PRICE_ONLY)) for offer in offers]
