"""Fields of `predict`, `cost`, `advise` and `instances`."""

from __future__ import annotations

from profet_core.catalog.collection import CONFIDENCE_WORDS, MARKET_CHOICES
from profet_core.fields.field import Field, Fields, Kind, some
from profet_core.precision.names import PRECISIONS, asked_precision

OFFERS: Fields = {
    "provider": Field(
        Kind.NAMES,
        "only these clouds: aws, azure, gcp, lambda, nebius, runpod, vast, verda; own: custom offers",
    ),
    "region": Field(Kind.TEXT, "only offers in this region: us-east-1, or a part of the name such as US", "NAME"),
    "market": Field(
        Kind.TEXT,
        "only offers of this market (default: the default offer of each instance)",
        choices=MARKET_CHOICES,
    ),
    "gpu": Field(Kind.NAMES, "only these GPUs, by name or model: V100,T4"),
    "gpu_count": Field(Kind.WHOLE, "only offers with this number of GPUs: 1, 2, 4 or 8"),
    "min_memory_gib": Field(Kind.NUMBER, "only GPUs with at least this much memory", "GIB"),
}
NARROWED: Fields = {
    **OFFERS,
    "confidence": Field(Kind.TEXT, "only predictions with at least this confidence", choices=tuple(CONFIDENCE_WORDS)),
}
INSTANCES: Fields = {"all": Field(Kind.FLAG, "every offer, in all regions and markets"), **OFFERS}

_PROFILE: Fields = {
    "profile": Field(Kind.PROFILE, "profile of training steps, in any supported format", required=True),
    "anchor": Field(
        Kind.TEXT,
        "instance or GPU that the profile was recorded on (default: the GPU named in the profile)",
        "INSTANCE|GPU",
    ),
    "steps": Field(
        Kind.WHOLE,
        "number of training steps in the profile (default: from the profile, else from its latency, else one; two for "
        "PROFET's own files)",
    ),
    "latency_ms": Field(Kind.NUMBER, "measured step latency on the anchor, in milliseconds", "MS"),
    "without_latency": Field(Kind.FLAG, "ignore the latency in the profile's metadata"),
    "trust_latency": Field(Kind.FLAG, "use the latency even if it doesn't fit the profile"),
    "method": Field(Kind.TEXT, "default or profet (the documented ensemble)", "NAME"),
    "precision": Field(
        Kind.TEXT,
        "precision of the training (default: as profiled, with TF32 on Ampere and later; fp32 is without TF32)",
        choices=PRECISIONS,
        read=asked_precision,
    ),
    "profiled_batch": Field(Kind.WHOLE, "batch size of the profile"),
    "profiled_precision": Field(
        Kind.TEXT,
        "precision of the profile, if the file does not state it (default: fp32)",
        choices=PRECISIONS[1:],
        read=asked_precision,
    ),
    "profiled_pixels": Field(Kind.WHOLE, "pixel size of the profile"),
    "measured": Field(
        Kind.NUMBERS, "latency you measured on a target with the same network, in milliseconds", "INSTANCE=MS"
    ),
    "measured_trace": Field(Kind.PROFILE, "anchor profile of the measured workload, if not the profile itself"),
    "measured_trace_latency_ms": Field(Kind.NUMBER, "latency of that profile on the anchor, in milliseconds", "MS"),
    "own_gpus": Field(
        Kind.OWN_GPUS,
        "custom GPUs for this request, with the columns of `profet gpus`; each is also an instance",
    ),
    **NARROWED,
}

PREDICT: Fields = {
    **_PROFILE,
    "targets": Field(Kind.NAMES, "instances or GPUs to predict: p3.2xlarge,H100 (default: all)"),
}

COST: Fields = {
    **_PROFILE,
    "images": Field(Kind.WHOLE, "training images per epoch", required=True),
    "validation_images": Field(Kind.WHOLE, "validation images per epoch (default: 0)"),
    "epochs": Field(Kind.WHOLE, "number of epochs (default: 1)"),
    "price": Field(Kind.NUMBERS, "your own price per hour, in US dollars", "INSTANCE=USD"),
    "at_batch": Field(Kind.WHOLE, "predict at this batch size instead of the profiled one"),
    "at_pixels": Field(Kind.WHOLE, "predict at this pixel size instead of the profiled one"),
    "second": Field(
        Kind.PROFILE,
        "profile of the same network at another size; makes predictions at other sizes more accurate",
    ),
    "second_batch": Field(Kind.WHOLE, "batch size of the second profile"),
    "second_pixels": Field(Kind.WHOLE, "pixel size of the second profile"),
    "second_latency_ms": Field(Kind.NUMBER, "latency of that profile on the anchor, in milliseconds", "MS"),
    "second_steps": Field(Kind.WHOLE, "number of training steps in it (default: from that profile)"),
}

ADVISE: Fields = {
    **COST,
    "deadline_hours": Field(Kind.NUMBER, "deadline; recommends the cheapest offer that meets it", "H"),
    "budget_usd": Field(Kind.NUMBER, "budget; recommends the fastest offer within it", "USD"),
    "certainty": Field(Kind.NUMBER, "required probability of meeting the limits (default: 0.9)", "SHARE"),
    "market": Field(Kind.TEXT, "only offers of this market (default: on-demand)", choices=MARKET_CHOICES),
    "spot_discount": Field(
        Kind.NUMBER, "assumed spot discount, 0 to 1, for offers without a spot price in the catalog", "SHARE"
    ),
    "with_loading": Field(Kind.FLAG, "add the measured data-loading overhead, 6 to 9%"),
    "include_retired": Field(Kind.FLAG, "include retired instances"),
    "compare": Field(Kind.NAMES, "compare two instances"),
    "whole_nodes": Field(
        Kind.FLAG,
        "train on all GPUs of each machine, each with the batch size of one GPU (default: train on one GPU)",
    ),
    "network": Field(Kind.TEXT, "network name, such as ResNet50 (default: from the profile)", "NAME"),
    "parameters": Field(Kind.LARGE, "number of parameters, such as 25.6M (default: from the profile)"),
}

#: What several commands take of a profile, where there may be none.
ONE_GPU: Fields = some(
    COST,
    *("anchor", "latency_ms", "steps", "precision"),
    *("profiled_batch", "profiled_pixels", "profiled_precision", "own_gpus"),
)
