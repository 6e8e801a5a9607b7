"""Validate models of custom pairs on held-out networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from profet_lab.cases import CASES
from profet_lab.classes.bank import class_bank
from profet_lab.classes.calibrate import distances, scale_of_folds
from profet_lab.classes.fit_networks import STEPS
from profet_lab.classes.folds import one_held_out, predict_folds
from profet_lab.classes.member_weights import least_error
from profet_lab.measurements.tables import Measurements, Pair
from profet_lab.progress import Progress
from profet_lab.validation.half_widths import half_width
from profet_lab.validation.judged import judged


def judge_models(
    measurements: Measurements,
    pairs: Sequence[Pair],
    *,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> dict[Pair, dict[str, pd.DataFrame]]:
    """Each network held out in turn; weights and intervals come from the errors on all others.

    The models behind those errors had seen the network: with few networks a second level of folds has nothing left.

    Returns
    -------
    pair -> case, as `CASES` names them -> as `judged`, with `model`.
    """
    bank = class_bank(measurements)
    found: dict[Pair, dict[str, pd.DataFrame]] = {pair: {} for pair in pairs}
    for known, case in CASES.items():
        folds = one_held_out(bank.architectures, pairs)
        out = predict_folds(bank, folds, latency_known=known, seed=seed, steps=steps, progress=progress)
        errors_of = {name: out.summed_errors(bank, pairs, name) for name in out.rows}
        tables = {anchor: distances(bank, anchor, known) for anchor in dict.fromkeys(anchor for anchor, _ in pairs)}
        weights = {}
        halves = {pair: np.empty(len(bank.architectures)) for pair in pairs}
        for name, rows in out.rows.items():
            others = [other for other in errors_of if other != name]
            weights[name] = least_error(errors_of[other] for other in others)
            scale = scale_of_folds(bank, out, pairs, others, weights[name], tables, [name])
            for pair in pairs:
                members_ms = out.members_ms[pair, name]
                halves[pair][rows] = half_width(bank, scale, pair, members_ms, tables, rows, known, [name])
        for pair in pairs:
            predicted_ms = out.all_ensemble_ms(pair, weights)
            true_ms = bank.latency_ms[pair[1]]
            found[pair][case] = judged(predicted_ms, true_ms, halves[pair], model=bank.architectures)
    return found
