"""Reads the measured accuracy that ships with the models, `validation.json`, as `profet validate --card` wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from profet_core.artifacts.models import Models
from profet_core.errors import ArtifactError
from profet_core.files import finite_number, strict_json

VALIDATION_NAME = "validation.json"

#: Architectures of the data that have a near relative in it: deeper or shallower versions of one design. The others
#: show what a network of one's own may meet.
WITH_TWIN = frozenset({"VGG11", "VGG13", "VGG16", "VGG19", "ResNet18", "ResNet34", "ResNet50"})

_WRITE_AGAIN = "get it again (git checkout models) or run `profet validate --card`"


@dataclass(frozen=True, slots=True)
class Errors:
    """A figure with the anchor's latency given, and without; percent."""

    with_latency: float
    without_latency: float

    def of(self, latency_known: bool) -> float:
        """The one that applies."""
        return self.with_latency if latency_known else self.without_latency


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How networks were predicted by models that had never seen them; all percent.

    Attributes
    ----------
    error : mean absolute percentage error.
    covered : share of measurements inside the interval.
    half_width : median half width of the interval.
    """

    error: Errors
    covered: Errors
    half_width: Errors


@dataclass(frozen=True, slots=True)
class PairAccuracy:
    """One anchor and target, each architecture left out in turn; percent but for `r2` and `rmse_ms`."""

    anchor: str
    target: str
    n: int
    left_out: LeftOut
    documented: Errors
    original: Errors
    r2: float
    rmse_ms: float


@dataclass(frozen=True, slots=True)
class ArchitectureAccuracy:
    """One architecture, left out: mean over the pairs."""

    left_out: LeftOut
    documented: Errors
    original: Errors


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """One workload on one pair, its architecture left out, the anchor's latency given."""

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


@dataclass(frozen=True)
class Validation:
    """The whole report, tied to one set of models.

    Attributes
    ----------
    mean, worst_pair, with_sizes : default method over the pairs; `with_sizes` with batch and pixel size known.
    unlike, unlike_original : mean over the architectures without a near relative in the data.
    family, family_unlike : the whole family left out; all architectures, and those without a near relative.
    measured : another workload of the network measured on the target; None if the report doesn't have it.
    noise : instance -> what one run differs from the next.
    """

    models_checksum: str
    made: str
    mean: LeftOut
    worst_pair: Errors
    with_sizes: Errors
    documented: Errors
    original: Errors
    original_worst_pair: Errors
    unlike: Errors
    unlike_original: Errors
    family: LeftOut
    family_unlike: Errors
    measured: Errors | None
    noise: Mapping[str, float]
    pairs: tuple[PairAccuracy, ...]
    architectures: Mapping[str, ArchitectureAccuracy]
    families: Mapping[str, LeftOut]
    fastest: FastestNamed
    fastest_by_anchor: Mapping[str, FastestNamed]
    scalers: tuple[ScalerAccuracy, ...]
    points: tuple[MeasuredPoint, ...]


