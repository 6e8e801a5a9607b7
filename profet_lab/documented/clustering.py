"""Cluster device operations by name and build features from profiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from profet_core.features.clusters import FeatureSpec, OperationCluster
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_lab.measurements.tables import Measurements

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


def fit_features(measurements: Measurements, rows: np.ndarray, *, clustered: bool = True) -> FeatureSpec:
    """The features that the profiles of `rows` (boolean mask, all instances) define, and no other row.

    An operation that takes no time in any of these rows is unknown to the features. With `clustered=False` each
    operation is its own feature, the ablation that shows what clustering is worth.
    """
    seen = sum(times_us[rows].sum(axis=0) for times_us in measurements.times_us.values()) > 0
    names = [name for name, used in zip(measurements.operations, seen, strict=True) if used]
    device = [name.removeprefix(DEVICE_PREFIX) for name in names if name.startswith(DEVICE_PREFIX)]
    host = sorted(name.removeprefix(HOST_PREFIX) for name in names if name.startswith(HOST_PREFIX))
    if clustered:
        return FeatureSpec(cluster_names(device), tuple(host), near=CLUSTER_CUT)
    return FeatureSpec(tuple(OperationCluster((name,)) for name in sorted(device)), tuple(host), near=0.0)


def encode_table(spec: FeatureSpec, operations: Sequence[str], times_us: np.ndarray) -> np.ndarray:
    """`spec.encode` for a whole table, shape (rows, operations) -> (rows, features): one matrix product."""
    return times_us @ spec.sums(spec.place(operations))
