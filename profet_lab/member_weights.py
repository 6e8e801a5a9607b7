"""Chooses how much the boosted trees weigh beside the two networks, from left-out predictions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from profet_core.answers import combine
from profet_core.networks import MEMBERS, TREES

#: Shares of the trees that are tried; the networks share the rest.
TREE_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)


def weights_of(tree_share: float) -> tuple[float, ...]:
    """One weight a member, summing to 1."""
    rest = (1 - tree_share) / (len(MEMBERS) - 1)
    return tuple(round(tree_share if member == TREES else rest, 6) for member in MEMBERS)


def join(said: np.ndarray, tree_share: float) -> np.ndarray:
    """The ensemble's latencies, (rows, members) -> (rows,)."""
    return combine(said, "geometric mean", weights_of(tree_share))


def best_tree_share(left_out: Iterable[tuple[np.ndarray, np.ndarray]]) -> float:
    """The share with the least mean absolute relative error.

    Parameters
    ----------
    left_out : per pair and architecture what members said (rows, members), and the measured latencies, (rows,).
    """
    errors = np.mean([share_errors(said, true_ms) for said, true_ms in left_out], axis=0)
    return TREE_SHARES[int(np.argmin(errors))]


def share_errors(said: np.ndarray, true_ms: np.ndarray) -> np.ndarray:
    """Mean absolute relative error with each of `TREE_SHARES`, (shares,), of latencies (rows, members)."""
    return np.array([np.abs(join(said, share) / true_ms - 1).mean() for share in TREE_SHARES])
