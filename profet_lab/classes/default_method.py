"""Train and export the default method: members for every pair and case, with intervals."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np

from profet_core.artifacts.models import case_name
from profet_core.ensemble.fitted import Fitted
from profet_core.ensemble.intervals import class_shares
from profet_core.ensemble.members import MEMBERS
from profet_lab.classes.bank import ClassBank, TrainingRows
from profet_lab.classes.boosted import BoostedTrees
from profet_lab.classes.calibrate import distances, scale_of_folds
from profet_lab.classes.fit_networks import STEPS
from profet_lab.classes.folds import FoldCase, OutOfFold, fit_member, least_error, one_held_out, predict_cases
from profet_lab.classes.stacked import RECIPES, StackedNetworks
from profet_lab.export import boosted_stack, network_stack, write_fitted
from profet_lab.measurements.tables import Pair
from profet_lab.progress import Progress
from profet_lab.tasks import run_tasks

#: Stacks that `train_default` fits, for progress bars: finals of 4 cases and calibration folds of 2, per member.
STACKS = len(MEMBERS) * (4 + 2)


def train_default(
    bank: ClassBank,
    folder: Path,
    wanted: Sequence[Pair],
    *,
    calibrated_on: Sequence[Pair],
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> dict:
    """Write the default method's files of the wanted pairs below `folder`; returns what the manifest holds of them.

    Parameters
    ----------
    calibrated_on : pairs whose errors on held-out architectures give weights and intervals, the wanted ones included.
    """
    everything = np.ones(len(bank.architectures), bool)
    anchors = list(dict.fromkeys(anchor for anchor, _ in wanted))
    training_rows = [TrainingRows(*pair, everything) for pair in wanted]
    stacks = []
    finals = list(product((True, False), (True, False), MEMBERS))
    tasks = [(bank, member, training_rows, known, sizes, seed, steps) for known, sizes, member in finals]
    fitted = run_tasks(fit_member, tasks, progress=progress, units=steps)
    for (latency_known, sizes_known, _), models in zip(finals, fitted, strict=True):
        case = case_name(latency_known, sizes_known)
        stacks += [_write_stack(models, wanted, anchor, case, folder) for anchor in anchors]
    references = [_write_reference(bank, anchor, folder) for anchor in anchors]
    rules, intervals = {}, {}
    folds = one_held_out(bank.architectures, calibrated_on)
    cases = [FoldCase(folds, known) for known in (True, False)]
    for each, predicted in zip(
        cases, predict_cases(bank, cases, seed=seed, steps=steps, progress=progress), strict=True
    ):
        case = case_name(each.latency_known, False)
        rules[case], intervals[case] = _calibrated(bank, calibrated_on, each.latency_known, predicted)
    return {
        "method": {"kind": "classes", **rules},
        "stacks": stacks,
        "intervals": intervals,
        "files": [row["file"] for row in stacks] + references,
    }


def _write_stack(
    models: StackedNetworks | BoostedTrees, wanted: Sequence[Pair], anchor: str, case: str, folder: Path
) -> dict:
    """Write an anchor's models of one member and case; returns the manifest's row."""
    chosen = [number for number, pair in enumerate(wanted) if pair[0] == anchor]
    name = write_fitted(_fitted(models, chosen), folder, anchor, f"{models.member.replace(' ', '_')}_{case}")
    return {
        "anchor": anchor,
        "member": models.member,
        "case": case,
        "file": name,
        "targets": [wanted[number][1] for number in chosen],
        "constants": models.constants[chosen, 0].round(6).tolist(),
        "typical_log_ratio": models.typical_log_ratio[chosen].round(6).tolist(),
    }


def _fitted(models: StackedNetworks | BoostedTrees, chosen: Sequence[int]) -> Fitted:
    if isinstance(models, BoostedTrees):
        return boosted_stack([models.trees[number] for number in chosen])
    return network_stack(
        [kernel[chosen] for kernel in models.kernels],
        [bias[chosen] for bias in models.biases],
        RECIPES[models.member].activation,
    )


def _write_reference(bank: ClassBank, anchor: str, folder: Path) -> str:
    """Where the training profiles lie: the first repeat of each workload."""
    first = bank.repeats == bank.repeats.min()
    shares = class_shares(bank.inputs[anchor, True].classes_ms[first], bank.device_classes)
    data = io.BytesIO()
    np.save(data, shares.astype(np.float32), allow_pickle=False)
    name = f"{anchor}/reference.npy"
    (folder / name).write_bytes(data.getvalue())
    return name


def _calibrated(
    bank: ClassBank, wanted: Sequence[Pair], latency_known: bool, out_of_fold: OutOfFold
) -> tuple[dict, dict]:
    """How the members are combined, and the interval scale: both from errors on held-out architectures."""
    weights = least_error(out_of_fold.summed_errors(bank, wanted, name) for name in out_of_fold.rows)
    rule = {"members": list(MEMBERS), "combine": "geometric mean", "weights": list(weights)}
    tables = {
        anchor: distances(bank, anchor, latency_known) for anchor in dict.fromkeys(anchor for anchor, _ in wanted)
    }
    return rule, asdict(scale_of_folds(bank, out_of_fold, wanted, list(out_of_fold.rows), weights, tables))
