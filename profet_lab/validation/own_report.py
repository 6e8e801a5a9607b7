"""Validate models trained on your own measurements, each network held out in turn.

Where the data hold the published instances too, pairs with a machine of your own are judged; else all pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from profet_core.catalog.gpus import Gpus
from profet_core.transfer.model import TransferModel
from profet_lab.classes.bank import class_bank
from profet_lab.classes.fit_networks import STEPS
from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.check import check_dataset
from profet_lab.datasets.dataset import Dataset
from profet_lab.measurements.tables import WORKLOAD, DataError, Measurements, Pair, pairs
from profet_lab.own_gpus.calibrate_gpus import own_cells, published_runs
from profet_lab.own_gpus.common_workloads import LEAST_NETWORKS, LEAST_WORKLOADS, common_workloads
from profet_lab.own_gpus.pair_groups import PairGroup, all_groups, pair_groups
from profet_lab.progress import Progress
from profet_lab.transfer.steps import Steps, all_steps, median_steps
from profet_lab.validation.ensemble_latencies import ensemble_latencies
from profet_lab.validation.judged import figures, mape
from profet_lab.validation.own_law import LawJudge
from profet_lab.validation.own_models import judge_models

#: Keys of a pair's two ways in a report.
MODELS, LAW = "models", "law"


def own_report(
    dataset: Dataset,
    transfer: TransferModel | None,
    gpus: Gpus,
    *,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> dict:
    """Figures of every pair that can be judged, in percent, and why others can't.

    Parameters
    ----------
    transfer : of the models that own data are trained beside; None, or of other instances than the data's: own data
        are judged alone. gpus : those with specs.

    Raises
    ------
    DataError : nothing can be judged; one line says why.
    """
    beside = transfer is not None and set(transfer.instances) & set(dataset.instances)
    if transfer is not None and beside:
        rows, without = _beside_published(dataset, transfer, seed, steps, progress)
    else:
        rows, without = _alone(dataset, seed, steps, progress)
    known = () if transfer is None else transfer.instances
    checked = [one for one in check_dataset(dataset, gpus).instances if one.instance not in known]
    return {
        "instances": [
            {"instance": one.instance, "gpu": one.gpu, "workloads": one.workloads, "noise_percent": one.noise_percent}
            for one in checked
        ],
        "pairs": rows,
        "without": without,
    }


def _alone(dataset: Dataset, seed: int, steps: int, progress: Progress | None) -> tuple[list[dict], list[dict]]:
    common = common_workloads(dataset)
    wanted = pairs(common.measurements.instances)
    judged = judge_models(common.measurements, wanted, seed=seed, steps=steps, progress=progress)
    rows = [_row(pair, common.measurements, judged[pair], None, MODELS) for pair in wanted]
    return rows, [{"anchor": one.instance, "target": "", "why": one.why} for one in common.without]


def _beside_published(
    dataset: Dataset, transfer: TransferModel, seed: int, steps: int, progress: Progress | None
) -> tuple[list[dict], list[dict]]:
    law, why = _law(dataset, transfer, seed, steps, progress)
    served = {pair for group in pair_groups(dataset, transfer)[0] for pair in group.pairs}
    groups, without = all_groups(dataset, transfer)
    reasons = {(one.anchor, one.target): one.why for one in without}
    rows = []
    for group in groups:
        judged: Mapping[Pair, Mapping[str, pd.DataFrame]] = {}
        if group.workloads >= LEAST_WORKLOADS and group.networks >= LEAST_NETWORKS:
            judged = judge_models(group.measurements, group.pairs, seed=seed, steps=steps, progress=progress)
        for pair in group.pairs:
            tells = MODELS if pair in served else LAW
            if pair in judged or pair in law:
                rows.append(_row(pair, group.measurements, judged.get(pair), law.pop(pair, None), tells))
            else:
                reasons[pair] = why.get(group.machines[0].instance, _too_few(group))
    rows += [_row(pair, None, None, one, LAW) for pair, one in law.items()]
    if not rows:
        said = "; ".join(f"{anchor} to {target}: {one}" for (anchor, target), one in list(reasons.items())[:3])
        raise DataError(f"These measurements can't be judged: {said or 'the models know all instances'}.")
    judged_pairs = {(row["anchor"], row["target"]) for row in rows}
    return rows, [
        {"anchor": anchor, "target": target, "why": one}
        for (anchor, target), one in reasons.items()
        if (anchor, target) not in judged_pairs
    ]


def _too_few(group: PairGroup) -> str:
    return (
        f"{group.workloads} workloads of {group.networks} networks have a profile on both, to judge takes "
        f"{LEAST_WORKLOADS} of {LEAST_NETWORKS}"
    )


def _law(
    dataset: Dataset, transfer: TransferModel, seed: int, steps: int, progress: Progress | None
) -> tuple[dict[Pair, pd.DataFrame], dict[str, str]]:
    """Figures of the calibrated model by machine, or why there are none."""
    published = published_runs(dataset, transfer)
    bank = class_bank(published)
    every = all_steps(bank, published.workloads)
    ensemble = ensemble_latencies(bank, seed=seed, steps=steps, progress=progress, cases=(True,)).medians(every)
    judge = LawJudge(transfer, median_steps(every), ensemble.known)
    plain = replace(transfer, calibrated={})
    found: dict[Pair, pd.DataFrame] = {}
    why: dict[str, str] = {}
    for name in sorted(set(dataset.instances) - set(transfer.instances)):
        try:
            cells = own_cells(dataset, name, judge.medians, plain)
        except DataError as error:
            why[name] = str(error)
            continue
        # Of two precisions the one with more cells stands for the machine.
        most = max(cells, key=lambda one: len(one.measured.rows))
        found |= judge.judge(name, most, _own_steps(dataset, name, most.tf32))
    return found, why


def _own_steps(dataset: Dataset, instance: str, tf32: bool) -> Steps | None:
    own = measurements_of(
        replace(dataset, cells=dataset.cells[dataset.cells["instance"] == instance]),
        [instance],
        framework="tensorflow",
        precision="tf32" if tf32 else "fp32",
    )
    if own.workloads.empty:
        return None
    return median_steps(all_steps(class_bank(own), own.workloads))


def _row(
    pair: Pair,
    measurements: Measurements | None,
    models: Mapping[str, pd.DataFrame] | None,
    law: pd.DataFrame | None,
    tells: str,
) -> dict:
    anchor, target = pair
    workloads = 0 if measurements is None else len(measurements.workloads[WORKLOAD].drop_duplicates())
    return {
        "anchor": anchor,
        "target": target,
        "workloads": workloads,
        "tells": tells,
        MODELS: None if models is None else {case: _figures(one) for case, one in models.items()},
        LAW: None if law is None else _figures(law),
    }


def _figures(rows: pd.DataFrame) -> dict:
    return {
        "n": len(rows),
        "networks": rows["model"].nunique(),
        **{name: value for name, value in figures(rows).items() if name != "bias"},
        "by_network": {str(name): mape(part) for name, part in rows.groupby("model")},
    }
