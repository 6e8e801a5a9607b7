"""Fields of `estimate`."""

from __future__ import annotations

from typing import Any

from profet_core.answers.questions import FieldNames, ProfileQuestion
from profet_core.errors import InputError
from profet_core.fields.field import Field, Fields, Kind, some
from profet_core.fields.training import COST, NARROWED
from profet_core.from_layers.estimate import OPTIMISERS

ESTIMATE: Fields = {
    "network": Field(Kind.TEXT, "network name, such as ResNet50", "NAME", required=True),
    "batch": Field(Kind.WHOLE, "batch size", required=True),
    "pixels": Field(Kind.WHOLE, "height and width of the image (default: 224, or the file's)"),
    "classes": Field(Kind.WHOLE, "number of classes of a named network (default: as measured)"),
    "method": Field(Kind.TEXT, "default, law (analytical model only), log-linear, xgboost or lightgbm", "NAME"),
    "optimiser": Field(Kind.TEXT, "optimizer; its state counts in memory (default: sgd)", choices=tuple(OPTIMISERS)),
    "images": Field(Kind.WHOLE, "training images per epoch; adds time and cost"),
    **some(COST, "validation_images", "epochs"),
    "targets": Field(Kind.NAMES, "instances to estimate (default: all)"),
    "profile": Field(Kind.PROFILE, "profile of the network to compare with"),
    **some(COST, "anchor", "latency_ms", "precision", "profiled_precision", "own_gpus"),
    **NARROWED,
}


def with_profiled(values: dict[str, Any], field_names: FieldNames) -> dict[str, Any]:
    """The values, with those that are of the profile as its question.

    Raises
    ------
    InputError : something is said of a profile, and there is none.
    """
    of_profile = {name: values[name] for name in ("profile", "anchor", "latency_ms") if name in values}
    others = {name: value for name, value in values.items() if name not in of_profile}
    if not of_profile:
        return others
    if "profile" not in of_profile:
        anchor, latency, profile = (field_names.option(name) for name in ("anchor", "latency_ms", "profile"))
        raise InputError(f"{anchor} and {latency} need a profile: name it with {profile}.")
    precision = {name: values[name] for name in ("precision",) if name in values}
    return {**others, "profiled": ProfileQuestion(**of_profile, **precision)}
