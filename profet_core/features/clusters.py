"""Sums operations to clusters of similar names, the documented method's inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from profet_core.features.operations import (
    NO_UNKNOWN_OPERATIONS,
    UnknownOperations,
    column_sums,
    report_unknown,
    same_operations,
)
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX, IDLE_OPERATIONS, Profile


@dataclass(frozen=True, slots=True)
class OperationCluster:
    """Device operations with similar names (without prefix), whose times add up to one feature."""

    operations: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the feature.

        >>> OperationCluster(("AvgPool", "MaxPool")).name
        'Device_AvgPool&MaxPool'
        """
        return DEVICE_PREFIX + "&".join(self.operations)


@dataclass(frozen=True)
class FeatureSpec:
    """Features in order: one per cluster of device operations, then one per host operation.

    Attributes
    ----------
    clusters : clusters of device operation types.
    host_operations : host operation types, without their prefix.
    near : an unseen device operation joins the cluster whose names are within this mean edit distance of its own, the
        cut at which the clusters themselves were formed. 0 excludes unseen operations.
    """

    clusters: tuple[OperationCluster, ...]
    host_operations: tuple[str, ...]
    near: float

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Feature names in order."""
        return (*(cluster.name for cluster in self.clusters), *(HOST_PREFIX + name for name in self.host_operations))

    @cached_property
    def columns(self) -> Mapping[str, int]:
        """Column of every operation seen in training."""
        device = {
            DEVICE_PREFIX + operation: column
            for column, cluster in enumerate(self.clusters)
            for operation in cluster.operations
        }
        host = {HOST_PREFIX + name: len(self.clusters) + index for index, name in enumerate(self.host_operations)}
        return MappingProxyType({**device, **host})

    def encode(self, profiles: Sequence[Profile]) -> tuple[np.ndarray, list[UnknownOperations]]:
        """Feature matrix of many profiles.

        Returns
        -------
        matrix : float64 of shape (profiles, features), microseconds.
        unknown : for each profile, the handling of operations never seen in training.
        """
        matrix = np.zeros((len(profiles), len(self.names)))
        unknown = [NO_UNKNOWN_OPERATIONS] * len(profiles)
        for names, rows, times_us in same_operations(profiles):
            # Profiles of one recorder mostly have the same operations, so one matrix product serves all of them.
            placed = self.place(names)
            matrix[rows] = times_us @ self.sums(placed)
            unseen = [name for name in names if name not in self.columns and name not in IDLE_OPERATIONS]
            if unseen:
                for row in rows:
                    unknown[row] = report_unknown(profiles[row], unseen, placed, self.names)
        return matrix, unknown

    def place(self, operations: Sequence[str]) -> dict[str, int | None]:
        """Column of each operation: its own if seen in training, else the nearest cluster's, else None."""
        near = self._nearest_clusters([name for name in operations if name not in self.columns])
        return {name: self.columns[name] if name in self.columns else near[name] for name in operations}

    def sums(self, placed: Mapping[str, int | None]) -> np.ndarray:
        """Indicator of operation in feature: 0 or 1, shape (operations, features)."""
        return column_sums(placed, len(self.names))

    def _nearest_clusters(self, operations: Sequence[str]) -> dict[str, int | None]:
        """Column of the nearest cluster of each unseen operation; None if none is near or it runs on the host.

        All names at once: a loop over a thousand names takes a fifth of a second.
        """
        near: dict[str, int | None] = dict.fromkeys(operations)
        searched = [name for name in operations if name.startswith(DEVICE_PREFIX) and name not in IDLE_OPERATIONS]
        if self.near <= 0 or not self.clusters or not searched:
            return near
        known = [name for cluster in self.clusters for name in cluster.operations]
        sizes = np.array([len(cluster.operations) for cluster in self.clusters])
        bare = [name.removeprefix(DEVICE_PREFIX) for name in searched]
        # Imported here because only unseen names need it, and it takes a tenth of a command's start-up time.
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        distances = process.cdist(bare, known, scorer=Levenshtein.distance).astype(np.float64)
        means = np.add.reduceat(distances, np.cumsum(sizes) - sizes, axis=1) / sizes
        columns = means.argmin(axis=1)
        for name, column, mean in zip(searched, columns.tolist(), means.min(axis=1).tolist(), strict=True):
            if mean <= self.near:
                near[name] = column
        return near
