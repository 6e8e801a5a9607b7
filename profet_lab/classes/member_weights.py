"""Choose the default method's member weights from held-out predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from profet_core.prediction.members import combine

Weights = tuple[float, float, float]

#: Weights that are tried, in the members' order: the trees' share, and of the rest that of the homogeneous network.
WEIGHTS: tuple[Weights, ...] = tuple(
    (round(first * (1 - trees), 3), round((1 - first) * (1 - trees), 3), trees)
    for trees, first in product((0.0, 0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.5))
)


def ensemble_ms(members_ms: np.ndarray, weights: Sequence[float] | None) -> np.ndarray:
    """The ensemble's latencies, (rows, members) -> (rows,)."""
    return combine(members_ms, "geometric mean", weights)


def summed_errors(members_ms: np.ndarray, true_ms: np.ndarray) -> np.ndarray:
    """Sum of the absolute relative errors with each of `WEIGHTS`, (weights,), of latencies (rows, members)."""
    return np.array([np.abs(ensemble_ms(members_ms, weights) / true_ms - 1).sum() for weights in WEIGHTS])


def least_error(errors: Iterable[np.ndarray]) -> Weights:
    """The weights with the least sum of `summed_errors`, each row counting once."""
    return WEIGHTS[int(np.argmin(np.sum(list(errors), axis=0)))]
