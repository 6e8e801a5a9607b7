"""PROFET's documented method (arXiv:2208.05130): its members fitted on many folds together, and their accuracy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from numpy.typing import ArrayLike
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_percentage_error, r2_score, root_mean_squared_error

from profet_core.ensemble.members import DenseStack
from profet_core.ensemble.operations import FeatureSpec, column_sums
from profet_core.prediction.members import combine
from profet_core.prediction.scaler import KNOTS
from profet_lab.class_members import Layer, forward
from profet_lab.measurements.tables import WITH_LATENCY, WITHOUT_LATENCY, Measurements, Pair
from profet_lab.sizes import curve_rows, curves_of, fit_scaler, held_out_scalers, latency_curves
from profet_lab.tasks import Progress, run_tasks
from profet_profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_profiles.units import US_PER_MS

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import tensorflow as tf

#: Hidden layers of PROFET's network (arXiv:2208.05130).
HIDDEN = (128, 64, 32, 16)
BATCH_SIZE = 16
EPOCHS = 80
LEARNING_RATE = 1e-3
#: The rate falls to this share of itself every 1,000 steps of 16 rows in PROFET's script; same share per row here.
DECAY_RATE, DECAY_ROWS = 0.9, 16_000


#: One network's training rows: features (rows, n) and targets (rows,), both in microseconds.
TrainingTable = tuple[np.ndarray, np.ndarray]


def fit_dense(
    training_rows: Sequence[TrainingTable], seed: int, epochs: int = EPOCHS, progress: Progress | None = None
) -> list[DenseStack]:
    """Train a network on each, all together, on the relative error; their output is in microseconds."""
    networks, longest = len(training_rows), max(len(target_us) for _, target_us in training_rows)
    widest = max(features.shape[1] for features, _ in training_rows)
    # Filled up to the longest and widest.
    inputs, wanted_us = np.zeros((networks, longest, widest), np.float32), np.ones((networks, longest), np.float32)
    for number, (features, target_us) in enumerate(training_rows):
        inputs[number, : len(features), : features.shape[1]] = features
        wanted_us[number, : len(target_us)] = target_us
    all_inputs, all_wanted = tf.constant(inputs), tf.constant(wanted_us)
    steps = training_steps(longest, epochs)
    rows = _row_order([len(target_us) for _, target_us in training_rows], steps * BATCH_SIZE, seed)
    layers = _initial_layers(networks, (widest, *HIDDEN, 1), seed)
    variables = [value for layer in layers for value in layer]
    schedule = keras.optimizers.schedules.ExponentialDecay(LEARNING_RATE, DECAY_ROWS // BATCH_SIZE, DECAY_RATE)
    optimizer = keras.optimizers.Adam(schedule)
    optimizer.build(variables)

    @tf.function(jit_compile=True)
    def step(chosen):
        wanted = tf.gather(all_wanted, chosen, batch_dims=1)
        with tf.GradientTape() as tape:
            predicted = forward(layers, tf.gather(all_inputs, chosen, batch_dims=1), "relu")[..., 0]
            # Sum over the networks, mean over the rows: no network's gradient depends on another's.
            loss = tf.reduce_sum(tf.reduce_mean(tf.abs(predicted - wanted) / wanted, axis=1)) * 100.0
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    for number in range(steps):
        step(tf.constant(rows[:, number * BATCH_SIZE : (number + 1) * BATCH_SIZE]))
        if progress and (number + 1) % 50 == 0:
            progress(50)
    kernels, biases = ([np.asarray(layer[part]) for layer in layers] for part in (0, 1))
    return [
        DenseStack(
            kernels=[kernels[0][n : n + 1, : features.shape[1]], *(kernel[n : n + 1] for kernel in kernels[1:])],
            biases=[bias[n : n + 1] for bias in biases],
            activation="relu",
        )
        for n, (features, _) in enumerate(training_rows)
    ]


def training_steps(rows: int, epochs: int = EPOCHS) -> int:
    """Return steps that `fit_dense` takes where the longest has `rows` training rows."""
    return epochs * -(-rows // BATCH_SIZE)


def _row_order(lengths: Sequence[int], count: int, seed: int) -> np.ndarray:
    """For each network `count` row numbers: its own rows shuffled, again and again. Shape (networks, count)."""
    random = np.random.default_rng(seed)
    orders = [
        np.concatenate([random.permutation(length) for _ in range(-(-count // length))])[:count] for length in lengths
    ]
    return np.stack(orders).astype(np.int32)


def _initial_layers(networks: int, widths: Sequence[int], seed: int) -> list[Layer]:
    """Per layer a kernel, Glorot uniform for one network's matrix (not the stack's), and a zero bias."""
    # A generator of its own, not the process's: tasks in other threads draw from that.
    seeds, layers = Random(seed), []
    for wide, narrow in pairwise(widths):
        limit = float(np.sqrt(6 / (wide + narrow)))
        kernel = keras.initializers.RandomUniform(-limit, limit, seed=seeds.randint(1, 10**9))
        shape = (networks, wide, narrow)
        layers.append((keras.Variable(kernel(shape)), keras.Variable(np.zeros((networks, 1, narrow), np.float32))))
    return layers


#: Average edit distance at which PROFET stops joining operation names.
CLUSTER_CUT = 6.0


def cluster_names(names: Sequence[str], cut: float = CLUSTER_CUT) -> tuple[tuple[str, ...], ...]:
    """Clusters of operation names: Levenshtein distance, average linkage, cut at `cut` (arXiv:2208.05130).

    Clusters are ordered by their first name and names within them alphabetically, so that the order of `names`
    changes nothing.
    """
    ordered = sorted(set(names))
    if len(ordered) < 2:
        return tuple((name,) for name in ordered)
    distances = cdist(ordered, ordered, scorer=Levenshtein.distance, dtype=np.int32).astype(float)
    labels = fcluster(linkage(squareform(distances), method="average"), cut, criterion="distance")
    members = [
        tuple(name for name, label in zip(ordered, labels, strict=True) if label == which) for which in set(labels)
    ]
    return tuple(sorted(members))


def fit_features(measurements: Measurements, rows: np.ndarray) -> FeatureSpec:
    """Return the features that the profiles of `rows` (boolean mask, all instances) define, and no other row.

    An operation that takes no time in any of these rows is unknown to the features.
    """
    seen = sum(times_us[rows].sum(axis=0) for times_us in measurements.times_us.values()) > 0
    names = [name for name, used in zip(measurements.operations, seen, strict=True) if used]
    device = [name.removeprefix(DEVICE_PREFIX) for name in names if name.startswith(DEVICE_PREFIX)]
    host = sorted(name.removeprefix(HOST_PREFIX) for name in names if name.startswith(HOST_PREFIX))
    return FeatureSpec(cluster_names(device), tuple(host), near=CLUSTER_CUT)


def encode_table(spec: FeatureSpec, operations: Sequence[str], times_us: np.ndarray) -> np.ndarray:
    """`spec.encode` for a whole table, shape (rows, operations) -> (rows, features): one matrix product."""
    return times_us @ column_sums(spec.place(operations), len(spec.names))


#: Trees and rows a leaf: nine repeats of a workload are near-copies, so leaves of a few rows lose no accuracy (see
#: the model card) and keep all twelve forests at a few megabytes.
FOREST_TREES = 60
MIN_ROWS_PER_LEAF = 9


#: PROFET's documented ensembles (arXiv:2208.05130 and PROFET's documentation page), as the manifest has them.
PROFET_METHOD: dict[str, dict[str, Any]] = {
    WITH_LATENCY: {"members": ["line", "forest", "dense"], "combine": "median"},
    WITHOUT_LATENCY: {"members": ["forest", "dense"], "combine": "mean"},
}


def fit_line(latency_ms: np.ndarray, target_ms: np.ndarray) -> LinearRegression:
    """Least-squares line from the anchor's latency (rows,) to the target's (rows,), both in milliseconds."""
    return LinearRegression().fit(latency_ms.reshape(-1, 1), target_ms)


def fit_forest(features_us: np.ndarray, target_ms: np.ndarray, seed: int) -> RandomForestRegressor:
    """Random forest from the clustered profile (rows, features) to the target's latency in milliseconds (rows,)."""
    forest = RandomForestRegressor(n_estimators=FOREST_TREES, min_samples_leaf=MIN_ROWS_PER_LEAF, random_state=seed)
    # Trees compare in float32; rounding first makes training and serving see the same numbers.
    return forest.fit(features_us.astype(np.float32), target_ms)


