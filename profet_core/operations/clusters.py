"""Turns profiles into the clustered feature matrix that the documented members were trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from rapidfuzz.distance import Levenshtein

from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX, IDLE_OPERATIONS, Profile


@dataclass(frozen=True, slots=True)
class OperationCluster:
    """Device operations with similar names (without their prefix), whose times are added up into one feature."""

    operations: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the feature: 'Device_AvgPool&MaxPool'."""
        return DEVICE_PREFIX + "&".join(self.operations)


@dataclass(frozen=True, slots=True)
class UnknownOperations:
    """Operations of one profile that a method has never seen the like of.

    For the documented method those whose name was not in training. For the default method those of no known kind, and
    those of a kind that the training data lack if they take a notable time.

    Attributes
    ----------
    mapped : operation -> name of the cluster or class that took its time.
    left_out : operations that have no place; their time is not used.
    share : part of the profile's busy (not idle) time that all of them took, 0 to 1.
    """

    mapped: Mapping[str, str]
    left_out: tuple[str, ...]
    share: float

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, sorted."""
        return tuple(sorted((*self.mapped, *self.left_out)))


NO_UNKNOWN_OPERATIONS = UnknownOperations(MappingProxyType({}), (), 0.0)


@dataclass(frozen=True)
class FeatureSpec:
    """The features in order: one per cluster of device operations, then one per host operation.

    Attributes
    ----------
    clusters : clusters of device operation types.
    host_operations : host operation types, without their prefix.
    near : an unseen device operation goes to the cluster whose names differ from its own by at most this edit
        distance on average - the cut at which the clusters themselves were joined. 0 leaves unseen ones out.
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
        unknown : for each profile, what was done with the operations never seen in training.
        """
        matrix = np.zeros((len(profiles), len(self.names)))
        unknown = [NO_UNKNOWN_OPERATIONS] * len(profiles)
        for names, rows in rows_by_operations(profiles).items():
            # Profiles of one recorder mostly name the same operations: one matrix product serves all of them.
            times_us = np.array([list(profiles[row].operations.values()) for row in rows])
            placed = self.place(names)
            matrix[rows] = times_us @ self.sums(placed)
            unseen = [name for name in names if name not in self.columns and name not in IDLE_OPERATIONS]
            if unseen:
                for row in rows:
                    unknown[row] = report_unknown(profiles[row], unseen, placed, self.names)
        return matrix, unknown

    def place(self, operations: Sequence[str]) -> dict[str, int | None]:
        """Column of each operation: its own if it was seen in training, else the nearest cluster's, else None."""
        return {name: self.columns[name] if name in self.columns else self.nearest_cluster(name) for name in operations}

    def sums(self, placed: Mapping[str, int | None]) -> np.ndarray:
        """Which operation adds to which feature: 0 or 1, shape (operations, features)."""
        return placement_sums(placed, len(self.names))

    def nearest_cluster(self, operation: str) -> int | None:
        """Column of the cluster nearest to an unseen operation; None if none is near or it runs on the host."""
        if self.near <= 0 or not self.clusters or not operation.startswith(DEVICE_PREFIX):
            return None
        if operation in IDLE_OPERATIONS:
            return None
        name = operation.removeprefix(DEVICE_PREFIX)
        distances = [
            float(np.mean([Levenshtein.distance(name, other) for other in cluster.operations]))
            for cluster in self.clusters
        ]
        column = int(np.argmin(distances))
        return column if distances[column] <= self.near else None


def rows_by_operations(profiles: Sequence[Profile]) -> dict[tuple[str, ...], list[int]]:
    """Numbers of the profiles that name the same operations."""
    rows: dict[tuple[str, ...], list[int]] = {}
    for row, profile in enumerate(profiles):
        rows.setdefault(tuple(profile.operations), []).append(row)
    return rows


def placement_sums(placed: Mapping[str, int | None], columns: int) -> np.ndarray:
    """Which operation adds to which column: 0 or 1, shape (operations, columns)."""
    sums = np.zeros((len(placed), columns))
    for row, column in enumerate(placed.values()):
        if column is not None:
            sums[row, column] = 1.0
    return sums


def report_unknown(
    profile: Profile, unseen: Sequence[str], placed: Mapping[str, int | None], columns: Sequence[str]
) -> UnknownOperations:
    """What was done with the operations of a profile that were never seen, by the names of the columns."""
    mapped = {name: columns[placed[name]] for name in unseen if placed[name] is not None}
    time_us = sum(profile.operations[name] for name in unseen)
    return UnknownOperations(
        mapped=MappingProxyType(mapped),
        left_out=tuple(name for name in unseen if name not in mapped),
        share=time_us / profile.busy_total_us if profile.busy_total_us else 0.0,
    )
