"""Offers as JSON, and parts that several documents have."""

from __future__ import annotations

from operator import attrgetter

from profet_core.catalog import Instance
from profet_core.catalog.naming import old_price_note
from profet_core.documents.records import NUMBER, TEXT, Type, at, keys, many, record, under

#: A plan, by its label.
PLAN = Type(TEXT.schema, attrgetter("label"))
#: Of an offer, what one GPU of it costs and how old its price is.
PER_GPU = keys(Instance, "usd_per_gpu_hour price_note", price_note=at(old_price_note, TEXT))
_OFFER = {
    **keys(Instance, "name gpu gpu_count gpu_memory_gib vcpus usd_per_hour region os market status as_of source own"),
    **keys(Instance, "machine_source provider host"),
    **PER_GPU,
}
#: An instance at one of its prices.
OFFER = record(**_OFFER)
#: Of pairs: offers, each with the basis of its prediction.
OFFERS = Type(
    many(record(**_OFFER, basis=TEXT)).schema,
    lambda rows: [{**OFFER.document(offer), "basis": basis} for offer, basis in rows],
)
#: Of a record's offer, what stands beside any number: whose it is, its GPUs, and the same.
RENTED = under("offer", **keys(Instance, "provider gpu gpu_count"), **PER_GPU)
#: What an epoch and the whole training take and cost.
TOTALS = dict.fromkeys(("epoch_s", "epoch_usd", "total_s", "total_usd"), NUMBER)
