"""Offers of the catalog as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.catalog import Instance
from profet_core.documents.parts import Document, offer_document


def instances_document(rows: Iterable[tuple[Instance, str]]) -> list[Document]:
    """Offers, each with the basis of its prediction."""
    return [{**offer_document(offer), "basis": basis} for offer, basis in rows]