def load_validation(models: Models) -> Validation:
    """The accuracy of these very models.

    Raises
    ------
    ArtifactError : the report is missing or damaged, or was written for other models.
    """
    path = models.folder / VALIDATION_NAME
    try:
        report = strict_json(path)
        found = _read(report)
    except OSError:
        raise ArtifactError(f"The accuracy report {path} is missing: {_WRITE_AGAIN}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError, RecursionError):
        raise ArtifactError(f"The accuracy report {path} is damaged: {_WRITE_AGAIN}.") from None
    if found.models_checksum != models.manifest["checksum"]:
        raise ArtifactError(f"The figures in {path} belong to other models than those loaded: {_WRITE_AGAIN}.")
    return found


def _read(report: Mapping) -> Validation:
    default, documented, original = report["default"], report["profet"], report["original"]
    points = tuple(_point(row) for row in report["scatter"])
    if not points or not default["pairs"] or not default["by_model"]:
        raise ValueError("empty")
    return Validation(
        models_checksum=str(report["models_checksum"]),
        made=str(report["made"]),
        mean=_pair_left_out(default["mean"]),
        worst_pair=_errors(default["worst_pair"], "{}"),
        with_sizes=_errors(default["mean"], "mape_{}_and_sizes"),
        documented=_errors(documented["mean"]),
        original=_errors(original["mean"]),
        original_worst_pair=Errors(
            max(finite_number(row["mape_with_latency"]) for row in original["pairs"]),
            max(finite_number(row["mape_without_latency"]) for row in original["pairs"]),
        ),
        unlike=_errors(default["without_twin"]),
        unlike_original=_over_unlike(original["by_model"], points),
        family=_left_out(default["family"]),
        family_unlike=_errors(default["family"], "mape_without_twin_{}"),
        measured=_errors(default["measured"]) if "measured" in default else None,
        noise=_numbers(report["noise_percent"]),
        pairs=_pairs(default, documented, original),
        architectures={
            name: ArchitectureAccuracy(
                _left_out(row), _errors(documented["by_model"][name]), _errors(original["by_model"][name])
            )
            for name, row in default["by_model"].items()
        },
        families={name: _left_out(row) for name, row in default["by_family"].items()},
        fastest=_fastest(default["fastest"]),
        fastest_by_anchor={name: _fastest(row) for name, row in default["fastest"]["by_anchor"].items()},
        scalers=tuple(_scalers(report["scaler"], original["scaler_mape"])),
        points=points,
    )


def _pairs(default: Mapping, documented: Mapping, original: Mapping) -> tuple[PairAccuracy, ...]:
    theirs = {(row["anchor"], row["target"]): row for row in original["pairs"]}
    documented_rows = {(row["anchor"], row["target"]): row for row in documented["pairs"]}
    return tuple(
        PairAccuracy(
            anchor=str(row["anchor"]),
            target=str(row["target"]),
            n=int(finite_number(row["n"])),
            left_out=_pair_left_out(row),
            documented=_errors(documented_rows[row["anchor"], row["target"]]),
            original=_errors(theirs[row["anchor"], row["target"]]),
            r2=finite_number(row["r2"]),
            rmse_ms=finite_number(row["rmse_ms"]),
        )
        for row in default["pairs"]
    )


def _pair_left_out(row: Mapping) -> LeftOut:
    """A row over pairs names its figures with the latency given without saying so."""
    covered = Errors(finite_number(row["coverage_90"]), finite_number(row["coverage_90_without_latency"]))
    width = Errors(finite_number(row["median_interval_pct"]), finite_number(row["median_interval_pct_without_latency"]))
    return LeftOut(_errors(row), covered, width)


def _left_out(row: Mapping) -> LeftOut:
    return LeftOut(_errors(row), _errors(row, "coverage_90_{}"), _errors(row, "median_interval_pct_{}"))


def _errors(row: Mapping, name: str = "mape_{}") -> Errors:
    return Errors(*(finite_number(row[name.format(case)]) for case in ("with_latency", "without_latency")))


def _over_unlike(by_model: Mapping, points: tuple[MeasuredPoint, ...]) -> Errors:
    """Mean over the architectures without a near relative, each with the weight of its workloads."""
    weights: dict[str, int] = {}
    for point in points:
        if point.model not in WITH_TWIN:
            weights[point.model] = weights.get(point.model, 0) + 1
    rows = {name: _errors(by_model[name]) for name in weights}
    total = sum(weights.values())

    def mean(of: Callable[[Errors], float]) -> float:
        return sum(weight * of(rows[name]) for name, weight in weights.items()) / total

    return Errors(mean(lambda row: row.with_latency), mean(lambda row: row.without_latency))


def _fastest(row: Mapping) -> FastestNamed:
    return FastestNamed(finite_number(row["right_percent"]), finite_number(row["regret_percent"]))


def _scalers(report: Mapping, original: Mapping) -> list[ScalerAccuracy]:
    found = []
    for method, key in (("default", "settings_default"), ("documented", "settings")):
        for name, row in report.get(key, {}).items():
            axis, ends = name.rsplit("_", 1)
            by_instance = {instance: finite_number(values["mape"]) for instance, values in row["by_instance"].items()}
            beside = finite_number(original[axis]["mean"]) if ends == "true" else None
            found.append(ScalerAccuracy(method, axis, ends, finite_number(row["mean_mape"]), by_instance, beside))
    return found


def _point(row: Mapping) -> MeasuredPoint:
    times = {name: finite_number(row[name]) for name in ("measured_ms", "predicted_ms", "low_ms", "high_ms")}
    if min(times.values()) <= 0:
        raise ValueError("a latency is above 0")
    return MeasuredPoint(
        str(row["anchor"]), str(row["target"]), str(row["model"]), int(row["pixels"]), int(row["batch_size"]), **times
    )


def _numbers(row: Mapping) -> dict[str, float]:
    return {str(name): finite_number(value) for name, value in row.items()}
