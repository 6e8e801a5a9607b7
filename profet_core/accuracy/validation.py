"""The measured accuracy of a set of models, the figures of `validation.json` as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_core.accuracy.errors import Errors

#: Architectures of the data that have a near relative in it: deeper or shallower versions of one design. The others
#: show what a network of your own may meet.
WITH_TWIN = frozenset({"VGG11", "VGG13", "VGG16", "VGG19", "ResNet18", "ResNet34", "ResNet50"})


@dataclass(frozen=True, slots=True)
class LeftOutAccuracy:
    """How networks were predicted by models that had never seen them; all percent.

    Attributes
    ----------
    error : mean absolute percentage error.
    covered : share of measurements inside the interval.
    half_width : median half-width of the interval.
    """

    error: Errors
    covered: Errors
    half_width: Errors


@dataclass(frozen=True, slots=True)
class PairAccuracy:
    """One anchor and target, each architecture held out in turn; percent but for `r2` and `rmse_ms`."""

    anchor: str
    target: str
    n: int
    left_out: LeftOutAccuracy
    documented: Errors
    original: Errors
    r2: float
    rmse_ms: float


@dataclass(frozen=True, slots=True)
class ArchitectureAccuracy:
    """One architecture, held out: mean over the pairs."""

    left_out: LeftOutAccuracy
    documented: Errors
    original: Errors


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """One workload on one pair, its architecture held out, the anchor's latency given."""

    anchor: str
    target: str
    model: str
    pixels: int
    batch_size: int
    measured_ms: float
    predicted_ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True, slots=True)
class FastestNamed:
    """How often the fastest instance was named rightly, and the time lost by following the advice; percent."""

    right: float
    regret: float


@dataclass(frozen=True, slots=True)
class ScalerAccuracy:
    """One scaler along one axis, from true or predicted ends; `original` is None where it was not measured."""

    method: str
    axis: str
    ends: str
    error: float
    by_instance: Mapping[str, float]
    original: float | None


@dataclass(frozen=True, slots=True)
class GrowthAccuracy:
    """How steps are scaled to other sizes, their architecture held out; percent.

    Attributes
    ----------
    known : "carried", from the measured latency at one size; "chain", from one predicted on another GPU; "between",
        from the measured ones at both ends of the axis.
    axis : "batch", "pixels" or "both". knots : measured sizes in between, and one; None: all.
    proportional : error if latency grew in proportion; None where that was not asked.
    covered : share of measurements inside the 90% interval. half_width : its median.
    """

    known: str
    axis: str
    knots: int | None
    n: int
    error: float
    proportional: float | None
    covered: float
    half_width: float


@dataclass(frozen=True)
class Validation:
    """The whole report, tied to one set of models.

    Attributes
    ----------
    mean, worst_pair, with_sizes : default method over the pairs; `with_sizes` with batch and pixel size known.
    unlike, unlike_original : mean over the architectures without a near relative in the data.
    family, family_unlike : the whole family held out; all architectures, and those without a near relative.
    measured : another workload of the network measured on the target; None if the report doesn't have it.
    noise : instance -> what one run differs from the next.
    growth : empty if the report doesn't have it.
    """

    models_checksum: str
    made: str
    mean: LeftOutAccuracy
    worst_pair: Errors
    with_sizes: Errors
    documented: Errors
    original: Errors
    original_worst_pair: Errors
    unlike: Errors
    unlike_original: Errors
    family: LeftOutAccuracy
    family_unlike: Errors
    measured: Errors | None
    noise: Mapping[str, float]
    pairs: tuple[PairAccuracy, ...]
    architectures: Mapping[str, ArchitectureAccuracy]
    families: Mapping[str, LeftOutAccuracy]
    fastest: FastestNamed
    fastest_by_anchor: Mapping[str, FastestNamed]
    scalers: tuple[ScalerAccuracy, ...]
    points: tuple[MeasuredPoint, ...]
    growth: tuple[GrowthAccuracy, ...] = ()
