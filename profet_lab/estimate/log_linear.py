"""Log-linear regression with sequential forward selection, after Lattuada et al. 2022, by its normal equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: So many features at most, and one more only if it makes the mean error on the folds this share smaller.
MOST_FEATURES = 12
LEAST_GAIN = 0.003
#: Folds of networks that judge a selection; a little ridge where features tell the same.
FOLDS = 5
_RIDGE = 1e-3


@dataclass(frozen=True)
class Selected:
    """What was selected.

    Attributes
    ----------
    columns : in the order of selection. weights : by column. errors : mean absolute log error on the folds after each
        selection, the first before any.
    """

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    intercept: float
    errors: tuple[float, ...]


def forward_selection(
    features: np.ndarray, values: np.ndarray, rises: Sequence[bool], networks: np.ndarray
) -> Selected:
    """Select features of `features` (rows, features), one after the other, that predict `values` (rows,).

    A feature that rises gets no weight below zero: what would need one is not selected.

    Parameters
    ----------
    networks : of each row; folds leave whole networks out.
    """
    names = sorted(set(networks.tolist()))
    fold_of = np.array([names.index(name) % FOLDS for name in networks])
    folds = [fold for fold in range(FOLDS) if (fold_of == fold).any()]
    design = np.concatenate([np.ones((len(values), 1)), features - features.mean(axis=0)], axis=1)
    sums = {fold: _sums(design[fold_of != fold], values[fold_of != fold]) for fold in folds}

    def score(columns: Sequence[int]) -> float:
        at, errors = [0, *(column + 1 for column in columns)], []
        for fold in folds:
            weights = _solved(*sums[fold], at)
            if _falls(weights, columns, rises):
                return np.inf
            errors.append(np.abs(design[fold_of == fold][:, at] @ weights - values[fold_of == fold]))
        return float(np.concatenate(errors).mean())

    chosen: list[int] = []
    errors = [score(chosen)]
    while len(chosen) < MOST_FEATURES:
        left = [column for column in range(features.shape[1]) if column not in chosen]
        best = min((score([*chosen, column]), column) for column in left)
        if best[0] > errors[-1] * (1 - LEAST_GAIN):
            break
        chosen.append(best[1])
        errors.append(best[0])
    everything = _sums(design, values)
    weights = _solved(*everything, [0, *(column + 1 for column in chosen)])
    while _falls(weights, chosen, rises):
        chosen.pop()
        weights = _solved(*everything, [0, *(column + 1 for column in chosen)])
    means = features.mean(axis=0)[chosen] if chosen else np.zeros(0)
    return Selected(tuple(chosen), tuple(weights[1:].tolist()), float(weights[0] - weights[1:] @ means), tuple(errors))


def _sums(design: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return design.T @ design, design.T @ values


def _solved(gram: np.ndarray, moments: np.ndarray, at: Sequence[int]) -> np.ndarray:
    ridge = _RIDGE * np.diag([0.0, *[1.0] * (len(at) - 1)]) * gram[0, 0]
    return np.linalg.solve(gram[np.ix_(at, at)] + ridge, moments[list(at)])


def _falls(weights: np.ndarray, columns: Sequence[int], rises: Sequence[bool]) -> bool:
    return any(weight < 0 and rises[column] for weight, column in zip(weights[1:], columns, strict=True))
