"""Pure functions: predict vision networks' training cost on every cloud GPU.

>>> from profet_core import load_catalog, load_models, predict, read_profile
>>> from profet_core.prediction.models import load_samples
>>> models, catalog = load_models(), load_catalog()
>>> profile = read_profile(load_samples()[0].data, "profile.json")
>>> prediction = predict(models, catalog, profile, "g4dn.xlarge", latency_ms=552.8)
>>> prediction.latencies_ms["p2.xlarge"] > prediction.latencies_ms["g4dn.xlarge"]
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from profet_profiles import VERSION

if TYPE_CHECKING:
    from profet_core.answers.api import advise, estimate, load_catalog, load_models, predict, predict_many, scaleout
    from profet_core.catalog import Catalog, Instance
    from profet_core.errors import (
        ArtifactError,
        CatalogError,
        InputError,
        LatencyDoubtError,
        NoPredictionError,
        ProfetError,
        ProfileError,
    )
    from profet_core.offers import OfferTable
    from profet_core.prediction.checks import check_latency
    from profet_core.prediction.models import Models
    from profet_core.prediction.predict import Prediction
    from profet_core.prediction.scaler import ScaleContext, ScaledLatency, head_share, scale_context
    from profet_core.prediction.sizes import scale, scale_curve
    from profet_core.training.plans import CostTable, Plan, cost_table
    from profet_profiles import Profile, ProfileMeta, read_profile

#: Module -> names it exports. Each is loaded on first use: importing the package takes no time.
_EXPORTS = {
    "profet_core.answers.api": "advise estimate load_catalog load_models predict predict_many scaleout",
    "profet_core.catalog": "Catalog Instance",
    "profet_core.errors": "ArtifactError CatalogError InputError LatencyDoubtError NoPredictionError ProfetError "
    "ProfileError",
    "profet_core.offers": "OfferTable",
    "profet_core.prediction.checks": "check_latency",
    "profet_core.prediction.models": "Models",
    "profet_core.prediction.scaler": "ScaleContext ScaledLatency head_share scale_context",
    "profet_core.prediction.sizes": "scale scale_curve",
    "profet_core.prediction.predict": "Prediction",
    "profet_core.training.plans": "CostTable Plan cost_table",
    "profet_profiles": "Profile ProfileMeta read_profile",
}
__version__ = VERSION
_WHERE = {name: module for module, names in _EXPORTS.items() for name in names.split()}

__all__ = [
    "ArtifactError",
    "Catalog",
    "CatalogError",
    "CostTable",
    "InputError",
    "Instance",
    "LatencyDoubtError",
    "Models",
    "NoPredictionError",
    "OfferTable",
    "Plan",
    "Prediction",
    "ProfetError",
    "Profile",
    "ProfileError",
    "ProfileMeta",
    "ScaleContext",
    "ScaledLatency",
    "__version__",
    "advise",
    "check_latency",
    "cost_table",
    "estimate",
    "head_share",
    "load_catalog",
    "load_models",
    "predict",
    "predict_many",
    "read_profile",
    "scale",
    "scale_context",
    "scale_curve",
    "scaleout",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_WHERE[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
