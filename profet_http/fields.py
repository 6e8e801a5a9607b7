"""The fields that each endpoint takes: what reads requests and what documents them, as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_http.failures import UNUSABLE, RequestError
from profet_http.kinds import COUNTS, FLAG, NAMES, NUMBER, NUMBERS, OWN_GPUS, PROFILE, TEXT, WHOLE, Kind


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a request, named as the command line's long option, with `_` for `-`."""

    kind: Kind
    description: str
    required: bool = False


Fields = Mapping[str, Field]


def _of(fields: Fields, *names: str) -> Fields:
    """Some of them, as they are there."""
    return {name: fields[name] for name in names}


_OFFERS: Fields = {
    "provider": Field(NAMES, "only these clouds, such as gcp; own: the server's custom offers"),
    "region": Field(TEXT, "only offers in this region: us-east-1, or a part of the name such as US"),
    "market": Field(
        TEXT,
        "on-demand, spot, reserved, marketplace or any (default: the default offer of each instance)",
    ),
    "gpu": Field(NAMES, "only these GPUs, by name or model"),
    "gpu_count": Field(WHOLE, "only offers with this number of GPUs"),
    "min_memory_gib": Field(NUMBER, "only GPUs with at least this much memory, in GiB"),
}
_NARROWED: Fields = {
    **_OFFERS,
    "sureness": Field(TEXT, "only predictions with at least this confidence: rough, fair or good"),
}

_PROFILE: Fields = {
    "profile": Field(PROFILE, "profile of training steps, as PROFET JSON or a file in any supported format", True),
    "anchor": Field(TEXT, "instance or GPU that the profile was recorded on (default: the GPU named in the profile)"),
    "steps": Field(WHOLE, "number of training steps in the profile (default: from the profile)"),
    "latency_ms": Field(NUMBER, "measured step latency on the anchor, in milliseconds"),
    "without_latency": Field(FLAG, "ignore the latency in the profile's metadata"),
    "trust_latency": Field(FLAG, "use the latency even if it doesn't fit the profile"),
    "method": Field(TEXT, "default or profet (the documented ensemble)"),
    "precision": Field(
        TEXT, "precision of the training: as profiled (default), fp32 (without TF32), tf32, amp or bf16"
    ),
    "profiled_batch": Field(WHOLE, "batch size of the profile"),
    "profiled_pixels": Field(WHOLE, "pixel size of the profile"),
    "measured": Field(NUMBERS, "target -> latency measured there with the same network, in milliseconds"),
    "measured_trace": Field(PROFILE, "anchor profile of the workload in measured, if not profile"),
    "measured_trace_latency_ms": Field(NUMBER, "latency of that profile on the anchor, in milliseconds"),
    "own_gpus": Field(
        OWN_GPUS, "custom GPUs for this request, with the columns of `profet gpus`; each is also an instance"
    ),
    **_NARROWED,
}

PREDICT: Fields = {
    **_PROFILE,
    "targets": Field(NAMES, "instances or GPUs to predict (default: all others)"),
}

COST: Fields = {
    **_PROFILE,
    "images": Field(WHOLE, "training images per epoch", True),
    "validation_images": Field(WHOLE, "validation images per epoch"),
    "epochs": Field(WHOLE, "number of epochs (default: 1)"),
    "price": Field(NUMBERS, "instance -> your own price, in US dollars per hour"),
    "at_batch": Field(WHOLE, "predict at this batch size instead of the profiled one"),
    "at_pixels": Field(WHOLE, "predict at this pixel size instead of the profiled one"),
    "second": Field(PROFILE, "profile of the same network at another size; makes at_batch and at_pixels more accurate"),
    "second_batch": Field(WHOLE, "batch size of the second profile"),
    "second_pixels": Field(WHOLE, "pixel size of the second profile"),
    "second_latency_ms": Field(NUMBER, "latency of that profile on the anchor, in milliseconds"),
    "second_steps": Field(WHOLE, "number of training steps in it (default: from that profile)"),
}

ADVISE: Fields = {
    **COST,
    "deadline_hours": Field(NUMBER, "deadline; recommends the cheapest offer that meets it"),
    "budget_usd": Field(NUMBER, "budget; recommends the fastest offer within it"),
    "certainty": Field(NUMBER, "required probability of meeting the limits (default: 0.9)"),
    "market": Field(TEXT, "offers to choose from: on-demand, spot, reserved, marketplace or any (default: on-demand)"),
    "spot_discount": Field(NUMBER, "assumed spot discount, 0 to 1, for offers without a spot price"),
    "with_loading": Field(FLAG, "add the measured data-loading overhead, 6 to 9%"),
    "include_retired": Field(FLAG, "include retired instances"),
    "compare": Field(NAMES, "compare two instances"),
    "whole_nodes": Field(FLAG, "train on all GPUs of each machine, each with the batch size of one GPU"),
    "network": Field(TEXT, "network name for whole_nodes, such as ResNet50 (default: from the profile)"),
    "parameters": Field(NUMBER, "or its number of parameters"),
}

