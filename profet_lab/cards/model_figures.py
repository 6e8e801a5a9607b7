"""Records of the model card's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.validation import GrowthAccuracy


@dataclass(frozen=True, slots=True)
class Unlike:
    """Errors on networks without a near twin in the data, percent.

    Attributes
    ----------
    architecture, family : held out. all_families : of all networks, their family held out.
    worst : network -> error, the worst first.
    """

    architecture: Errors
    baseline: Errors
    family: Errors
    all_families: Errors
    worst: Mapping[str, Errors]


@dataclass(frozen=True, slots=True)
class Overall:
    """Means over the 12 pairs and their worst, percent; `measured`: another workload measured on the target."""

    mean: Errors
    worst_pair: Errors
    sizes_known: Errors
    measured: Errors
    documented: Errors
    baseline: Errors
    baseline_worst_pair: Errors


@dataclass(frozen=True, slots=True)
class Coverage:
    """Share of measurements inside the 90% interval, and the interval's median half-width; percent."""

    covered: float
    half_width: float


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """A pair, network or family: `name` its words; percent. None: not part of that table."""

    name: tuple[str, ...]
    error: Errors
    interval: Coverage
    documented: Errors | None = None
    baseline: Errors | None = None


@dataclass(frozen=True, slots=True)
class ScalerRow:
    """One scaler along one axis, from "true" or "predicted" ends; errors in percent."""

    method: str
    axis: str
    ends: str
    n: int
    error: float
    baseline: float | None


@dataclass(frozen=True, slots=True)
class TreeWeights:
    """Weights that the boosted trees got on inner folds: mean, least and most over the held-out architectures."""

    mean: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What the template words.

    Attributes
    ----------
    noise : instance -> percent. fastest_right, fastest_right_by_anchor, fastest_regret : percent.
    coverage : held-out "architecture" or "family" -> case -> intervals.
    weights, tree_weights : case -> as shipped, in the members' order; as chosen on inner folds.
    device_rows : what those of a training profile add up to, in step latencies.
    real : the section on third-party profiles, or None.
    """

    made: str
    models_checksum: str
    default_method: str
    unlike: Unlike
    overall: Overall
    noise: Mapping[str, float]
    fastest_right: float
    fastest_right_by_anchor: Mapping[str, float]
    fastest_regret: float
    pairs: Sequence[AccuracyRow]
    architectures: Sequence[AccuracyRow]
    families: Sequence[AccuracyRow]
    coverage: Mapping[str, Mapping[str, Coverage]]
    scalers: Sequence[ScalerRow]
    growth: Sequence[GrowthAccuracy]
    weights: Mapping[str, Sequence[float]]
    tree_weights: Mapping[str, TreeWeights]
    tree_repeats: int
    source: str
    rows_per_instance: int
    architecture_count: int
    sha256: Mapping[str, str]
    versions: Mapping[str, str]
    seed: int
    device_rows: float
    real: str | None
