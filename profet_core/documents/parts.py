"""Parts that several documents have."""

from __future__ import annotations

from operator import attrgetter

from profet_core.catalog.naming import old_price_note
from profet_core.documents.records import (
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Keys,
    Type,
    at,
    by_name,
    choice,
    many,
    maybe,
    record,
    under,
)
from profet_core.latency import Basis

TEXTS = many(TEXT)
BASIS = choice(list(Basis))
#: Whether a step fits in a GPU's memory.
VERDICT = choice(("fits", "does not fit", "can't tell"))
#: Instance -> whether the step fits in its memory.
MEMORY = by_name(record(verdict=VERDICT, probability=maybe(NUMBER), largest_batch=maybe(WHOLE), why=TEXT))
#: A plan, by its label.
PLAN = Type(TEXT.schema, attrgetter("label"))
_PRICE_NOTE = at(old_price_note, TEXT)

#: An instance at one of its prices.
OFFER_KEYS: Keys = {
    "name": TEXT,
    "gpu": TEXT,
    "gpu_count": WHOLE,
    "gpu_memory_gib": NUMBER,
    "vcpus": maybe(WHOLE),
    "usd_per_hour": NUMBER,
    "region": TEXT,
    "os": TEXT,
    "market": TEXT,
    "status": TEXT,
    "as_of": TEXT,
    "source": TEXT,
    "own": FLAG,
    "machine_source": TEXT,
    "provider": TEXT,
    "host": TEXT,
    "usd_per_gpu_hour": NUMBER,
    "price_note": _PRICE_NOTE,
}
OFFER = record(**OFFER_KEYS)
#: Of an offer, what one GPU of it costs and how old its price is.
PER_GPU: Keys = {"usd_per_gpu_hour": NUMBER, "price_note": _PRICE_NOTE}
#: Of a record's offer, what stands beside any number: whose it is, its GPUs, and the same.
RENTED = under("offer", provider=TEXT, gpu=TEXT, gpu_count=WHOLE, **PER_GPU)
#: What an operation is that the method has never seen the like of, and what became of its time.
UNKNOWN_OPERATIONS = record(names=TEXTS, share=NUMBER, mapped=by_name(TEXT), left_out=TEXTS)


def ends(number: Type) -> Keys:
    """Both ends of a record's interval."""
    return under("interval", low_ms=number, high_ms=number)


def totals(number: Type = NUMBER) -> Keys:
    """What an epoch and the whole training take and cost."""
    return {"epoch_s": number, "epoch_usd": number, "total_s": number, "total_usd": number}
