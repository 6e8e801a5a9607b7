"""Out-of-fold predictions of the default method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from profet_core.ensemble.members import MEMBERS, TREES, StepInputs, step_inputs
from profet_core.features.classes import ClassTimes
from profet_core.prediction.members import combine
from profet_lab.classes.bank import ClassBank, TrainingRows
from profet_lab.classes.boosted import BoostedTrees, fit_trees
from profet_lab.classes.fit_networks import STEPS, fit_networks
from profet_lab.classes.stacked import StackedNetworks
from profet_lab.measurements.tables import Pair
from profet_lab.progress import Progress
from profet_lab.tasks import run_tasks

Weights = tuple[float, float, float]

#: Weights that are tried, in the members' order: the trees' share, and of the rest that of the homogeneous network.
WEIGHTS: tuple[Weights, ...] = tuple(
    (round(first * (1 - trees), 3), round((1 - first) * (1 - trees), 3), trees)
    for trees, first in product((0.0, 0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.5))
)


def ensemble_ms(members_ms: np.ndarray, weights: Sequence[float] | None) -> np.ndarray:
    """The ensemble's latencies, (rows, members) -> (rows,)."""
    return combine(members_ms, "geometric mean", weights)


def summed_errors(members_ms: np.ndarray, true_ms: np.ndarray) -> np.ndarray:
    """Sum of the absolute relative errors with each of `WEIGHTS`, (weights,), of latencies (rows, members)."""
    return np.array([np.abs(ensemble_ms(members_ms, weights) / true_ms - 1).sum() for weights in WEIGHTS])


def least_error(errors: Iterable[np.ndarray]) -> Weights:
    """The weights with the least sum of `summed_errors`, each row counting once."""
    return WEIGHTS[int(np.argmin(np.sum(list(errors), axis=0)))]


def fit_member(
    bank: ClassBank,
    member: str,
    training_rows: Sequence[TrainingRows],
    latency_known: bool,
    sizes_known: bool,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> StackedNetworks | BoostedTrees:
    """The member's models, one for each of `training_rows`.

    `steps` is the networks' number; progress counts every member as so many.
    """
    if member != TREES:
        return fit_networks(
            bank,
            member,
            training_rows,
            latency_known=latency_known,
            sizes_known=sizes_known,
            seed=seed,
            steps=steps,
            progress=progress,
        )
    trees = fit_trees(bank, training_rows, latency_known=latency_known, sizes_known=sizes_known, seed=seed)
    if progress:
        progress(steps)
    return trees


@dataclass(frozen=True)
class OutOfFold:
    """What members predict of rows they did not learn from.

    Attributes
    ----------
    rows : name of held-out rows -> boolean mask of them, (rows,).
    members_ms : (pair, name) -> member latencies, (held-out rows, members), milliseconds.
    """

    rows: Mapping[str, np.ndarray]
    members_ms: Mapping[tuple[Pair, str], np.ndarray]

    def ensemble_ms(self, pair: Pair, name: str, weights: Sequence[float] | None) -> np.ndarray:
        """The ensemble's latencies, (held-out rows,)."""
        return ensemble_ms(self.members_ms[pair, name], weights)

    def all_ensemble_ms(self, pair: Pair, weights: Mapping[str, Weights]) -> np.ndarray:
        """The same of all rows, (rows,), where each was held out once; `weights`: by name."""
        found = np.empty(len(next(iter(self.rows.values()))))
        for name, rows in self.rows.items():
            found[rows] = self.ensemble_ms(pair, name, weights[name])
        return found

    def summed_errors(self, bank: ClassBank, pairs: Sequence[Pair], name: str) -> np.ndarray:
        """`member_weights.summed_errors` of the held-out rows, summed over the pairs, (weights,)."""
        true_ms = [bank.latency_ms[target][self.rows[name]] for _, target in pairs]
        found = [summed_errors(self.members_ms[pair, name], true) for pair, true in zip(pairs, true_ms, strict=True)]
        return np.sum(found, axis=0)


@dataclass(frozen=True)
class ClassFold:
    """What the models of one pair learn from, and the rows (boolean masks) they then predict, by name."""

    training: TrainingRows
    held_out: Mapping[str, np.ndarray]

    @property
    def pair(self) -> Pair:
        """Anchor and target."""
        return self.training.anchor, self.training.target


def one_held_out(groups: np.ndarray, pairs: Sequence[Pair]) -> list[ClassFold]:
    """One fold a pair and group: learn from all others, predict the group. `groups`: name of each row's, (rows,)."""
    return [
        ClassFold(TrainingRows(anchor, target, groups != name), {str(name): groups == name})
        for anchor, target in pairs
        for name in np.unique(groups)
    ]


@dataclass(frozen=True)
class FoldCase:
    """Folds, and what is known of the profiles that their models see."""

    folds: Sequence[ClassFold]
    latency_known: bool
    sizes_known: bool = False


def predict_cases(
    bank: ClassBank, cases: Sequence[FoldCase], *, seed: int, steps: int = STEPS, progress: Progress | None = None
) -> list[OutOfFold]:
    """Of each case: fit every member on every fold and predict the fold's held-out rows."""
    tasks = [(bank, member, case, seed, steps) for case in cases for member in MEMBERS]
    predicted = iter(run_tasks(_predict_member, tasks, progress=progress, units=steps))
    return [_joined(case, [next(predicted) for _ in MEMBERS]) for case in cases]


def _predict_member(
    bank: ClassBank, member: str, case: FoldCase, seed: int, steps: int, progress: Progress | None
) -> list[dict[str, np.ndarray]]:
    """By fold: name of its held-out rows -> the member's latencies, (held-out rows,)."""
    known, sizes = case.latency_known, case.sizes_known
    models = fit_member(bank, member, [fold.training for fold in case.folds], known, sizes, seed, steps, progress)
    found = []
    for number, fold in enumerate(case.folds):
        inputs = {
            name: fold_inputs(bank, models, number, fold.training.anchor, rows, known, sizes)
            for name, rows in fold.held_out.items()
        }
        found.append({name: models.predict(number, one, bank.device_classes) for name, one in inputs.items()})
    return found


def _joined(case: FoldCase, by_member: Sequence[Sequence[Mapping[str, np.ndarray]]]) -> OutOfFold:
    return OutOfFold(
        rows={name: rows for fold in case.folds for name, rows in fold.held_out.items()},
        members_ms={
            (fold.pair, name): np.column_stack([predicted[number][name] for predicted in by_member])
            for number, fold in enumerate(case.folds)
            for name in fold.held_out
        },
    )


def fold_inputs(
    bank: ClassBank,
    models: StackedNetworks | BoostedTrees,
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
        models.unseen[number],
    )
