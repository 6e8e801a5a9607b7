"""Validate models of custom pairs on held-out networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.latency import quantile
from profet_lab.cases import CASES
from profet_lab.classes.bank import class_bank
from profet_lab.classes.calibrate import distances, nearest_other, scale_of_folds
from profet_lab.classes.fit_networks import STEPS
from profet_lab.classes.folds import one_held_out, predict_folds
from profet_lab.classes.member_weights import least_error
from profet_lab.measurements.tables import Measurements, Pair
from profet_lab.progress import Progress


@dataclass(frozen=True)
class Judged:
    """Predictions of one pair and case, each of a network that was held out; all arrays (rows,).

    Attributes
    ----------
    log_errors : predicted over measured. log_half_width : of the 90 % interval, from errors of the other networks.
    """

    networks: np.ndarray
    log_errors: np.ndarray
    log_half_width: np.ndarray


def judge_models(
    measurements: Measurements,
    pairs: Sequence[Pair],
    *,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> dict[Pair, dict[str, Judged]]:
    """Each network held out in turn; weights and intervals come from the errors on all others.

    The models behind those errors had seen the network: with few networks a second level of folds has nothing left.

    Returns
    -------
    pair -> case, as `CASES` names them -> predictions.
    """
    bank = class_bank(measurements)
    found: dict[Pair, dict[str, Judged]] = {pair: {} for pair in pairs}
    for known, case in CASES.items():
        folds = one_held_out(bank.architectures, pairs)
        out = predict_folds(bank, folds, latency_known=known, seed=seed, steps=steps, progress=progress)
        errors_of = {name: out.summed_errors(bank, pairs, name) for name in out.rows}
        tables = {anchor: distances(bank, anchor, known) for anchor in dict.fromkeys(anchor for anchor, _ in pairs)}
        errors = {pair: np.empty(len(bank.architectures)) for pair in pairs}
        halves = {pair: np.empty(len(bank.architectures)) for pair in pairs}
        for name, rows in out.rows.items():
            others = [other for other in errors_of if other != name]
            weights = least_error(errors_of[other] for other in others)
            scale = scale_of_folds(bank, out, pairs, others, weights, tables, [name])
            for pair in pairs:
                anchor, target = pair
                predicted_ms = out.ensemble_ms(pair, name, weights)
                errors[pair][rows] = np.log(predicted_ms / bank.latency_ms[target][rows])
                distance = nearest_other(tables[anchor], bank.architectures, [name])[rows]
                doubt = bank.inputs[anchor, known].doubt[rows]
                members_ms = out.members_ms[pair, name][None]
                log_sd = scale.log_sd(anchor, [target], members_ms, distance, doubt)[0]
                halves[pair][rows] = quantile() * log_sd
        for pair in pairs:
            found[pair][case] = Judged(bank.architectures, errors[pair], halves[pair])
    return found
