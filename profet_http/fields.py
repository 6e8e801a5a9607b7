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
    "provider": Field(NAMES, "only these clouds, such as gcp; own: the server's own offers"),
    "region": Field(TEXT, "offers there only: us-east-1, or a part of it such as US"),
    "market": Field(
        TEXT, "offers of this market: on-demand, spot, reserved or any; each instance's usual one without it"
    ),
    "gpu": Field(NAMES, "only these GPUs, by name or model"),
    "gpu_count": Field(WHOLE, "only offers of so many GPUs"),
    "min_memory_gib": Field(NUMBER, "GPUs with at least as much memory, GiB"),
}
_NARROWED: Fields = {**_OFFERS, "sureness": Field(TEXT, "only numbers at least as sure: rough, fair or good")}

_PROFILE: Fields = {
    "profile": Field(PROFILE, "profile of training steps, in PROFET JSON; or a file in any format that is read", True),
    "anchor": Field(
        TEXT, "instance, or GPU by its name, that the profile was recorded on; the GPU it names without it"
    ),
    "steps": Field(WHOLE, "training steps the profile covers, where it doesn't tell"),
    "latency_ms": Field(NUMBER, "measured step latency on the anchor, milliseconds"),
    "without_latency": Field(FLAG, "ignore the latency in the profile's meta"),
    "trust_latency": Field(FLAG, "use the latency even if it looks wrong"),
    "method": Field(TEXT, "default, or profet: the documented ensemble"),
    "fp32": Field(FLAG, "without TF32 on Ampere and later"),
    "own_gpus": Field(
        OWN_GPUS, "GPUs of your own, each an instance too, as columns of `profet gpus`; for this request"
    ),
    **_NARROWED,
}

PREDICT: Fields = {
    **_PROFILE,
    "measured": Field(NUMBERS, "target -> a latency measured there with the same network, milliseconds"),
    "measured_trace": Field(PROFILE, "the anchor's profile of what was measured, if not profile"),
    "measured_trace_latency_ms": Field(NUMBER, "its anchor latency, milliseconds"),
    "targets": Field(NAMES, "instances to predict; all others without it"),
}

COST: Fields = {
    **_PROFILE,
    "images": Field(WHOLE, "training images per epoch", True),
    "validation_images": Field(WHOLE, "validation images per epoch"),
    "profiled_batch": Field(WHOLE, "batch size the profile was recorded at"),
    "epochs": Field(WHOLE, "epochs; 1 without it"),
    "price": Field(NUMBERS, "instance -> a price of your own, US dollars an hour"),
    "profiled_pixels": Field(WHOLE, "pixel size the profile was recorded at"),
    "at_batch": Field(WHOLE, "at another batch size than the profiled one"),
    "at_pixels": Field(WHOLE, "at another pixel size than the profiled one"),
    "second": Field(PROFILE, "profile of the same network at another size: narrows at_batch and at_pixels"),
    "second_batch": Field(WHOLE, "batch size it was recorded at"),
    "second_pixels": Field(WHOLE, "pixel size it was recorded at"),
    "second_latency_ms": Field(NUMBER, "its anchor latency, milliseconds"),
}

ADVISE: Fields = {
    **COST,
    "deadline_hours": Field(NUMBER, "when it must be done: the cheapest in time"),
    "budget_usd": Field(NUMBER, "what it may cost: the fastest within it"),
    "certainty": Field(NUMBER, "chance that a limit is kept to; 0.9 without it"),
    "market": Field(TEXT, "offers to choose from: on-demand, spot, reserved or any; on-demand without it"),
    "spot_discount": Field(NUMBER, "guess spot prices this far below on-demand, 0 to 1, where there are none"),
    "include_retired": Field(FLAG, "instances that can't be rented any more too"),
    "compare": Field(NAMES, "two instances: which one, and how sure"),
    "whole_nodes": Field(FLAG, "nodes of several GPUs with all of them training, each at the batch of one"),
    "network": Field(TEXT, "its name, such as ResNet50, for whole nodes; what the profile tells without it"),
    "parameters": Field(NUMBER, "or how many parameters it has"),
}

#: What several commands take of a profile, as here, where there may be none.
_ONE_GPU: Fields = {
    "profile": Field(PROFILE, "profile of one GPU's training steps; or step_ms with gpu and batch"),
    **_of(COST, "anchor", "latency_ms", "steps", "profiled_batch", "profiled_pixels", "own_gpus"),
}

SCALEOUT: Fields = {
    **_ONE_GPU,
    **_OFFERS,
    "step_ms": Field(NUMBER, "one GPU's measured step instead of a profile, milliseconds"),
    "batch": Field(WHOLE, "batch of each GPU, whatever their number; the profiled one without it"),
    "global_batch": Field(WHOLE, "batch of all GPUs together, shared by them"),
    "network": Field(TEXT, "its name, such as ResNet50; what the profile tells without it"),
    **_of(ADVISE, "parameters"),
    "tensors": Field(WHOLE, "its weight tensors, for one-process"),
    "precision": Field(TEXT, "gradients travel in fp32, tf32, fp16 or amp; fp32 without it"),
    "gpus": Field(COUNTS, "numbers of GPUs; 1, 2, 4, ... 64 without it"),
    "strategy": Field(
        TEXT,
        "ring, tree (not measured), ps-cpu or ps-gpu (in 2017 only), one-process; ring without it",
    ),
    "instance": Field(TEXT, "on nodes of this offer; eight of the anchor's GPU without it"),
    "images": Field(WHOLE, "training images per epoch; ImageNet's without it"),
    **_of(COST, "validation_images"),
}

ESTIMATE: Fields = {
    "network": Field(TEXT, "its name, such as ResNet50", True),
    "batch": Field(WHOLE, "batch size", True),
    "pixels": Field(WHOLE, "height and width of the image; 224 without it"),
    "classes": Field(WHOLE, "width of the last layer; as measured without it"),
    "method": Field(TEXT, "default, law, log-linear, xgboost or lightgbm"),
    "optimiser": Field(TEXT, "sgd, momentum or adam: what it keeps counts in memory; sgd without it"),
    "images": Field(WHOLE, "training images per epoch, for what an epoch takes and costs"),
    **_of(COST, "validation_images", "epochs"),
    "targets": Field(NAMES, "instances to estimate; all without it"),
    "profile": Field(PROFILE, "a profile of the network, to compare with"),
    **_of(COST, "anchor", "latency_ms", "fp32", "own_gpus"),
    **_NARROWED,
}

INSTANCES: Fields = {
    "all": Field(FLAG, "every offer: regions and markets"),
    **_OFFERS,
}


def values_of_json(fields: Fields, document: object) -> dict[str, object]:
    """The values of a JSON document, checked; null is as good as left out.

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
