"""Reads `estimate.json`: what answers without a profile are made of, signed with its own checksum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.artifacts.models import Models
from profet_core.ensemble.fitted import TreeStack, read_fitted
from profet_core.errors import ArtifactError, InputError
from profet_core.files import JsonObject, damaged, finite_number, load_coefficients, models_folder, sha256_hex, shown
from profet_core.from_layers.costs import WORK, GpuCosts, KnownSteps, StepAmounts
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of, measured_networks

# A feature that `rises` grows with FLOPs, batch, pixels, or analytical time. A correction never decreases with it, so a
# larger step is never predicted faster. Other features distinguish networks and GPUs and don't change with any of
# these.

#: Milliseconds treated as zero.
_NO_MS = 1e-3


@dataclass(frozen=True, slots=True)
class Feature:
    """One column. `instance` : the measured instance that it indicates; empty for others."""

    name: str
    rises: bool
    instance: str = ""


#: Kinds of work whose times are features; kernels don't change with step size and are inferred from `_COUNTED`.
_TIMED = WORK[:-1]
BY_LAW = "ms by the analytical model"
_COUNTED = ("convolutions", "dense layers", "normalizations", "layers")


def features_of(instances: Sequence[str]) -> tuple[Feature, ...]:
    """Columns of `feature_matrix` for these measured instances."""
    return (
        *(Feature(f"ms of {name}", rises=True) for name in _TIMED),
        Feature(BY_LAW, rises=True),
        Feature("batch", rises=True),
        Feature("pixels", rises=True),
        *(Feature(name, rises=False) for name in _COUNTED),
        Feature("layers per convolution", rises=False),
        Feature("normalizations per convolution", rises=False),
        Feature("is depthwise", rises=False),
        *(Feature(f"on {name}", rises=False, instance=name) for name in instances),
    )


def feature_matrix(
    amounts: StepAmounts, instance: str, costs: GpuCosts, law_ms: np.ndarray, instances: Sequence[str]
) -> np.ndarray:
    """Features of steps on one measured instance, (steps, features), float64 values that float32 represents exactly.

    Counts, sizes and times are logarithms.
    """
    parts_ms, convolutions = costs.parts_ms(amounts)[:, : len(_TIMED)], np.maximum(amounts.convolutions, 1)
    counts = [amounts.convolutions, amounts.dense_layers, amounts.normalizations, amounts.layers]
    columns = [
        *np.log(parts_ms + _NO_MS).T,
        np.log(law_ms),
        np.log(amounts.batch_sizes),
        np.log(amounts.pixels),
        *(np.log1p(count) for count in counts),
        np.log1p(amounts.layers / convolutions),
        np.log1p(amounts.normalizations / convolutions),
        (amounts.work[:, WORK.index("depthwise FLOPs")] > 0).astype(float),
        *(np.full(len(amounts), float(name == instance)) for name in instances),
    ]
    return np.stack(columns, axis=1).astype(np.float32).astype(float)


@dataclass(frozen=True)
class LogLinear:
    """The documented regression: log latency as a weighted sum of features."""

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    intercept: float
    law: int

    def log_ratio(self, features: FloatArray) -> FloatArray:
        """log(latency / analytical model), (steps, features) -> (steps,)."""
        log_ms: FloatArray = features[:, list(self.columns)] @ np.array(self.weights)
        return self.intercept + log_ms - features[:, self.law]


#: Of the methods that correct the analytical model; the trees put out log(latency / analytical model).
Correction = LogLinear | TreeStack


#: Measured batch and image sizes.
BATCHES, PIXELS = (16, 256), (32, 256)
#: Deeper networks of a family whose shallower ones were measured.
_DEEPER = frozenset({"ResNet-101 v1.5", "ResNet-152 v1.5"})


class Regime(StrEnum):
    """The unmeasured part of a question; values as in files and documents."""

    INTERPOLATION = "interpolation"
    LARGER_BATCH = "larger batch"
    DEEPER = "deeper network"
    UNSEEN_GPU = "unseen GPU"
    UNSEEN_NETWORK = "unseen architecture"
    UNSEEN_BOTH = "unseen GPU and architecture"

    @property
    def words(self) -> str:
        """Display text."""
        return _WORDS[self]


_WORDS = {
    Regime.INTERPOLATION: "this network was measured on this GPU",
    Regime.LARGER_BATCH: "this network was measured on this GPU, at smaller batches",
    Regime.DEEPER: "shallower networks of its family were measured on this GPU",
    Regime.UNSEEN_GPU: "this network was measured, on other GPUs",
    Regime.UNSEEN_NETWORK: "other networks were measured on this GPU",
    Regime.UNSEEN_BOTH: "other networks were measured, on other GPUs",
}


def measured_network(network: Counts) -> str | None:
    """The measured network with these counts at this size; None: another network."""
    for name in measured_networks():
        try:
            found = counts_of(name, network.pixels, network.classes)
        except InputError:
            continue
        if found == network:
            return name
    return None


def regime_of(network: Counts, name: str, batch_size: int, *, gpu_measured: bool) -> Regime:
    """Validation split of a question about a network, named or not."""
    low, high = PIXELS
    is_known = low <= network.pixels <= high and measured_network(network) is not None
    if not gpu_measured:
        return Regime.UNSEEN_GPU if is_known else Regime.UNSEEN_BOTH
    if not is_known:
        return Regime.DEEPER if name in _DEEPER else Regime.UNSEEN_NETWORK
    return Regime.INTERPOLATION if batch_size <= BATCHES[1] else Regime.LARGER_BATCH


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
    corrections : method -> correction of the model, None for none.
    default : the method that inner folds chose most often; one for all splits, so that estimates don't jump.
    log_half_widths : split -> method -> bound of 90% of its errors on data held out in that split.
    fitted_on : file -> hash of the data, and the number of workloads. checksum : of the file's content.
    """

    costs: Mapping[str, GpuCosts]
    corrections: Mapping[str, Correction | None]
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
        """Validate a method's name; "default" returns the default method."""
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
            log_ratio = np.zeros(len(amounts))
            if isinstance(correction, TreeStack):
                log_ratio = correction.run(features)[0, :, 0]
            elif correction is not None:
                log_ratio = correction.log_ratio(features)
            found[name] = KnownSteps(costs, log_ratio)
        return found

    def measured_ms(self, amounts: StepAmounts, instance: str, method: str) -> FloatArray:
        """Milliseconds per step on a measured instance, (steps,)."""
        known = self.known_steps(amounts, method)[instance]
        return known.costs.latency_ms(amounts) * np.exp(known.log_ratio)


#: Loaded estimate models, kept as long as the models they belong to.
_LOADED: WeakKeyDictionary[Models, EstimateModel] = WeakKeyDictionary()


def estimate_model_of(models: Models) -> EstimateModel:
    """Load the estimate model in the folder of these models, once per folder."""
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
    """
    costs = {str(name): _costs(row) for name, row in content["instances"].items()}
    columns = {feature.name: place for place, feature in enumerate(features_of(tuple(costs)))}
    for name in (XGBOOST, LIGHTGBM):
        if trees[name].inputs != len(columns) or trees[name].models != 1:
            raise ValueError(f"trees of other features: {name}")
    line = _log_linear(content["methods"][LOG_LINEAR], columns)
    corrections = {LAW: None, LOG_LINEAR: line, XGBOOST: trees[XGBOOST], LIGHTGBM: trees[LIGHTGBM]}
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
