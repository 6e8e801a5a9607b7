"""Validate models trained on your own measurements, each network held out in turn.

Where the data hold the published instances too, pairs with a machine of your own are judged; else all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpus
from profet_core.ensemble.intervals import IntervalScale
from profet_core.latency import combined_sd, quantile
from profet_core.transfer.carry import ForeignSteps, KnownSteps, carry_back
from profet_core.transfer.model import TransferModel
from profet_lab.cases import CASES
from profet_lab.classes.bank import ClassBank, class_bank
from profet_lab.classes.calibrate import distances, half_widths, scale_of_folds
from profet_lab.classes.fit_networks import STEPS
from profet_lab.classes.folds import OutOfFold, one_held_out, predict_folds
from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.check import check_dataset
from profet_lab.datasets.dataset import Dataset
from profet_lab.measurements.tables import WORKLOAD, DataError, Measurements, Pair, pairs
from profet_lab.own_gpus.calibrate_gpus import OwnCells, own_cells, published_runs
from profet_lab.own_gpus.common_workloads import LEAST_NETWORKS, LEAST_WORKLOADS, common_workloads
from profet_lab.own_gpus.pair_groups import PairGroup, all_groups, pair_groups
from profet_lab.progress import Progress
from profet_lab.transfer.calibrate import Calibrated, MeasuredCells, calibrate, steps_of
from profet_lab.transfer.leave_one_gpu_out import KnownLatencies, known_of, measured_latencies
from profet_lab.transfer.steps import Steps, all_steps, median_steps
from profet_lab.validation.ensemble_latencies import ensemble_latencies, weights_by_others
from profet_lab.validation.judged import figures, judged, judged_estimate, mape

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
    checked = [one for one in check_dataset(dataset, gpus)["instances"] if one["instance"] not in known]
    return {
        "instances": [
            {name: one[name] for name in ("instance", "gpu", "workloads", "noise_percent")} for one in checked
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


@dataclass(frozen=True)
class LawJudge:
    """Inputs of the validation.

    Attributes
    ----------
    transfer : its analytical model had seen the networks; what is fitted here has not. medians : the published steps.
    predicted : network -> latencies on the published instances by models that never saw it.
    """

    transfer: TransferModel
    medians: Steps
    predicted: Callable[[str], KnownLatencies]

    def judge(self, instance: str, cells: OwnCells, own: Steps | None) -> dict[Pair, pd.DataFrame]:
        """Both directions between the machine and each published instance, each network of its cells held out in turn.

        Parameters
        ----------
        own : the machine's own profiled steps; None: it has none and can't be an anchor.

        Returns
        -------
        pair -> as `judged`, with `model`.
        """
        measured = cells.measured
        found: dict[Pair, list[pd.DataFrame]] = {}
        exact = self._known(measured_latencies(self.medians))
        for network in np.unique(measured.networks):
            out = measured.networks == network
            if out.all():
                continue
            seen = MeasuredCells(measured.rows[~out], measured.latency_ms[~out], measured.networks[~out])
            fitted = calibrate(exact, self.transfer.reference, cells.prior, seen)
            for anchor, one in self._known(self.predicted(str(network))).items():
                mapped = fitted.carry(steps_of(one, measured.rows[out]), self.transfer.reference)
                rows = judged_estimate(mapped, measured.latency_ms[out], model=network)
                found.setdefault((anchor, instance), []).append(rows)
            for target, rows in () if own is None else self._back(fitted, own, instance, str(network)):
                found.setdefault((instance, target), []).append(rows)
        return {pair: pd.concat(parts) for pair, parts in found.items()}

    def _known(self, latencies: KnownLatencies) -> dict[str, KnownSteps]:
        law = self.transfer.step
        return {name: known_of(law, self.medians, name, latencies, True) for name in self.medians.instances}

    def _back(self, fitted: Calibrated, own: Steps, instance: str, network: str) -> Iterator[tuple[str, pd.DataFrame]]:
        """From the machine's profiles of a network to the published instances, by the analytical model alone."""
        here = own.workloads[WORKLOAD].assign(row=range(len(own.workloads)))
        published = self.medians.workloads[WORKLOAD].assign(there=range(len(self.medians.workloads)))
        both = here[here["model"] == network].merge(published, on=WORKLOAD)
        if both.empty:
            return
        rows, there = both["row"].to_numpy(), both["there"].to_numpy()
        steps = ForeignSteps(fitted.target, own.with_latency[instance].of(rows), own.latency_ms[instance][rows])
        back = carry_back(self.transfer.step, self.transfer.reference, steps)
        half = quantile() * combined_sd(self.transfer.anchor_spread.log_sd(), back.doubt_log_sd)
        for name, one in back.by_instance.items():
            yield name, judged(one.latency_ms, self.medians.latency_ms[name][there], half, model=network)
