"""Parts that several documents have; each key is written out, so that no record's new field changes the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from profet_core.catalog.price_age import old_price_note

if TYPE_CHECKING:
    # Commands that need no numbers load no library for them.
    from profet_core.catalog import Instance
    from profet_core.memory.fit import FitAnswer
    from profet_core.operations.unknown import UnknownOperations

#: A JSON object.
Document = dict[str, object]


def offer_document(offer: Instance) -> Document:
    """An instance at one of its prices."""
    return {
        "name": offer.name,
        "gpu": offer.gpu,
        "gpu_count": offer.gpu_count,
        "gpu_memory_gib": offer.gpu_memory_gib,
        "vcpus": offer.vcpus,
        "usd_per_hour": offer.usd_per_hour,
        "region": offer.region,
        "os": offer.os,
        "market": offer.market,
        "status": offer.status,
        "as_of": offer.as_of,
        "source": offer.source,
        "own": offer.own,
        "machine_source": offer.machine_source,
        "provider": offer.provider,
        "host": offer.host,
        "usd_per_gpu_hour": offer.usd_per_gpu_hour,
        "price_note": old_price_note(offer),
    }


def rented_document(offer: Instance) -> Document:
    """Of an offer what stands beside any number of it: whose it is, its GPUs, and how old its price is."""
    return {
        "provider": offer.provider,
        "gpu": offer.gpu,
        "gpu_count": offer.gpu_count,
        "usd_per_gpu_hour": offer.usd_per_gpu_hour,
        "price_note": old_price_note(offer),
    }


def memory_document(fits: Mapping[str, FitAnswer]) -> Document:
    """Instance -> whether the step fits in its memory."""
    return {
        instance: {
            "verdict": fit.verdict,
            "probability": fit.probability,
            "largest_batch": fit.largest_batch,
            "why": fit.why,
        }
        for instance, fit in fits.items()
    }


def unknown_operations_document(unknown: UnknownOperations) -> Document:
    """Operations that the method has never seen the like of, and what became of their time."""
    return {
        "names": list(unknown.names),
        "share": unknown.share,
        "mapped": dict(unknown.mapped),
        "left_out": list(unknown.left_out),
    }