#: What several commands take of a profile, as here, where there may be none.
_ONE_GPU: Fields = {
    "profile": Field(PROFILE, "profile of training steps on one GPU; or step_ms with gpu and batch"),
    **_of(COST, "anchor", "latency_ms", "steps", "precision", "profiled_batch", "profiled_pixels", "own_gpus"),
}

SCALEOUT: Fields = {
    **_ONE_GPU,
    **_NARROWED,
    "step_ms": Field(NUMBER, "measured step latency on one GPU instead of a profile, in milliseconds"),
    "batch": Field(WHOLE, "keep this batch size per GPU (default: the profiled one)"),
    "global_batch": Field(WHOLE, "keep this global batch size, divided over all GPUs"),
    "network": Field(TEXT, "network name, such as ResNet50 (default: from the profile)"),
    **_of(ADVISE, "parameters"),
    "tensors": Field(WHOLE, "number of weight tensors, for one-process"),
    "gradients": Field(TEXT, "precision of exchanged gradients: fp32, fp16 or bf16 (default: fp32)"),
    "gpus": Field(COUNTS, "numbers of GPUs (default: 1, 2, 4, ... 64)"),
    "total_gpus": Field(WHOLE, "offers as whole machines with this many GPUs together (default: one machine each)"),
    "strategy": Field(
        TEXT,
        "ring, tree (not measured), ps-cpu or ps-gpu (measured in 2017 only), one-process (default: ring)",
    ),
    "instance": Field(TEXT, "machine to scale out on (default: eight of the anchor's GPU)"),
    "images": Field(WHOLE, "training images per epoch (default: ImageNet's)"),
    **_of(COST, "validation_images", "price"),
    **_of(ADVISE, "spot_discount"),
}

ESTIMATE: Fields = {
    "network": Field(TEXT, "network name, such as ResNet50", True),
    "batch": Field(WHOLE, "batch size", True),
    "pixels": Field(WHOLE, "height and width of the image (default: 224)"),
    "classes": Field(WHOLE, "number of classes (default: as measured)"),
    "method": Field(TEXT, "default, law (analytical model only), log-linear, xgboost or lightgbm"),
    "optimiser": Field(TEXT, "sgd, momentum or adam; its state counts in memory (default: sgd)"),
    "images": Field(WHOLE, "training images per epoch; adds time and cost"),
    **_of(COST, "validation_images", "epochs"),
    "targets": Field(NAMES, "instances to estimate (default: all)"),
    "profile": Field(PROFILE, "profile of the network to compare with"),
    **_of(COST, "anchor", "latency_ms", "precision", "own_gpus"),
    **_NARROWED,
}

INSTANCES: Fields = {
    "all": Field(FLAG, "every offer, in all regions and markets"),
    **_OFFERS,
}


def values_of_json(fields: Fields, document: object) -> dict[str, object]:
    """The values of a JSON document, checked; null counts as missing.

    Raises
    ------
    RequestError : no object, an unknown field, or a value of another kind.
    """
    if not isinstance(document, dict):
        raise RequestError(UNUSABLE, "The body must be a JSON object, with a field profile.")
    _check_names(fields, document)
    given = {name: value for name, value in document.items() if value is not None}
    return {name: _checked(name, fields[name], value) for name, value in given.items()}


def values_of_texts(fields: Fields, texts: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """The same of a query or a form, whose values are texts; of a list they may be several."""
    _check_names(fields, texts)
    return {name: _checked_texts(name, fields[name], several) for name, several in texts.items()}


def check_complete(fields: Fields, values: Mapping[str, object]) -> None:
    """Raise a RequestError for the first field that is missing."""
    for name, field in fields.items():
        if field.required and name not in values:
            raise RequestError(UNUSABLE, f"{name} is missing: {field.description}.")


def _check_names(fields: Fields, given: Mapping[str, object]) -> None:
    unknown = next((name for name in given if name not in fields), None)
    if unknown is not None:
        shown = ascii(unknown) if len(unknown) <= 60 else f"{unknown[:57]!a}..."
        raise RequestError(UNUSABLE, f"Unknown field {shown}: choose from {', '.join(fields)}.")


def _checked(name: str, field: Field, value: object) -> object:
    try:
        return field.kind.from_json(value)
    except (ValueError, OverflowError):
        raise _wrong(name, field) from None


def _checked_texts(name: str, field: Field, texts: Sequence[str]) -> object:
    try:
        return field.kind.from_texts(texts)
    except (ValueError, OverflowError):
        raise _wrong(name, field) from None


def _wrong(name: str, field: Field) -> RequestError:
    return RequestError(UNUSABLE, f"{name} must be {field.kind.wanted}.")
