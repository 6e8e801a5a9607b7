"""Calibrate the intervals on held-out architectures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from profet_core.ensemble.intervals import DISTANCE_BANDS, IntervalScale, class_shares, nearest_distance, scale_features
from profet_core.latency import quantile
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.folds import OutOfFold, Weights
from profet_lab.measurements.tables import Pair

LEVEL = 0.9
#: Errors below this are noise of the measurement; their logarithm says nothing about scale.
LEAST_ERROR = 0.003
ROUNDS = 30


def distances(bank: ClassBank, anchor: str, latency_known: bool) -> np.ndarray:
    """Distance of every row to the nearest training profile of each architecture, (rows, architectures).

    Nine repeats are near-copies: the first of each workload stands for it.
    """
    shares = class_shares(bank.inputs[anchor, latency_known].classes_ms, bank.device_classes)
    first = bank.repeats == bank.repeats.min()
    names = np.unique(bank.architectures)
    return np.column_stack([nearest_distance(shares, shares[first & (bank.architectures == name)]) for name in names])


def nearest_other(table: np.ndarray, architectures: np.ndarray, without: Sequence[str] = ()) -> np.ndarray:
    """Distance of each row to the nearest profile of another architecture, excluding `without`. (rows,)"""
    names = np.unique(architectures)
    barred = (names[None, :] == architectures[:, None]) | np.isin(names, list(without))[None, :]
    return np.where(barred, np.inf, table).min(axis=1)


def fit_scale(
    members_ms: Mapping[Pair, np.ndarray],
    ensemble_ms: Mapping[Pair, np.ndarray],
    true_ms: Mapping[Pair, np.ndarray],
    distance: Mapping[Pair, np.ndarray],
    level: float = LEVEL,
) -> IntervalScale:
    """Fit an `IntervalScale` to out-of-fold predictions.

    Parameters
    ----------
    members_ms : pair -> members' latencies (rows, members). ensemble_ms : pair -> the ensemble's, (rows,).
    true_ms : pair -> measured, (rows,). distance : pair -> from the nearest profile the networks had learned from.

    The log scale is fitted by least absolute deviations (iteratively reweighted least squares) over all pairs, with an
    offset a pair; the quantile is half the pair's own and half that of all pairs, for 15 groups a pair are few.
    """
    names = list(members_ms)
    features = [scale_features(members_ms[pair], distance[pair]) for pair in names]
    errors = [np.log(true_ms[pair]) - np.log(ensemble_ms[pair]) for pair in names]
    which = np.repeat(np.arange(len(names)), [len(error) for error in errors])
    design = np.hstack([np.vstack(features), np.eye(len(names))[which]])
    error = np.concatenate(errors)
    weights = _least_absolute(design, np.log(np.maximum(np.abs(error), LEAST_ERROR)))
    score = np.abs(error) / np.exp(design @ weights)
    overall = np.quantile(score, level)
    offset: dict[str, dict[str, float]] = {}
    quantiles: dict[str, dict[str, float]] = {}
    for number, (anchor, target) in enumerate(names):
        offset.setdefault(anchor, {})[target] = float(weights[2 + number])
        own = np.quantile(score[which == number], level)
        quantiles.setdefault(anchor, {})[target] = float((overall + own) / 2)
    percent = 100 * np.abs(np.exp(-error) - 1)
    return IntervalScale(
        level=level,
        spread=float(weights[0]),
        distance=float(weights[1]),
        offset=offset,
        quantile=quantiles,
        error_by_distance=_error_by_band(np.concatenate([distance[pair] for pair in names]), percent),
    )


def scale_of_folds(
    bank: ClassBank,
    out_of_fold: OutOfFold,
    pairs: Sequence[Pair],
    names: Sequence[str],
    weights: Weights,
    distance_tables: Mapping[str, np.ndarray],
    without: Sequence[str] = (),
) -> IntervalScale:
    """`fit_scale` on the held-out rows of these names.

    Parameters
    ----------
    distance_tables : anchor -> `distances`. without : architectures excluded from the distances, beside the row's own.
    """
    rows = np.concatenate([np.flatnonzero(out_of_fold.rows[name]) for name in names])
    return fit_scale(
        members_ms={pair: np.vstack([out_of_fold.members_ms[pair, name] for name in names]) for pair in pairs},
        ensemble_ms={
            pair: np.concatenate([out_of_fold.ensemble_ms(pair, name, weights) for name in names]) for pair in pairs
        },
        true_ms={pair: bank.latency_ms[pair[1]][rows] for pair in pairs},
        distance={pair: nearest_other(distance_tables[pair[0]], bank.architectures, without)[rows] for pair in pairs},
    )


def half_widths(
    bank: ClassBank,
    pairs: Sequence[Pair],
    predicted: OutOfFold,
    scale_of: Callable[[str, list[str]], IntervalScale],
    distance_tables: Mapping[str, np.ndarray],
    latency_known: bool,
) -> dict[Pair, np.ndarray]:
    """Log half-widths of the 90 % intervals of held-out rows, pair -> (rows,).

    Parameters
    ----------
    scale_of : name of held-out rows, architectures among them -> scale from errors on other architectures.
    distance_tables : anchor -> `distances`.
    """
    found = {pair: np.empty(len(bank.architectures)) for pair in pairs}
    for name, rows in predicted.rows.items():
        inside = np.unique(bank.architectures[rows]).tolist()
        scale = scale_of(name, inside)
        for anchor, target in pairs:
            distance = nearest_other(distance_tables[anchor], bank.architectures, inside)[rows]
            doubt = bank.inputs[anchor, latency_known].doubt[rows]
            members_ms = predicted.members_ms[(anchor, target), name][None]
            log_sd = scale.log_sd(anchor, [target], members_ms, distance, doubt)[0]
            found[anchor, target][rows] = quantile() * log_sd
    return found


def _least_absolute(design: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    weights = np.zeros(design.shape[1])
    ridge = 1e-5 * len(wanted) * np.eye(design.shape[1])
    for _ in range(ROUNDS):
        importance = 1 / np.maximum(np.abs(wanted - design @ weights), 0.05)
        weights = np.linalg.solve(design.T @ (design * importance[:, None]) + ridge, design.T @ (importance * wanted))
    return weights


def _error_by_band(distance: np.ndarray, percent: np.ndarray) -> list[float]:
    """Mean error in each distance band; a band without rows takes its neighbor's."""
    bands = np.searchsorted(DISTANCE_BANDS, distance)
    found: list[float] = []
    for band in range(len(DISTANCE_BANDS) + 1):
        rows = bands == band
        found.append(float(percent[rows].mean()) if rows.any() else (found[-1] if found else float(percent.mean())))
    return found
