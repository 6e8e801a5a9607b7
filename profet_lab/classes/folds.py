"""Left-out predictions of the default method: every row as models see it that never saw its architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.networks.members import MEMBERS
from profet_core.networks.stacks import StepInputs, step_inputs
from profet_core.operations.classes import ClassTimes
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.boosted import BoostedTrees
from profet_lab.classes.fit_member import fit_member
from profet_lab.classes.jobs import MemberJob
from profet_lab.classes.member_weights import Weights, join
from profet_lab.classes.stacked import STEPS, StackedNetworks


@dataclass(frozen=True)
class LeftOut:
    """What members said of rows they had not learned from.

    Attributes
    ----------
    said : (pair, fold's name) -> member latencies, (rows of the fold, members), milliseconds.
    """

    said: Mapping[tuple[tuple[str, str], str], np.ndarray]

    def joined(self, pair: tuple[str, str], fold: str, weights: Weights) -> np.ndarray:
        """The ensemble's latencies, (rows,)."""
        return join(self.said[pair, fold], weights)


@dataclass(frozen=True)
class ClassFold:
    """A pair, the rows (boolean mask) its models learn from, and the rows they are then asked about, by name."""

    anchor: str
    target: str
    learned: np.ndarray
    asked: Mapping[str, np.ndarray]


def left_out_folds(groups: np.ndarray, wanted: Sequence[tuple[str, str]]) -> list[ClassFold]:
    """One fold a wanted pair and group: learn from all others, be asked about the group."""
    return [
        ClassFold(anchor, target, groups != name, {str(name): groups == name})
        for anchor, target in wanted
        for name in np.unique(groups)
    ]


def predict_folds(
    bank: ClassBank,
    folds: Sequence[ClassFold],
    *,
    latency_known: bool,
    sizes_known: bool = False,
    seed: int,
    steps: int = STEPS,
    progress: Callable[[int], object] | None = None,
) -> LeftOut:
    """Fit every member of every fold and ask each about its rows."""
    jobs = [MemberJob(fold.anchor, fold.target, fold.learned) for fold in folds]
    said: dict[tuple[tuple[str, str], str], list[np.ndarray]] = {}
    for member in MEMBERS:
        networks = fit_member(
            bank,
            member,
            jobs,
            latency_known=latency_known,
            sizes_known=sizes_known,
            seed=seed,
            steps=steps,
            progress=progress,
        )
        for number, fold in enumerate(folds):
            for name, rows in fold.asked.items():
                inputs = fold_inputs(bank, networks, number, fold.anchor, rows, latency_known, sizes_known)
                said.setdefault(((fold.anchor, fold.target), name), []).append(
                    networks.predict(number, inputs, bank.device_classes)
                )
    return LeftOut({key: np.column_stack(answers) for key, answers in said.items()})


def fold_inputs(
    bank: ClassBank,
    networks: StackedNetworks | BoostedTrees,
    number: int,
    anchor: str,
    rows: np.ndarray,
    latency_known: bool,
    sizes_known: bool,
) -> StepInputs:
    """Rows of the bank as one model sees them: device classes it never saw count as unknown."""
    times = bank.times[anchor]
    return step_inputs(
        ClassTimes(**{name: getattr(times, name)[rows] for name in ClassTimes.__dataclass_fields__}),
        bank.device_classes,
        bank.idle_column,
        bank.latency_ms[anchor][rows] if latency_known else None,
        bank.sizes[rows] if sizes_known else None,
        networks.unseen[number],
    )
