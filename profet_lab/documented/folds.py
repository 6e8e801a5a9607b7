"""Fit the documented members of many leave-one-architecture-out folds together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from profet_core.features.clusters import FeatureSpec
from profet_core.units import US_PER_MS
from profet_lab.documented.clustering import encode_table, fit_features
from profet_lab.documented.dense import EPOCHS, DenseTrainingRows, DenseWeights, fit_dense, training_steps
from profet_lab.documented.members import fit_forest, fit_line
from profet_lab.measurements.tables import Measurements
from profet_lab.progress import Progress
from profet_lab.tasks import run_tasks


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
    clustered: bool = True,
    epochs: int = EPOCHS,
    progress: Progress | None = None,
) -> list[FittedFold]:
    """Fit every member of every fold. Clusters, like the rest, are built from the fold's training rows.

    Progress counts the dense network's steps.
    """
    held_out = {fold.held_out: fold.training_rows(measurements) for fold in folds}
    features = {names: fit_features(measurements, rows, clustered=clustered) for names, rows in held_out.items()}
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
