"""Compare pair models with the calibrated analytical model, each profiled GPU in turn as the new one.

Models, cells and latencies elsewhere never include the held-out network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.transfer.carry import ForeignSteps, carry_back
from profet_lab.classes.bank import ClassBank, TrainingRows, class_bank
from profet_lab.classes.fit_networks import STEPS
from profet_lab.classes.folds import ClassFold, OutOfFold, fold_inputs, predict_folds
from profet_lab.measurements.tables import WORKLOAD, Measurements, Pair, pairs
from profet_lab.own_gpus.pair_models import LAW_SHARE
from profet_lab.progress import Progress
from profet_lab.transfer.calibrate import steps_of
from profet_lab.transfer.cell_choice import choose_cells
from profet_lab.transfer.leave_one_gpu_out import reference_of
from profet_lab.transfer.steps import Steps, all_steps, median_steps
from profet_lab.validation.cells import folds
from profet_lab.validation.ensemble_latencies import of_folds, weights_by_others
from profet_lab.validation.held_out_anchors import FoldModels, fold_models
from profet_lab.validation.judged import judged, mape

#: More than there are means all.
COUNTS = (50, 100, 200, 307)
#: Directions of a pair with a new GPU.
TO, FROM = "to", "from"


@dataclass(frozen=True)
class _Bench:
    """What every number of cells is judged with.

    Attributes
    ----------
    bank : one row a workload, as `medians`. whole : models of all pairs that learned from all workloads of the other
        networks. by_whole : what they predict.
    """

    bank: ClassBank
    medians: Steps
    whole: FoldModels
    by_whole: OutOfFold
    seed: int

    @property
    def networks(self) -> list[str]:
        return [str(name) for name in np.unique(self.medians.architectures)]

    def cells(self, network: str, count: int) -> np.ndarray:
        """Measured workloads when a network is held out, the same on every GPU, (cells,)."""
        allowed = self.medians.architectures != network
        random = np.random.default_rng([self.seed, self.networks.index(network)])
        return choose_cells(self.medians, allowed, min(count, int(allowed.sum())), random)


def pairs_report(
    measurements: Measurements,
    folder: Path,
    *,
    seed: int,
    counts: Sequence[int] = COUNTS,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> dict:
    """Errors of the analytical model, pair models and both combined, percent, by cells and GPU."""
    bank = class_bank(median_measurements(measurements))
    whole = fold_models(bank, seed=seed, steps=steps, progress=progress)
    bench = _Bench(
        bank=bank,
        medians=median_steps(all_steps(class_bank(measurements), measurements.workloads)),
        whole=whole,
        by_whole=_predicted(whole),
        seed=seed,
    )
    rows = [_row(bench, count, steps, progress) for count in counts]
    return {"seed": seed, "law_share": LAW_SHARE, "networks": len(bench.networks), "rows": rows}


def _predicted(models: FoldModels) -> OutOfFold:
    """What each fold's models predict of its network."""
    bank, found = models.bank, {}
    for number, fold in enumerate(models.folds):
        for name, rows in fold.held_out.items():
            members_ms = [
                member.predict(
                    number,
                    fold_inputs(bank, member, number, fold.training.anchor, rows, True, False),
                    bank.device_classes,
                )
                for member in models.members.values()
            ]
            found[fold.pair, name] = np.column_stack(members_ms)
    return OutOfFold({name: rows for fold in models.folds for name, rows in fold.held_out.items()}, found)


def median_measurements(measurements: Measurements) -> Measurements:
    """One run a workload: the median of its repeats."""
    groups = measurements.workloads.groupby(WORKLOAD)
    index = groups.ngroup().to_numpy()

    def median(values: np.ndarray) -> np.ndarray:
        return pd.DataFrame(values).groupby(index).median().to_numpy()

    return replace(
        measurements,
        workloads=groups.size().index.to_frame(index=False).assign(repeat=1),
        times_us={name: median(values) for name, values in measurements.times_us.items()},
        latency_ms={name: median(values)[:, 0] for name, values in measurements.latency_ms.items()},
    )


def _row(bench: _Bench, count: int, steps: int, progress: Progress | None) -> dict:
    models_ms = _by_models(bench, count, steps, progress)
    gpus = {gpu: _of_gpu(bench, gpu, count, models_ms) for gpu in bench.bank.instances}
    mean = {
        way: {how: float(np.mean([one[way][how] for one in gpus.values()])) for how in ("law", "models", "both")}
        for way in (TO, FROM)
    }
    return {"cells": count, "gpus": gpus, "mean": mean}


def _by_models(bench: _Bench, count: int, steps: int, progress: Progress | None) -> Mapping[Pair, np.ndarray]:
    """Latencies by models of a pair that learned from the cells alone, pair -> (workloads,)."""
    every = pairs(bench.bank.instances)
    wanted = []
    for network in bench.networks:
        learned = np.zeros(len(bench.medians.workloads), bool)
        learned[bench.cells(network, count)] = True
        held_out = {network: bench.medians.architectures == network}
        wanted += [ClassFold(TrainingRows(*pair, learned), held_out) for pair in every]
    found = bench.by_whole
    if count < len(bench.medians.workloads):
        found = predict_folds(bench.bank, wanted, latency_known=True, seed=bench.seed, steps=steps, progress=progress)
    weights = weights_by_others(bench.bank, every, found)
    return {pair: found.all_ensemble_ms(pair, weights) for pair in every}


def _of_gpu(bench: _Bench, gpu: str, count: int, models_ms: Mapping[Pair, np.ndarray]) -> dict:
    others = [name for name in bench.bank.instances if name != gpu]
    law_ms = {pair: np.empty(len(bench.medians.workloads)) for one in others for pair in ((one, gpu), (gpu, one))}
    known_elsewhere = of_folds(bench.bank, bench.by_whole, True).known
    for network, fold in folds(bench.medians, known_elsewhere, gpu, bench.networks).items():
        fitted, reference = fold.fit(bench.cells(network, count)), reference_of(fold.law)
        own = np.flatnonzero(~fold.allowed)
        for anchor, known in fold.unseen.items():
            law_ms[anchor, gpu][own] = fitted.carry(steps_of(known, own), reference).latency_ms
        recorded = ForeignSteps(
            fitted.target, bench.medians.with_latency[gpu].of(own), bench.medians.latency_ms[gpu][own]
        )
        back = carry_back(fold.law, reference, recorded)
        for target, predicted_ms in bench.whole.served(back, gpu, True, own).items():
            law_ms[gpu, target][own] = predicted_ms
    errors = []
    for pair, by_law in law_ms.items():
        by_models, true_ms = models_ms[pair], bench.bank.latency_ms[pair[1]]
        both = np.exp(LAW_SHARE * np.log(by_law) + (1 - LAW_SHARE) * np.log(by_models))
        ways = {"law": by_law, "models": by_models, "both": both}
        row = {how: mape(judged(predicted_ms, true_ms)) for how, predicted_ms in ways.items()}
        errors.append({"way": TO if pair[1] == gpu else FROM, **row})
    return pd.DataFrame(errors).groupby("way").mean().loc[[TO, FROM]].to_dict("index")