#: Anchor, target, and the architectures that are held out of everything that learns.
DocumentedFold = tuple[str, str, frozenset[str]]


class FittedFold(Struct, frozen=True):
    """The members of a fold, fitted."""

    anchor: str
    target: str
    features: FeatureSpec
    line: LinearRegression
    forest: RandomForestRegressor
    dense: DenseStack

    def predict(self, operations: Sequence[str], times_us: np.ndarray, latency_ms: np.ndarray) -> dict[str, np.ndarray]:
        """Each member's latency on the target, milliseconds, for profiles of shape (rows, operations)."""
        table = encode_table(self.features, operations, times_us).astype(np.float32)
        return {
            "line": self.line.predict(latency_ms.reshape(-1, 1)),
            "forest": self.forest.predict(table),
            "dense": self.dense.run(table)[0, :, 0].astype(float) / US_PER_MS,
        }


def fit_folds(
    measurements: Measurements,
    folds: Sequence[DocumentedFold],
    *,
    seed: int,
    epochs: int = EPOCHS,
    progress: Progress | None = None,
) -> list[FittedFold]:
    """Fit every member of every fold. Clusters, like the rest, are built from the fold's training rows.

    Progress counts the dense network's steps.
    """
    learned = {names: ~np.isin(measurements.architectures, list(names)) for *_, names in folds}
    features = {names: fit_features(measurements, rows) for names, rows in learned.items()}
    tables = {
        (anchor, names): encode_table(
            features[names], measurements.operations, measurements.times_us[anchor][learned[names]]
        )
        for anchor, names in {(anchor, names) for anchor, _, names in folds}
    }
    inputs = [tables[anchor, names] for anchor, _, names in folds]
    targets = [measurements.latency_ms[target][learned[names]] for _, target, names in folds]
    forests = run_tasks(
        fit_forest, [(table, target_ms, seed) for table, target_ms in zip(inputs, targets, strict=True)], threads=True
    )
    training_rows = [(table, target_ms * US_PER_MS) for table, target_ms in zip(inputs, targets, strict=True)]
    units = training_steps(max(len(target_ms) for target_ms in targets), epochs)
    (networks,) = run_tasks(fit_dense, [(training_rows, seed, epochs)], progress=progress, units=units)
    return [
        FittedFold(
            anchor,
            target,
            features[names],
            fit_line(measurements.latency_ms[anchor][learned[names]], target_ms),
            forest,
            network,
        )
        for (anchor, target, names), target_ms, forest, network in zip(folds, targets, forests, networks, strict=True)
    ]


