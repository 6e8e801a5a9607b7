"""GPUs as JSON; null is what is not known of them."""

from __future__ import annotations

from profet_core.catalog.gpus import Gpu
from profet_core.catalog.own_gpus import OwnGpu
from profet_core.documents.records import NUMBER, TEXT, WHOLE, At, Type, at, keys, many, maybe, record
from profet_core.precision.model import amp_words, supported_precisions

GPU_PRECISIONS = record(
    gpu=at("name", TEXT),
    memory_gib=NUMBER,
    precisions=at(supported_precisions, many(TEXT)),
    amp=at(amp_words, TEXT),
)


def _of_point(name: str, kind: Type) -> At:
    """What is known of a GPU's speed, if that is known of it."""
    return at(lambda own: getattr(own.point, name, None), maybe(kind))


#: A GPU of the user's, with the name of its instance and what an hour of that costs.
OWN_GPU = record(
    gpu=at("name", TEXT),
    **keys(OwnGpu, "instance like"),
    **keys(Gpu, "fp32_tflops tf32_tensor_dense_tflops memory_gib bandwidth_gb_per_s tdp_w", "gpu"),
    images_per_s=_of_point("images_per_s", NUMBER),
    network=_of_point("network", TEXT),
    pixels=_of_point("pixels", WHOLE),
    batch_size=_of_point("batch_size", WHOLE),
    precision=_of_point("precision", TEXT),
    times_reference=_of_point("times_reference", NUMBER),
    times_log_sd=_of_point("times_log_sd", NUMBER),
    usd_per_hour=at("offer.usd_per_hour", NUMBER),
    **keys(OwnGpu, "as_of source"),
)
