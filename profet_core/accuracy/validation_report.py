"""Reads the measured accuracy that ships with the models, `validation.json`, as `profet validate --card` wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.reading import ReportFile, by_name, count, positive, read_record, text
from profet_core.accuracy.validation import (
    WITH_TWIN,
    ArchitectureAccuracy,
    FastestNamed,
    GrowthAccuracy,
    LeftOutAccuracy,
    MeasuredPoint,
    PairAccuracy,
    ScalerAccuracy,
    Validation,
)
from profet_core.artifacts.models import Models
from profet_core.files import JsonObject, finite_number

VALIDATION_NAME = "validation.json"
_CASES = ("with_latency", "without_latency")


def load_validation(models: Models) -> Validation:
    """The accuracy of these very models.

    Raises
    ------
    ArtifactError : the report is missing or damaged, or was written for other models.
    """
    file = ReportFile(models.folder / VALIDATION_NAME, "The accuracy report", "profet validate --card")
    found = file.read(_validation)
    file.check_belongs(found.models_checksum, models.manifest["checksum"], "models")
    return found


def _validation(report: JsonObject) -> Validation:
    default, documented, original = report["default"], report["profet"], report["original"]
    points = tuple(read_record(MeasuredPoint, row, {"float": positive}) for row in report["scatter"])
    if not points or not default["pairs"] or not default["by_model"]:
        raise ValueError("empty")
    return Validation(
        models_checksum=text(report["models_checksum"]),
        made=text(report["made"]),
        mean=_over_pairs(default["mean"]),
        worst_pair=_errors(default["worst_pair"], "{}"),
        with_sizes=_errors(default["mean"], "mape_{}_and_sizes"),
        documented=_errors(documented["mean"]),
        original=_errors(original["mean"]),
        original_worst_pair=Errors(
            *(max(finite_number(row[f"mape_{case}"]) for row in original["pairs"]) for case in _CASES)
        ),
        unlike=_errors(default["without_twin"]),
        unlike_original=_over_unlike(original["by_model"], points),
        family=_left_out(default["family"]),
        family_unlike=_errors(default["family"], "mape_without_twin_{}"),
        measured=_errors(default["measured"]) if "measured" in default else None,
        noise=by_name(report["noise_percent"], finite_number),
        pairs=_pairs(default, documented, original),
        architectures={
            name: ArchitectureAccuracy(
                _left_out(row), _errors(documented["by_model"][name]), _errors(original["by_model"][name])
            )
            for name, row in default["by_model"].items()
        },
        families=by_name(default["by_family"], _left_out),
        fastest=_fastest(default["fastest"]),
        fastest_by_anchor=by_name(default["fastest"]["by_anchor"], _fastest),
        scalers=tuple(_scalers(report["scaler"], original["scaler_mape"])),
        points=points,
        growth=tuple(growth_accuracies(report.get("growth", {}))),
    )


def growth_accuracies(report: JsonObject) -> Iterator[GrowthAccuracy]:
    """The records of the report's section on other sizes."""
    for known, rows in report.items():
        for row in rows:
            yield GrowthAccuracy(
                known=text(known),
                axis=text(row["axis"]),
                knots=None if row.get("knots") is None else count(row["knots"]),
                n=count(row["n"]),
                error=finite_number(row["mape"]),
                proportional=None if row.get("proportional") is None else finite_number(row["proportional"]),
                covered=finite_number(row["coverage_90"]),
                half_width=finite_number(row["median_interval_pct"]),
            )


def _pairs(default: JsonObject, documented: JsonObject, original: JsonObject) -> tuple[PairAccuracy, ...]:
    documented_errors, original_errors = _errors_by_pair(documented), _errors_by_pair(original)
    return tuple(
        PairAccuracy(
            anchor=text(row["anchor"]),
            target=text(row["target"]),
            n=count(row["n"]),
            left_out=_over_pairs(row),
            documented=documented_errors[row["anchor"], row["target"]],
            original=original_errors[row["anchor"], row["target"]],
            r2=finite_number(row["r2"]),
            rmse_ms=finite_number(row["rmse_ms"]),
        )
        for row in default["pairs"]
    )


def _errors_by_pair(report: JsonObject) -> dict[tuple[str, str], Errors]:
    return {(row["anchor"], row["target"]): _errors(row) for row in report["pairs"]}


def _over_pairs(row: JsonObject) -> LeftOutAccuracy:
    """A row over pairs names its figures with the latency given without saying so."""
    covered, width = (
        Errors(finite_number(row[name]), finite_number(row[f"{name}_without_latency"]))
        for name in ("coverage_90", "median_interval_pct")
    )
    return LeftOutAccuracy(_errors(row), covered, width)


def _left_out(row: JsonObject) -> LeftOutAccuracy:
    return LeftOutAccuracy(_errors(row), _errors(row, "coverage_90_{}"), _errors(row, "median_interval_pct_{}"))


def _errors(row: JsonObject, name: str = "mape_{}") -> Errors:
    return Errors(*(finite_number(row[name.format(case)]) for case in _CASES))


def _over_unlike(by_model: JsonObject, points: tuple[MeasuredPoint, ...]) -> Errors:
    """Mean over the architectures without a near relative, each with the weight of its workloads."""
    weights = Counter(point.model for point in points if point.model not in WITH_TWIN)
    rows = {name: _errors(by_model[name]) for name in weights}

    def mean(of: Callable[[Errors], float]) -> float:
        return sum(weight * of(rows[name]) for name, weight in weights.items()) / weights.total()

    return Errors(mean(lambda row: row.with_latency), mean(lambda row: row.without_latency))


def _fastest(row: JsonObject) -> FastestNamed:
    return FastestNamed(finite_number(row["right_percent"]), finite_number(row["regret_percent"]))


def _scalers(report: JsonObject, original: JsonObject) -> Iterator[ScalerAccuracy]:
    for method, key in (("default", "settings_default"), ("documented", "settings")):
        for name, row in report.get(key, {}).items():
            axis, ends = name.rsplit("_", 1)
            yield ScalerAccuracy(
                method=method,
                axis=axis,
                ends=ends,
                error=finite_number(row["mean_mape"]),
                by_instance=by_name(row["by_instance"], lambda values: finite_number(values["mape"])),
                original=finite_number(original[axis]["mean"]) if ends == "true" else None,
            )