def documented_table(
    measurements: Measurements,
    wanted: Sequence[Pair],
    networks: Sequence[str] | None = None,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Every row of every pair as predicted by the fold that never saw its architecture.

    Parameters
    ----------
    networks : those that are held out in turn; None: all.

    Returns
    -------
    table : columns anchor, target, model, pixels, batch_size, repeat, true_ms, one column a member, with_latency and
        without_latency (the ensembles); all latencies in milliseconds.
    """
    folds = [
        (*pair, frozenset({model})) for pair in wanted for model in networks or sorted(set(measurements.architectures))
    ]
    parts = []
    fitted_folds = fit_folds(measurements, folds, seed=seed, epochs=epochs, progress=progress)
    for (anchor, target, names), fitted in zip(folds, fitted_folds, strict=True):
        rows = np.isin(measurements.architectures, list(names))
        members_ms = fitted.predict(
            measurements.operations, measurements.times_us[anchor][rows], measurements.latency_ms[anchor][rows]
        )
        part = measurements.workloads[rows].assign(
            anchor=anchor, target=target, true_ms=measurements.latency_ms[target][rows], **members_ms
        )
        for case, rule in PROFET_METHOD.items():
            part[case] = combine(part[rule["members"]].to_numpy(), rule["combine"])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def documented_report(table: pd.DataFrame) -> dict:
    """Accuracy per pair, pooled per anchor and overall, as the `validate` command's JSON contract has it.

    Parameters
    ----------
    table : as `documented_table` gives it.
    """
    rows = [
        {"anchor": anchor, "target": target, **_accuracy(part), "by_model": _by_model(part)}
        for (anchor, target), part in table.groupby(["anchor", "target"])
    ]
    return {
        "pairs": rows,
        "mean": {
            key: float(np.mean([row[key] for row in rows]))
            for key in ("mape_with_latency", "mape_without_latency", "r2", "rmse_ms")
        },
        "pooled": {
            **{anchor: _accuracy(part) for anchor, part in table.groupby("anchor")},
            "overall": _accuracy(table),
        },
        "by_model": _by_model(table),
    }


def _accuracy(part: pd.DataFrame) -> dict:
    """R2 and RMSE are those of the ensemble with latency, as in PROFET's validation."""
    true = part["true_ms"]
    return {
        "n": len(part),
        **_mapes(part),
        "r2": float(r2_score(true, part[WITH_LATENCY])),
        "rmse_ms": float(root_mean_squared_error(true, part[WITH_LATENCY])),
        "r2_without_latency": float(r2_score(true, part[WITHOUT_LATENCY])),
        "rmse_ms_without_latency": float(root_mean_squared_error(true, part[WITHOUT_LATENCY])),
        "coverage_90": None,
        "median_interval_pct": None,
        "mape_by_member": {
            member: mape_percent(true, part[member]) for member in PROFET_METHOD[WITH_LATENCY]["members"]
        },
    }


def _by_model(part: pd.DataFrame) -> dict:
    return {model: _mapes(rows) for model, rows in part.groupby("model")}


def _mapes(part: pd.DataFrame) -> dict[str, float]:
    return {f"mape_{case}": mape_percent(part["true_ms"], part[case]) for case in PROFET_METHOD}


def mape_percent(true: ArrayLike, predicted: ArrayLike) -> float:
    """Mean absolute percentage error, %."""
    return 100 * float(mean_absolute_percentage_error(true, predicted))


_KEYS = ["anchor", "instance", "model", "other_size"]
#: Rows of one network -> latencies at the inner sizes, (rows, inner sizes), by a scaler that never saw it.
InnerMs = Callable[[str, pd.DataFrame], np.ndarray]


def scaler_report(measurements: Measurements, predictions: pd.DataFrame | None) -> dict:
    """Return the baseline's four settings: batch and pixels, each from true and from predicted end latencies.

    "settings" has the documented scaler, "settings_default" the default one with all it may know (and each curve once
    for every other instance that its head's share may be known from). Scalers are fitted without the architecture they
    are judged on; the error is over the inner sizes of medians of the repeats. Predicted ends come from `predictions`,
    the ensemble with latency of `documented_table`; None skips those.
    """
    report: dict[str, dict] = {"settings": {}, "settings_default": {}}
    for axis in KNOTS:
        rows = curve_rows(measurements, axis)
        curves = rows.drop_duplicates(["instance", "model", "other_size"])
        methods = {"settings": (documented_inner_ms(measurements, axis), curves)}
        methods["settings_default"] = (learned_inner_ms(rows, axis), rows)
        for name, (inner_ms, true) in methods.items():
            smallest, *_, largest = KNOTS[axis]
            ends = true.assign(low_ms=true[smallest], high_ms=true[largest])
            report[name][f"{axis}_true"] = _setting(scaled(inner_ms, ends, axis))
            if predictions is not None:
                ends = predicted_ends(rows, predictions, WITH_LATENCY, axis)
                report[name][f"{axis}_predicted"] = _setting(scaled(inner_ms, ends, axis))
    return report


def predicted_ends(rows: pd.DataFrame, predictions: pd.DataFrame, predicted: str, axis: str) -> pd.DataFrame:
    """Curves of out-of-fold predictions: as `curve_rows` gives them, with low_ms and high_ms of column `predicted`."""
    parts = []
    for (anchor, target), part in predictions.groupby(["anchor", "target"]):
        true, ends = (curves_of(part, value, axis) for value in ("true_ms", predicted))
        ends_ms = true.assign(
            low_ms=ends.iloc[:, 0], high_ms=ends.iloc[:, -1], anchor=str(anchor), instance=str(target)
        )
        parts.append(ends_ms.rename_axis(index=["model", "other_size"], columns=None).reset_index())
    return pd.concat(parts, ignore_index=True).merge(rows[[*_KEYS, "head_share"]], on=_KEYS, how="left")


def scaled(inner_ms: InnerMs, ends: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Columns instance, true_ms and scaled_ms, a row each inner size of each curve."""
    parts = []
    for model, part in ends.groupby("model"):
        inner = inner_ms(str(model), part)
        parts += [
            pd.DataFrame({"instance": part["instance"], "true_ms": part[size], "scaled_ms": inner[:, column]})
            for column, size in enumerate(KNOTS[axis][1:-1])
        ]
    return pd.concat(parts, ignore_index=True)


def learned_inner_ms(rows: pd.DataFrame, axis: str) -> InnerMs:
    """Return the default scaler of each held-out architecture; falling ends, refused when serving, count as level."""
    scalers = dict(held_out_scalers(rows, axis))

    def inner_ms(model: str, part: pd.DataFrame) -> np.ndarray:
        low_ms, high_ms, *sizes = part[["low_ms", "high_ms", "other_size", "head_share"]].to_numpy(float).T
        rising_ms = np.maximum(high_ms, low_ms * (1 + 1e-9))
        return scalers[model].inner_ms(part["instance"].tolist(), low_ms, rising_ms, *sizes)

    return inner_ms


def documented_inner_ms(measurements: Measurements, axis: str) -> InnerMs:
    """Return the documented scaler of each instance, fitted without each architecture."""
    curves = {name: latency_curves(measurements, name, axis) for name in measurements.instances}
    inner = np.array(KNOTS[axis][1:-1], float)

    def inner_ms(model: str, part: pd.DataFrame) -> np.ndarray:
        shares = {
            name: fit_scaler(curves[name].drop(model, level="model", errors="ignore"), name, axis).scaled(inner)
            for name in part["instance"].unique()
        }
        low_ms, high_ms = part[["low_ms", "high_ms"]].to_numpy(float).T[:, :, None]
        return low_ms + np.stack([shares[name] for name in part["instance"]]) * (high_ms - low_ms)

    return inner_ms


def _setting(table: pd.DataFrame) -> dict:
    def accuracy(part: pd.DataFrame) -> dict:
        return {
            "n": len(part),
            "mape": mape_percent(part["true_ms"], part["scaled_ms"]),
            "r2": float(r2_score(part["true_ms"], part["scaled_ms"])),
            "rmse_ms": float(root_mean_squared_error(part["true_ms"], part["scaled_ms"])),
        }

    by_instance = {name: accuracy(part) for name, part in table.groupby("instance")}
    mean = float(np.mean([row["mape"] for row in by_instance.values()]))
    return {"by_instance": by_instance, "mean_mape": mean, "overall": accuracy(table)}
