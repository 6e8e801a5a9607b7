"""Load `estimate.json`, the checksummed model of estimates without a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.artifacts.models import Models
from profet_core.errors import ArtifactError, InputError
from profet_core.estimate.amounts import WORK, StepAmounts
from profet_core.estimate.corrections import BoostedTrees, Correction, LogLinear, NoCorrection
from profet_core.estimate.costs import GpuCosts
from profet_core.estimate.features import BY_LAW, Feature, feature_matrix, features_of
from profet_core.estimate.reach import KnownSteps
from profet_core.estimate.regimes import Regime
from profet_core.files import JsonObject, damaged, finite_number, load_coefficients, models_folder, sha256_hex, shown
from profet_core.fitted.files import read_fitted
from profet_core.fitted.trees import TreeStack

ESTIMATE_NAME = "estimate.json"
ESTIMATE_VERSION = 1
#: Methods that correct the analytical model, in display order.
LAW, LOG_LINEAR, XGBOOST, LIGHTGBM = "law", "log-linear", "xgboost", "lightgbm"
METHODS = (LAW, LOG_LINEAR, XGBOOST, LIGHTGBM)
DEFAULT = "default"


@dataclass(frozen=True)
class EstimateModel:
    """Model of estimates without a profile, except the transfer model's speeds.

    Attributes
    ----------
    costs : measured instance -> cost of its GPU per unit of work.
    corrections : method -> correction of the model. default : the method that inner folds chose most often; one method
        for all splits, so that estimates don't jump between splits.
    log_half_widths : split -> method -> bound of 90% of its errors on data held out in that split.
    fitted_on : file -> hash of the data, and the number of workloads. checksum : of the file's content.
    """

    costs: Mapping[str, GpuCosts]
    corrections: Mapping[str, Correction]
    default: str
    log_half_widths: Mapping[Regime, Mapping[str, float]]
    fitted_on: Mapping[str, str]
    checksum: str = ""

    @property
    def instances(self) -> tuple[str, ...]:
        """Measured instances."""
        return tuple(self.costs)

    @property
    def features(self) -> tuple[Feature, ...]:
        """Inputs of the corrections."""
        return features_of(self.instances)

    def method(self, name: str) -> str:
        """Validate a method's name; "default" returns the default method.

        Raises
        ------
        InputError : not one of `METHODS`.
        """
        found = self.default if name == DEFAULT else name
        if found not in self.corrections:
            raise InputError(f"Unknown method {name!r}: use default or one of {', '.join(METHODS)}.")
        return found

    def known_steps(self, amounts: StepAmounts, method: str) -> dict[str, KnownSteps]:
        """The steps on each measured instance, by one method."""
        correction = self.corrections[self.method(method)]
        found = {}
        for name, costs in self.costs.items():
            features = feature_matrix(amounts, name, costs, costs.latency_ms(amounts), self.instances)
            found[name] = KnownSteps(costs, correction.log_ratio(features))
        return found

    def measured_ms(self, amounts: StepAmounts, instance: str, method: str) -> FloatArray:
        """Milliseconds per step on a measured instance, (steps,)."""
        known = self.known_steps(amounts, method)[instance]
        return known.costs.latency_ms(amounts) * np.exp(known.log_ratio)


#: Loaded estimate models, kept as long as the models they belong to.
_LOADED: WeakKeyDictionary[Models, EstimateModel] = WeakKeyDictionary()


def estimate_model_of(models: Models) -> EstimateModel:
    """Load the estimate model in the folder of these models, once per folder.

    Raises
    ------
    ArtifactError : as `load_estimate`.
    """
    found = _LOADED.get(models)
    if found is None:
        found = _LOADED[models] = load_estimate(models.folder)
    return found


def load_estimate(folder: Path | str | None = None) -> EstimateModel:
    """Load `estimate.json` and its trees from a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : a file is missing, damaged, changed, or of another version.
    """
    found = models_folder(folder)

    def parse(content: JsonObject) -> EstimateModel:
        trees = {
            name: _trees(found / row["file"], row["sha256"])
            for name, row in content["methods"].items()
            if "file" in row
        }
        return estimate_model(content, trees)

    return load_coefficients(found / ESTIMATE_NAME, ESTIMATE_VERSION, parse)


def _trees(path: Path, sha256: str) -> TreeStack:
    try:
        data = path.read_bytes()
    except OSError:
        raise ArtifactError(f"{shown(path)} is missing: restore it (git checkout models).") from None
    fitted = read_fitted(data) if sha256_hex(data) == sha256 else None
    if not isinstance(fitted, TreeStack):
        raise damaged(path)
    return fitted


def estimate_model(content: JsonObject, trees: Mapping[str, TreeStack]) -> EstimateModel:
    """Parse the model from a file's content.

    Raises `ValueError` or similar for invalid content.

    Parameters
    ----------
    trees : of the methods that are trees.
    """
    costs = {str(name): _costs(row) for name, row in content["instances"].items()}
    columns = {feature.name: place for place, feature in enumerate(features_of(tuple(costs)))}
    corrections: dict[str, Correction] = {LAW: NoCorrection()}
    corrections[LOG_LINEAR] = _log_linear(content["methods"][LOG_LINEAR], columns)
    for name in (XGBOOST, LIGHTGBM):
        if trees[name].inputs != len(columns) or trees[name].models != 1:
            raise ValueError(f"trees of other features: {name}")
        corrections[name] = BoostedTrees(trees[name])
    widths = {regime: {name: _width(content["regimes"][regime][name]) for name in METHODS} for regime in Regime}
    if content["default"] not in METHODS:
        raise ValueError("no default method")
    return EstimateModel(
        costs=MappingProxyType(costs),
        corrections=MappingProxyType(corrections),
        default=content["default"],
        log_half_widths=MappingProxyType(widths),
        fitted_on=MappingProxyType({str(name): str(value) for name, value in content["fitted_on"].items()}),
        checksum=str(content["checksum"]),
    )


def _costs(row: JsonObject) -> GpuCosts:
    work_ms = tuple(finite_number(row["work_ms"][kind]) for kind in WORK)
    numbers = {key: finite_number(row[key]) for key in ("layer_ms", "convolution_ms", "start_ms", "value_ms")}
    if min(*work_ms, *numbers.values()) < 0:
        raise ValueError("costs below zero")
    return GpuCosts(str(row["gpu"]), str(row["host"]), work_ms, log_speed=finite_number(row["log_speed"]), **numbers)


def _log_linear(row: JsonObject, columns: Mapping[str, int]) -> LogLinear:
    selected = row["selected"]
    return LogLinear(
        columns=tuple(columns[one["feature"]] for one in selected),
        weights=tuple(finite_number(one["weight"]) for one in selected),
        intercept=finite_number(row["intercept"]),
        law=columns[BY_LAW],
    )


def _width(value: object) -> float:
    width = finite_number(value)
    if width <= 0:
        raise ValueError("a width that is not positive")
    return width
