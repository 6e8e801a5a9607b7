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
        return DEVICE_PREFIX + "&".join(self.operations)


@dataclass(frozen=True, slots=True)
class UnknownOperations:
    """Operations of one profile that the models have never seen.

    Attributes
    ----------
    mapped : operation -> name of the cluster that took its time.
    left_out : operations that resemble nothing known; their time is not used.
    share : part of the profile's busy (not idle) time that all of them took, 0 to 1.
    """

    mapped: Mapping[str, str]
    left_out: tuple[str, ...]
    share: float

    @property
    def names(self) -> tuple[str, ...]:
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
        nearest: dict[str, int | None] = {}
        matrix = np.zeros((len(profiles), len(self.names)))
        unknown = []
        for row, profile in enumerate(profiles):
            unseen = []
            for operation, time_us in profile.operations.items():
                column = self.columns.get(operation)
                if column is None and operation not in IDLE_OPERATIONS:
                    unseen.append(operation)
                    if operation not in nearest:
                        nearest[operation] = self.nearest_cluster(operation)
                    column = nearest[operation]
                if column is not None:
                    matrix[row, column] += time_us
            unknown.append(self._report(profile, unseen, nearest) if unseen else NO_UNKNOWN_OPERATIONS)
        return matrix, unknown

    def nearest_cluster(self, operation: str) -> int | None:
        """Column of the cluster nearest to an unseen operation; None if none is near or it runs on the host."""
        if self.near <= 0 or not self.clusters or not operation.startswith(DEVICE_PREFIX):
            return None
        name = operation.removeprefix(DEVICE_PREFIX)
        distances = [
            float(np.mean([Levenshtein.distance(name, other) for other in cluster.operations]))
            for cluster in self.clusters
        ]
        column = int(np.argmin(distances))
        return column if distances[column] <= self.near else None

    def _report(self, profile: Profile, unseen: list[str], nearest: Mapping[str, int | None]) -> UnknownOperations:
        mapped = {name: self.names[nearest[name]] for name in unseen if nearest[name] is not None}
        time_us = sum(profile.operations[name] for name in unseen)
        return UnknownOperations(
            mapped=MappingProxyType(mapped),
            left_out=tuple(name for name in unseen if name not in mapped),
            share=time_us / profile.busy_total_us if profile.busy_total_us else 0.0,
        )
