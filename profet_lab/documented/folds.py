"""Fit the documented members of many leave-one-architecture-out folds together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from profet_core.features.operations import FeatureSpec, OperationCluster
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.units import US_PER_MS
from profet_lab.cases import WITH_LATENCY, WITHOUT_LATENCY
from profet_lab.documented.dense import EPOCHS, DenseTrainingRows, DenseWeights, fit_dense, training_steps
from profet_lab.measurements.tables import Measurements
from profet_lab.progress import Progress
from profet_lab.tasks import run_tasks

#: Average edit distance at which PROFET stops joining operation names.
CLUSTER_CUT = 6.0


def cluster_names(names: Sequence[str], cut: float = CLUSTER_CUT) -> tuple[OperationCluster, ...]:
    """Clusters of operation names: Levenshtein distance, average linkage, cut at `cut` (arXiv:2208.05130).

    Clusters are ordered by their first name and names within them alphabetically, so that the order of `names`
    changes nothing.
    """
    ordered = sorted(set(names))
    if len(ordered) < 2:
        return tuple(OperationCluster((name,)) for name in ordered)
    distances = cdist(ordered, ordered, scorer=Levenshtein.distance, dtype=np.int32).astype(float)
    labels = fcluster(linkage(squareform(distances), method="average"), cut, criterion="distance")
    members = [
        tuple(name for name, label in zip(ordered, labels, strict=True) if label == which) for which in set(labels)
    ]
    return tuple(OperationCluster(names) for names in sorted(members))


def fit_features(measurements: Measurements, rows: np.ndarray) -> FeatureSpec:
    """The features that the profiles of `rows` (boolean mask, all instances) define, and no other row.

    An operation that takes no time in any of these rows is unknown to the features.
    """
    seen = sum(times_us[rows].sum(axis=0) for times_us in measurements.times_us.values()) > 0
    names = [name for name, used in zip(measurements.operations, seen, strict=True) if used]
    device = [name.removeprefix(DEVICE_PREFIX) for name in names if name.startswith(DEVICE_PREFIX)]
    host = sorted(name.removeprefix(HOST_PREFIX) for name in names if name.startswith(HOST_PREFIX))
    return FeatureSpec(cluster_names(device), tuple(host), near=CLUSTER_CUT)


def encode_table(spec: FeatureSpec, operations: Sequence[str], times_us: np.ndarray) -> np.ndarray:
    """`spec.encode` for a whole table, shape (rows, operations) -> (rows, features): one matrix product."""
    return times_us @ spec.sums(spec.place(operations))


#: Trees and rows a leaf: nine repeats of a workload are near-copies, so leaves of a few rows lose no accuracy (see
#: the model card) and keep all twelve forests at a few megabytes.
FOREST_TREES = 60
MIN_ROWS_PER_LEAF = 9


class DocumentedRule(TypedDict):
    """How the manifest has an ensemble."""

    members: list[str]
    combine: str


#: PROFET's documented ensembles (arXiv:2208.05130 and PROFET's documentation page), as the manifest has them.
PROFET_METHOD: dict[str, DocumentedRule] = {
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


@dataclass(frozen=True)
class DocumentedFold:
    """One pair with some architectures held out of everything that learns."""

    anchor: str
    target: str
    held_out: frozenset[str]

    def training_rows(self, measurements: Measurements) -> np.ndarray:
        """Boolean mask of the rows a fit may see."""
        return ~np.isin(measurements.architectures, list(self.held_out))


@dataclass(frozen=True)
class FittedFold:
    """The members of a fold, fitted."""

    fold: DocumentedFold
    features: FeatureSpec
    line: LinearRegression
    forest: RandomForestRegressor
    dense: DenseWeights

    def predict(self, operations: Sequence[str], times_us: np.ndarray, latency_ms: np.ndarray) -> dict[str, np.ndarray]:
        """Each member's latency on the target, milliseconds, for profiles of shape (rows, operations)."""
        table = encode_table(self.features, operations, times_us).astype(np.float32)
        return {
            "line": self.line.predict(latency_ms.reshape(-1, 1)),
            "forest": self.forest.predict(table),
            "dense": self.dense.predict_us(table) / US_PER_MS,
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
    held_out = {fold.held_out: fold.training_rows(measurements) for fold in folds}
    features = {names: fit_features(measurements, rows) for names, rows in held_out.items()}
    tables = {
        key: encode_table(features[key[1]], measurements.operations, measurements.times_us[key[0]])[held_out[key[1]]]
        for key in {(fold.anchor, fold.held_out) for fold in folds}
    }
    inputs = [tables[fold.anchor, fold.held_out] for fold in folds]
    targets = [measurements.latency_ms[fold.target][held_out[fold.held_out]] for fold in folds]
    forests = run_tasks(
        fit_forest, [(table, target, seed) for table, target in zip(inputs, targets, strict=True)], threads=True
    )
    training_rows = [
        DenseTrainingRows(table, target * US_PER_MS) for table, target in zip(inputs, targets, strict=True)
    ]
    units = training_steps(max(len(target) for target in targets), epochs)
    (networks,) = run_tasks(fit_dense, [(training_rows, seed, epochs)], progress=progress, units=units)
    return [
        FittedFold(
            fold=fold,
            features=features[fold.held_out],
            line=fit_line(measurements.latency_ms[fold.anchor][held_out[fold.held_out]], target),
            forest=forest,
            dense=network,
        )
        for fold, target, forest, network in zip(folds, targets, forests, networks, strict=True)
    ]
