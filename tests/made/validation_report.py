"""A made-up validation report in the shape that `profet validate --card` writes, every number different."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, permutations

INSTANCES = ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
ARCHITECTURES = ("LeNet5", "VGG11", "MobileNetV2", "ResNet50", "AlexNet", "InceptionV3", "ResNetSmall")
FAMILIES = ("LeNet5", "VGG", "ResNet")
CASES = ("with_latency", "without_latency")


def made_report(checksum: str) -> dict:
    """A report that belongs to the models of that checksum."""
    numbers = (3.0 + 0.37 * number for number in count())
    pairs = list(permutations(INSTANCES, 2))
    return {
        "models_checksum": checksum,
        "made": "2020-02-02",
        "seed": 0,
        "noise_percent": {name: next(numbers) / 10 for name in INSTANCES},
        "default": {
            "pairs": [{"anchor": a, "target": t, "n": 9, **_over_pairs(numbers)} for a, t in pairs],
            "mean": _over_pairs(numbers),
            "worst_pair": {case: next(numbers) for case in CASES},
            "by_model": {name: _left_out(numbers) for name in ARCHITECTURES},
            "by_family": {name: _left_out(numbers) for name in FAMILIES},
            "family": _left_out(numbers) | {f"mape_without_twin_{case}": next(numbers) for case in CASES},
            "without_twin": _errors(numbers),
            "measured": _errors(numbers),
            "fastest": _fastest(numbers) | {"by_anchor": {name: _fastest(numbers) for name in INSTANCES}},
        },
        "profet": {
            "pairs": [{"anchor": a, "target": t, **_errors(numbers)} for a, t in pairs],
            "mean": _errors(numbers),
            "by_model": {name: _errors(numbers) for name in ARCHITECTURES},
        },
        "original": {
            "pairs": [{"anchor": a, "target": t, **_errors(numbers)} for a, t in pairs],
            "mean": _errors(numbers),
            "by_model": {name: _errors(numbers) for name in ARCHITECTURES},
            "scaler_mape": {axis: {"mean": next(numbers)} for axis in ("batch", "pixels")},
        },
        "scaler": {
            key: {name: _scaler(numbers) for name in ("batch_true", "pixels_predicted")}
            for key in ("settings", "settings_default")
        },
        "scatter": [
            _point(anchor, target, name, batch, next(numbers))
            for anchor, target in pairs
            for name in ARCHITECTURES
            for batch in (16, 64)
        ],
    }


def _errors(numbers: Iterator[float]) -> dict[str, float]:
    return {f"mape_{case}": next(numbers) for case in CASES}


def _over_pairs(numbers: Iterator[float]) -> dict[str, float]:
    names = ("coverage_90", "coverage_90_without_latency", "median_interval_pct", "r2", "rmse_ms")
    names += ("median_interval_pct_without_latency", *(f"mape_{case}_and_sizes" for case in CASES))
    return _errors(numbers) | {name: next(numbers) for name in names}


def _left_out(numbers: Iterator[float]) -> dict[str, float]:
    figures = ("mape", "coverage_90", "median_interval_pct")
    return {f"{figure}_{case}": next(numbers) for figure in figures for case in CASES}


def _fastest(numbers: Iterator[float]) -> dict[str, float]:
    return {"right_percent": next(numbers), "regret_percent": next(numbers) / 1000}


def _scaler(numbers: Iterator[float]) -> dict[str, object]:
    return {"by_instance": {name: {"mape": next(numbers)} for name in INSTANCES}, "mean_mape": next(numbers)}


def _point(anchor: str, target: str, model: str, batch: int, measured_ms: float) -> dict[str, object]:
    predicted_ms = measured_ms * (1.3 if batch == 64 else 0.98)
    return {
        "anchor": anchor,
        "target": target,
        "model": model,
        "pixels": 32,
        "batch_size": batch,
        "measured_ms": measured_ms,
        "predicted_ms": predicted_ms,
        "low_ms": predicted_ms * 0.9,
        "high_ms": predicted_ms * 1.1,
    }
