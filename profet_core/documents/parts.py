"""Offers and GPUs as JSON, and parts that several documents have."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from profet_core.catalog import Instance
from profet_core.catalog.gpus import Gpu
from profet_core.catalog.naming import old_price_note
from profet_core.catalog.own_gpus import OwnGpu
from profet_core.documents.records import NUMBER, TEXT, WHOLE, Type, at, keys, many, maybe, record, under
from profet_core.precision.model import amp_words, supported_precisions

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
GPU_PRECISIONS = record(
    gpu=at("name", TEXT),
    memory_gib=NUMBER,
    precisions=at(supported_precisions, many(TEXT)),
    amp=at(amp_words, TEXT),
)
_POINT = {"images_per_s": NUMBER, "network": TEXT, "pixels": WHOLE, "batch_size": WHOLE, "precision": TEXT}
_POINT |= {"times_reference": NUMBER, "times_log_sd": NUMBER}


def _of_point(name: str) -> Callable[[OwnGpu], object]:
    return lambda own: getattr(own.point, name, None)


#: A GPU of the user's, with the name of its instance and what an hour of that costs.
OWN_GPU = record(
    gpu=at("name", TEXT),
    **keys(OwnGpu, "instance like"),
    **keys(Gpu, "fp32_tflops tf32_tensor_dense_tflops memory_gib bandwidth_gb_per_s tdp_w", "gpu"),
    # What is known of its speed; null is what is not.
    **{name: at(_of_point(name), maybe(kind)) for name, kind in _POINT.items()},
    usd_per_hour=at("offer.usd_per_hour", NUMBER),
    **keys(OwnGpu, "as_of source"),
)
