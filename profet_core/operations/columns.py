"""Sum operation times into matrix columns, for many profiles at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from profet_core.profiles.record import Profile


def rows_by_operations(profiles: Sequence[Profile]) -> dict[tuple[str, ...], list[int]]:
    """Group indices of profiles by their operations."""
    rows: dict[tuple[str, ...], list[int]] = {}
    for row, profile in enumerate(profiles):
        rows.setdefault(tuple(profile.operations), []).append(row)
    return rows


def times_of(profiles: Sequence[Profile], rows: Sequence[int]) -> np.ndarray:
    """Times of profiles with the same operations, microseconds, shape (rows, operations)."""
    return np.array([list(profiles[row].operations.values()) for row in rows])


def column_sums(placed: Mapping[str, int | None], columns: int) -> np.ndarray:
    """Indicator of operation in column: 0 or 1, shape (operations, columns).

    >>> column_sums({"Device_Conv2D": 1, "Device_Mystery": None}, columns=2)
    array([[0., 1.],
           [0., 0.]])
    """
    sums = np.zeros((len(placed), columns))
    for row, column in enumerate(placed.values()):
        if column is not None:
            sums[row, column] = 1.0
    return sums
