"""Validate models of custom pairs on held-out networks."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from profet_core.ensemble.intervals import IntervalScale
from profet_lab.cases import CASES
from profet_lab.classes.bank import ClassBank, class_bank
from profet_lab.classes.calibrate import distances, half_widths, scale_of_folds
from profet_lab.classes.fit_networks import STEPS
from profet_lab.classes.folds import OutOfFold, one_held_out, predict_folds
from profet_lab.measurements.tables import Measurements, Pair
from profet_lab.progress import Progress
from profet_lab.validation.ensemble_latencies import weights_by_others
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
        for pair, rows in _judged(bank, pairs, known, out).items():
            found[pair][case] = rows
    return found


def _judged(bank: ClassBank, pairs: Sequence[Pair], known: bool, out: OutOfFold) -> dict[Pair, pd.DataFrame]:
    weights = weights_by_others(bank, pairs, out)
    tables = {anchor: distances(bank, anchor, known) for anchor in dict.fromkeys(anchor for anchor, _ in pairs)}

    def scale_of(name: str, inside: list[str]) -> IntervalScale:
        others = [other for other in out.rows if other != name]
        return scale_of_folds(bank, out, pairs, others, weights[name], tables, inside)

    halves = half_widths(bank, pairs, out, scale_of, tables, known)
    return {
        (anchor, target): judged(
            out.all_ensemble_ms((anchor, target), weights),
            bank.latency_ms[target],
            halves[anchor, target],
            model=bank.architectures,
        )
        for anchor, target in pairs
    }
