"""Pure functions: predict CNN training time and cost on every cloud GPU.

>>> from profet_core import load_catalog, load_models, predict, read_profile
>>> from profet_core.artifacts.samples import load_samples
>>> models, catalog = load_models(), load_catalog()
>>> profile = read_profile(load_samples()[0].data, "profile.json")
>>> prediction = predict(models, catalog, profile, "g4dn.xlarge", latency_ms=552.8)
>>> prediction.latencies_ms["p2.xlarge"] > prediction.latencies_ms["g4dn.xlarge"]
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from profet_core.catalog import Catalog, Instance, load_catalog
from profet_core.cost import CostRow, CostTable, check_profiled_batch, cost_table
from profet_core.errors import (
    ArtifactError,
    CatalogError,
    InputError,
    LatencyDoubtError,
    NoPredictionError,
    ProfetError,
    ProfileError,
)
from profet_core.profiles import Profile, ProfileMeta, read_profile

if TYPE_CHECKING:
    from profet_core.artifacts.models import Models, load_models
    from profet_core.prediction.in_precision import predict, predict_many
    from profet_core.prediction.latency_doubt import check_latency
    from profet_core.prediction.records import InstancePrediction, Prediction
    from profet_core.scaling.context import ScaleContext, head_share, scale_context
    from profet_core.scaling.scale import ScaledLatency, scale, scale_curve

__all__ = [
    "ArtifactError",
    "Catalog",
    "CatalogError",
    "CostRow",
    "CostTable",
    "InputError",
    "Instance",
    "InstancePrediction",
    "LatencyDoubtError",
    "Models",
    "NoPredictionError",
    "Prediction",
    "ProfetError",
    "Profile",
    "ProfileError",
    "ProfileMeta",
    "ScaleContext",
    "ScaledLatency",
    "check_latency",
    "check_profiled_batch",
    "cost_table",
    "head_share",
    "load_catalog",
    "load_models",
    "predict",
    "predict_many",
    "read_profile",
    "scale",
    "scale_context",
    "scale_curve",
]

#: What needs numpy and rapidfuzz is loaded on first use: reading, reducing and recording profiles
#: works without them, in whatever environment someone trains.
_WHERE = {
    "check_latency": "prediction.latency_doubt",
    **dict.fromkeys(("predict", "predict_many"), "prediction.in_precision"),
    **dict.fromkeys(("InstancePrediction", "Prediction"), "prediction.records"),
    **dict.fromkeys(("Models", "load_models"), "artifacts.models"),
    **dict.fromkeys(("ScaledLatency", "scale", "scale_curve"), "scaling.scale"),
    **dict.fromkeys(("ScaleContext", "head_share", "scale_context"), "scaling.context"),
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    return value
