"""Train the default method's boosted trees, one model per pair and fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import lightgbm
import numpy as np

from profet_core.ensemble.members import TREES, StepInputs, member_latency, network_inputs, network_latency
from profet_lab.classes.bank import ClassBank, TrainingRows
from profet_lab.tasks import Progress

ROUNDS = 200
#: Shallow and shrunk: 300 workloads are few.
PARAMETERS = {
    "objective": "regression_l1",
    "num_leaves": 8,
    "learning_rate": 0.05,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "feature_fraction": 0.5,
    "min_data_in_leaf": 20,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "verbosity": -1,
}
#: The nine repeats of a workload are near-copies: so many of them are learned from.
REPEATS = 3


@dataclass(frozen=True)
class BoostedTrees:
    """Trained trees of many models.

    trees : by model: class shares -> log of the latency over the typical one.
    constants : (models, 1, classes), as `members.network_latency` takes them.
    typical_log_ratio : (models,). unseen : (models, classes).
    """

    trees: tuple[lightgbm.Booster, ...]
    constants: np.ndarray
    typical_log_ratio: np.ndarray
    unseen: np.ndarray
    member: str = TREES

    def predict(self, model: int, inputs: StepInputs, device_classes: int) -> np.ndarray:
        """One model's latency on its target, milliseconds (rows,)."""
        only = slice(model, model + 1)
        return member_latency(
            self.member,
            lambda seen: np.asarray(self.trees[model].predict(seen))[None, :, None],
            inputs,
            device_classes,
            self.constants[only],
            self.typical_log_ratio[only],
        )[0]


def fit_trees(
    bank: ClassBank,
    training_rows: Sequence[TrainingRows],
    *,
    latency_known: bool,
    sizes_known: bool,
    seed: int,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
) -> BoostedTrees:
    """Train trees on each of `training_rows`; each model sees its own rows alone.

    `progress` counts to `rounds`, as if all were trained together.
    """
    parts, reported = [], 0
    for number, training in enumerate(training_rows, start=1):
        parts.append(_fit(bank, training, latency_known, sizes_known, seed, rounds))
        done = rounds * number // len(training_rows)
        if progress and done > reported:
            progress(done - reported)
            reported = done
    trees, constants, typical, unseen = zip(*parts, strict=True)
    return BoostedTrees(tuple(trees), np.stack(constants), np.array(typical), np.stack(unseen))


def _fit(
    bank: ClassBank, training: TrainingRows, latency_known: bool, sizes_known: bool, seed: int, rounds: int
) -> tuple[lightgbm.Booster, np.ndarray, float, np.ndarray]:
    """Trees, constants (1, classes), typical log ratio and unseen classes (classes,) of one model."""
    anchor, target = training.anchor, training.target
    rows = training.rows & (bank.repeats < bank.repeats.min() + REPEATS)
    unseen = bank.unseen(anchor, training.rows)
    ratios, typical = bank.log_ratios(anchor, target, training.rows, latency_known)
    inputs = bank.inputs[anchor, latency_known]
    classes = np.where(unseen, 0.0, inputs.classes_ms[rows])
    latency = None if inputs.latency_ms is None else inputs.latency_ms[rows]
    sizes = bank.sizes[rows] if sizes_known else None
    seen = network_inputs(np, TREES, classes, bank.device_classes, latency, sizes)
    typical_ms = network_latency(np, TREES, np.zeros((1, 1)), classes, bank.device_classes, latency, ratios)[:, 0]
    wanted = np.log(bank.latency_ms[target][rows] / typical_ms)
    # Every architecture weighs the same: some have three times as many workloads as others.
    _, which = np.unique(bank.architectures[rows], return_inverse=True)
    weight = 1 / np.bincount(which)[which]
    table = lightgbm.Dataset(seen, wanted, weight=weight / weight.mean(), free_raw_data=True)
    trees = lightgbm.train({**PARAMETERS, "seed": seed}, table, rounds)
    return trees, ratios[None], typical, unseen
