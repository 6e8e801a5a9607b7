"""Answers for the offers that a question selects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from profet_core.advice.sureness import sureness
from profet_core.answers.questions import Knowledge
from profet_core.catalog import Instance
from profet_core.catalog.narrowing import Narrowing, narrowed, narrowed_catalog
from profet_core.catalog.offers import NoOffersError, offers_in_market
from profet_core.latency import StepTime

Row = TypeVar("Row", bound=StepTime)


def narrowed_knowledge(knowledge: Knowledge, narrowing: Narrowing) -> tuple[Knowledge, Collection[str]]:
    """Context with each selected instance at its default offer, and the names of these instances.

    Raises
    ------
    NoOffersError : no offer matches; the message says what to widen.
    """
    catalog, names = narrowed_catalog(knowledge.catalog, narrowing, knowledge.gpus)
    return replace(knowledge, catalog=catalog), names


def market_offers(
    knowledge: Knowledge,
    narrowing: Narrowing,
    market: str,
    *,
    price: Mapping[str, float] | None = None,
    spot_discount: float | None = None,
) -> tuple[tuple[Instance, ...], Collection[str]]:
    """Selected offers of a market, at custom prices where given, and the names of their instances.

    Raises
    ------
    NoOffersError : no offer matches; the message says what to widen.
    """
    # Spot prices are estimated from on-demand prices, so the market filter comes last.
    catalog, names = narrowed_catalog(knowledge.catalog, replace(narrowing, market=None), knowledge.gpus)
    try:
        offers = offers_in_market(catalog, market, own_usd_per_hour=price, spot_discount=spot_discount)
    except NoOffersError:
        # Raises with what to widen.
        narrowed(knowledge.catalog.all_offers, narrowing, knowledge.gpus)
        raise
    offers = tuple(offer for offer in offers if offer.name in names)
    if not offers:
        narrowed(knowledge.catalog.all_offers, narrowing, knowledge.gpus)
    return offers, names


def narrowed_rows(rows: Iterable[Row], narrowing: Narrowing, names: Collection[str], anchor: str) -> list[Row]:
    """Rows of the selected instances with the minimum confidence, and the anchor's row.

    Raises
    ------
    NoOffersError : there is none other than the anchor; one line says why.
    """
    rows = list(rows)
    if not narrowing.given:
        return rows
    wanted = [row for row in rows if row.instance in names or row.instance == anchor]
    steps = {row.instance: sureness(row.basis, row.log_sd) for row in wanted}
    found = [row for row in wanted if row.instance == anchor or steps[row.instance] >= narrowing.least_sureness]
    if anchor not in names and all(row.instance == anchor for row in found):
        others = [step for name, step in steps.items() if name != anchor]
        if not others:
            raise NoOffersError("These offers can't be predicted: their GPU specs are unknown.")
        raise NoOffersError(f"No prediction has confidence {narrowing.sureness}: the highest is {max(others).word}.")
    return found
