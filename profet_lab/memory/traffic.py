"""Fits what profiles and image sizes show of activations: `TrafficRelation` and `ImageRelation`."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from profet_core.catalog import Catalog, load_gpus
from profet_core.features.classes import OperationClasses, load_operation_classes
from profet_core.memory.model import GIB_PER_VALUE, ImageRelation, MemoryLaw, TrafficRelation
from profet_core.units import US_PER_MS
from profet_lab.measurements.tables import WORKLOAD, Measurements
from profet_lab.memory.law import layer_values

#: Classes whose time is bandwidth's, in groups that share one weight.
MOVING = (
    ("activation", "activation gradient", "bias gradient"),
    ("batch norm", "batch norm gradient"),
    ("addition", "elementwise", "data movement"),
    ("pooling", "pooling gradient"),
)
UPDATE = "weight update"
#: Steps with fewer activations, GiB, fit everywhere and are bound by launches: they teach nothing here.
SMALLEST_GIB = 0.3
#: Parameters, GiB, from which on the weight update is bound by bandwidth.
LARGE_PARAMETERS_GIB = 0.05
#: Error (of the logarithm) beyond which a profile counts linearly, not squared.
HUBER = 0.3
#: Prior of the weights: what is moved passes memory about 20 times a step.
PRIOR_LOG_WEIGHT, PRIOR_WEIGHT, OFFSET_WEIGHT = math.log(0.05), 0.025, 2.5
#: A logistic memory model has this scale where a normal one has the deviation 1.
LOGISTIC_SCALE = math.sqrt(3) / math.pi
_TINY_GIB = 1e-3


def traffic_table(measurements: Measurements, architectures: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """One row a profiled workload and instance, medians over repeats.

    Columns: instance, gpu_model, bandwidth_gb_per_s, model, pixels, batch_size, parameters, convolution_values,
    other_values, cut (above 0: the profile lacks operations), and one `us NAME` a class: microseconds of the step.
    """
    classes, gpus = load_operation_classes(), load_gpus()
    parts = []
    for instance in measurements.instances:
        encoded = classes.encode_table(measurements.operations, measurements.times_us[instance])
        gpu = gpus.find(catalog[instance].gpu, catalog[instance].gpu_memory_gib)
        columns = [f"us {name}" for name in classes.names]
        table = pd.DataFrame(encoded.times_ms * US_PER_MS, columns=columns).assign(cut=encoded.truncated.astype(float))
        table = pd.concat([measurements.workloads.reset_index(drop=True), table], axis=1)
        table = table.groupby(WORKLOAD, as_index=False)[[*columns, "cut"]].median()
        parts.append(table.assign(instance=instance, gpu_model=gpu.model, bandwidth_gb_per_s=gpu.bandwidth_gb_per_s))
    return pd.concat(parts, ignore_index=True).merge(layer_values(architectures), on=["model", "pixels"])


def class_times(row: pd.Series, classes: OperationClasses) -> dict[str, float]:
    """Class -> microseconds of one row of `traffic_table`."""
    return {name: float(row[f"us {name}"]) for name in classes.names}


def activations_gib(law: MemoryLaw, table: pd.DataFrame) -> np.ndarray:
    """True activations of each row by the memory model, GiB."""
    values = law.per_convolution * table["convolution_values"] + law.per_other * table["other_values"]
    return (values * table["batch_size"] * GIB_PER_VALUE).to_numpy(float)


def fit_traffic(table: pd.DataFrame, law: MemoryLaw) -> TrafficRelation:
    """Weights and offsets by robust regression of the logarithm; errors on held-out architectures.

    Truncated profiles are left out: they lack the cheap operations, which are most of what moves activations.
    """
    table = table[table["cut"] == 0]
    errors = _held_out_errors(table, law)
    return _traffic(table, law, log_scale=LOGISTIC_SCALE * _root_mean_square(errors))


def fit_images(table: pd.DataFrame, law: MemoryLaw) -> ImageRelation:
    """Activations of a megapixel: the median over architectures, and how far they spread."""
    table = table[[*WORKLOAD, "convolution_values", "other_values"]].drop_duplicates()
    megapixels = table["batch_size"].astype(float) * table["pixels"].astype(float) ** 2 / 1e6
    log_ratio = pd.Series(np.log(activations_gib(law, table) / megapixels))
    by_model = log_ratio.groupby(table["model"]).mean()
    centre = float(by_model.median())
    # The center was chosen on the same architectures: one degree of freedom is spent.
    spread = math.sqrt(float(((by_model - centre) ** 2).sum()) / max(len(by_model) - 1, 1))
    return ImageRelation(gib_per_megapixel=math.exp(centre), log_scale=LOGISTIC_SCALE * spread)


def _traffic(table: pd.DataFrame, law: MemoryLaw, log_scale: float) -> TrafficRelation:
    weights, offsets = _fit(table, law)
    update_gib = _moved_gib(table, (UPDATE,))
    parameters_gib = table["parameters"].to_numpy(float) * GIB_PER_VALUE
    large = (parameters_gib > LARGE_PARAMETERS_GIB) & (update_gib > 0)
    return TrafficRelation(
        weights={name: weight for group, weight in zip(MOVING, weights, strict=True) for name in group},
        log_offset=offsets,
        log_scale=log_scale,
        parameters_per_update=float(np.median(parameters_gib[large] / update_gib[large])),
    )


def _held_out_errors(table: pd.DataFrame, law: MemoryLaw) -> pd.Series:
    """Mean square log error of each architecture, by the relation fitted without it."""
    found = {}
    for name in sorted(table["model"].unique()):
        one = table[(table["model"] == name) & (activations_gib(law, table) > SMALLEST_GIB)]
        if len(one):
            relation = _traffic(table[table["model"] != name], law, log_scale=1.0)
            error = np.log(estimated_gib(relation, one) / activations_gib(law, one))
            found[name] = float((error**2).mean())
    return pd.Series(found)


def estimated_gib(relation: TrafficRelation, table: pd.DataFrame) -> np.ndarray:
    """Activations of each row as the relation sees them, GiB."""
    weighted = sum(
        relation.weights[group[0]] * _moved_gib(table, group) for group in MOVING if group[0] in relation.weights
    )
    offsets = table["gpu_model"].map(lambda name: relation.log_offset.get(name, 0.0)).to_numpy(float)
    return np.maximum(weighted * np.exp(offsets), _TINY_GIB)


def _fit(table: pd.DataFrame, law: MemoryLaw) -> tuple[list[float], dict[str, float]]:
    wanted = activations_gib(law, table)
    table, wanted = table[wanted > SMALLEST_GIB], np.log(wanted[wanted > SMALLEST_GIB])
    moved = np.stack([_moved_gib(table, group) for group in MOVING], axis=1)
    names = sorted(table["gpu_model"].unique())
    is_gpu = np.stack([(table["gpu_model"] == name).to_numpy(float) for name in names], axis=1)
    groups = len(MOVING)

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        logs, offsets = values[:groups], values[groups:]
        total = moved @ np.exp(logs) + _TINY_GIB
        error = np.log(total) + is_gpu @ offsets - wanted
        root = np.sqrt(1 + (error / HUBER) ** 2)
        pull = error / root
        cost = HUBER**2 * (root - 1).sum()
        cost += PRIOR_WEIGHT * ((logs - PRIOR_LOG_WEIGHT) ** 2).sum() + OFFSET_WEIGHT * (offsets**2).sum()
        gradient = np.append((pull / total) @ moved * np.exp(logs), pull @ is_gpu)
        prior = np.append(2 * PRIOR_WEIGHT * (logs - PRIOR_LOG_WEIGHT), 2 * OFFSET_WEIGHT * offsets)
        return cost, gradient + prior

    start = np.append(np.full(groups, PRIOR_LOG_WEIGHT), np.zeros(len(names)))
    values = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return np.exp(values[:groups]).tolist(), dict(zip(names, values[groups:].tolist(), strict=True))


def _moved_gib(table: pd.DataFrame, group: tuple[str, ...]) -> np.ndarray:
    """GiB that the classes could move in their time at the specified bandwidth."""
    us = table[[f"us {name}" for name in group]].sum(axis=1)
    return (us * table["bandwidth_gb_per_s"] * 1e3 / 2**30).to_numpy(float)


def _root_mean_square(squares: pd.Series) -> float:
    """Over architectures, however many sizes each was profiled at."""
    return math.sqrt(float(squares.mean()))
