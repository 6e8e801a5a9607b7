"""Answers for the offers that a question narrows to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TypeVar

from profet_core.advice.sureness import sureness
from profet_core.answers.questions import Knowledge
from profet_core.catalog.narrowing import Narrowing, narrowed_catalog
from profet_core.catalog.offers import NoOffersError
from profet_core.latency import StepTime

Row = TypeVar("Row", bound=StepTime)


def narrowed_knowledge(knowledge: Knowledge, narrowing: Narrowing) -> tuple[Knowledge, Collection[str]]:
    """What is known, instances with a wanted offer at the usual one of these, and the names of these instances.

    Raises
    ------
    NoOffersError : there is none, and what to widen.
    """
    catalog, names = narrowed_catalog(knowledge.catalog, narrowing, knowledge.gpus)
    return replace(knowledge, catalog=catalog), names


def narrowed_rows(rows: Iterable[Row], narrowing: Narrowing, names: Collection[str], anchor: str) -> list[Row]:
    """Rows of the wanted instances that are as sure as is wanted, and the anchor's, which is no prediction.

    Raises
    ------
    NoOffersError : there is none beside the anchor; one line that says why.
    """
    rows = list(rows)
    if not narrowing.given:
        return rows
    wanted = [row for row in rows if row.instance in names or row.instance == anchor]
    steps = {row.instance: sureness(row.basis, row.interval) for row in wanted}
    found = [row for row in wanted if row.instance == anchor or steps[row.instance] >= narrowing.least_sureness]
    if anchor not in names and all(row.instance == anchor for row in found):
        others = [step for name, step in steps.items() if name != anchor]
        if not others:
            raise NoOffersError("Nothing can be predicted for these offers: their GPUs have no data sheet here.")
        raise NoOffersError(f"No number is {narrowing.sureness}: the surest is {max(others).word}.")
    return found
