"""Interval half-widths with nested held-out architectures and families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.ensemble.intervals import IntervalScale
from profet_core.latency import quantile
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.calibrate import nearest_other, scale_of_folds
from profet_lab.classes.folds import OutOfFold
from profet_lab.classes.member_weights import Weights
from profet_lab.measurements.tables import Pair
from profet_lab.validation.inner_folds import inner_name


def nested_half_widths(
    bank: ClassBank,
    pairs: Sequence[Pair],
    plain: OutOfFold,
    inner_folds: OutOfFold,
    distance_tables: Mapping[str, np.ndarray],
    latency_known: bool,
    weights: Mapping[str, Weights],
) -> dict[Pair, np.ndarray]:
    """Log half-widths for each architecture; the scale comes from networks that saw neither it nor the error's own.

    Parameters
    ----------
    plain, inner_folds : one architecture held out, and two. distance_tables : anchor -> `calibrate.distances`.
    weights : architecture -> the members' weights.

    Returns
    -------
    pair -> (rows,).
    """
    names = np.unique(bank.architectures)
    found = {pair: np.empty(len(bank.architectures)) for pair in pairs}
    for outer in names:
        others = [inner_name(name, outer) for name in names if name != outer]
        scale = scale_of_folds(bank, inner_folds, pairs, others, weights[outer], distance_tables, [outer])
        for pair in pairs:
            rows = plain.rows[outer]
            found[pair][rows] = half_width(
                bank, scale, pair, plain.members_ms[pair, outer], distance_tables, rows, latency_known, [outer]
            )
    return found


def family_half_widths(
    bank: ClassBank,
    pairs: Sequence[Pair],
    plain: OutOfFold,
    by_family: OutOfFold,
    distance_tables: Mapping[str, np.ndarray],
    latency_known: bool,
    weights: Mapping[str, Weights],
) -> dict[Pair, np.ndarray]:
    """Log half-widths for each family, from errors of the architectures outside it; as `nested_half_widths`.

    The networks behind those errors had seen the family: a third level of folds would be needed to avoid that.
    """
    names = np.unique(bank.architectures)
    found = {pair: np.empty(len(bank.architectures)) for pair in pairs}
    for family, rows in by_family.rows.items():
        inside = list(np.unique(bank.architectures[rows]))
        others = [str(name) for name in names if name not in inside]
        scale = scale_of_folds(bank, plain, pairs, others, weights[family], distance_tables)
        for pair in pairs:
            found[pair][rows] = half_width(
                bank, scale, pair, by_family.members_ms[pair, family], distance_tables, rows, latency_known, inside
            )
    return found


def half_width(
    bank: ClassBank,
    scale: IntervalScale,
    pair: Pair,
    members_ms: np.ndarray,
    distance_tables: Mapping[str, np.ndarray],
    rows: np.ndarray,
    latency_known: bool,
    without: Sequence[str],
) -> np.ndarray:
    """Of the given rows, by their distance to architectures other than these."""
    anchor, target = pair
    distance = nearest_other(distance_tables[anchor], bank.architectures, without)[rows]
    doubt = bank.inputs[anchor, latency_known].doubt[rows]
    half: FloatArray = quantile() * scale.log_sd(anchor, [target], members_ms[None], distance, doubt)[0]
    return half
