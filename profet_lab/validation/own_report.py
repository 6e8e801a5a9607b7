"""Validate models trained on your own measurements, each network held out in turn.

Where the data hold the published instances too, the pairs that get models with a machine of your own are judged; else
all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from profet_core.catalog.gpus import Gpus
from profet_core.ensemble.intervals import IntervalScale
from profet_core.transfer.model import TransferModel
from profet_lab.classes.bank import ClassBank, class_bank
from profet_lab.classes.folds import (
    FoldCase,
    OutOfFold,
    distances,
    half_widths,
    one_held_out,
    predict_cases,
    scale_of_folds,
)
from profet_lab.classes.networks import STEPS
from profet_lab.datasets.check import check_dataset
from profet_lab.datasets.dataset import Dataset
from profet_lab.measurements.tables import CASES, Measurements, Pair, pairs
from profet_lab.own_gpus.groups import common_workloads, pair_groups
from profet_lab.tasks import Progress
from profet_lab.validation.judged import figures, judged, mape, weights_by_others


def own_report(
    dataset: Dataset,
    transfer: TransferModel,
    gpus: Gpus,
    *,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> dict:
    """Figures of every pair that has models, in percent, and why others have none.

    transfer : of the models that own data are trained beside; if of other instances than the data's, own data
        are judged alone. gpus : those with specs.
    """
    known = transfer.instances
    if set(known) & set(dataset.instances):
        groups, without = pair_groups(dataset, transfer)
        asked = [(group.measurements, group.pairs) for group in groups]
    else:
        common = common_workloads(dataset)
        asked = [(common.measurements, tuple(pairs(common.measurements.instances)))]
        without = {(name, ""): why for name, why in common.without.items()}
    rows = []
    for measurements, wanted in asked:
        found = judge_models(measurements, wanted, seed=seed, steps=steps, progress=progress)
        rows += [
            {
                "anchor": anchor,
                "target": target,
                "workloads": measurements.distinct_workloads,
                "models": {case: _figures(one) for case, one in found[anchor, target].items()},
            }
            for anchor, target in wanted
        ]
    checked = [one for one in check_dataset(dataset, gpus)["instances"] if one["instance"] not in known]
    return {
        "instances": [
            {name: one[name] for name in ("instance", "gpu", "workloads", "noise_percent")} for one in checked
        ],
        "pairs": rows,
        "without": [{"anchor": anchor, "target": target, "why": why} for (anchor, target), why in without.items()],
    }


def _figures(rows: pd.DataFrame) -> dict:
    return {
        "n": len(rows),
        "networks": rows["model"].nunique(),
        **{name: value for name, value in figures(rows).items() if name != "bias"},
        "by_network": {str(name): mape(part) for name, part in rows.groupby("model")},
    }


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

    Returns:
    pair -> case, as `CASES` names them -> as `judged`, with `model`.
    """
    bank = class_bank(measurements)
    found: dict[Pair, dict[str, pd.DataFrame]] = {pair: {} for pair in pairs}
    cases = [FoldCase(one_held_out(bank.architectures, pairs), known) for known in CASES]
    predicted = predict_cases(bank, cases, seed=seed, steps=steps, progress=progress)
    for (known, case), out in zip(CASES.items(), predicted, strict=True):
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
