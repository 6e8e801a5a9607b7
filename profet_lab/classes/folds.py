"""Out-of-fold predictions of the default method, and intervals calibrated on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from profet_core.ensemble.classes import ClassTimes
from profet_core.ensemble.members import (
    DISTANCE_BANDS,
    MEMBERS,
    TREES,
    IntervalScale,
    StepInputs,
    class_shares,
    nearest_distance,
    scale_features,
    step_inputs,
)
from profet_core.latency import quantile
from profet_core.prediction.members import combine
from profet_lab.classes.bank import ClassBank, TrainingRows
from profet_lab.classes.boosted import BoostedTrees, fit_trees
from profet_lab.classes.networks import STEPS, StackedNetworks, fit_networks
from profet_lab.measurements.tables import Pair
from profet_lab.tasks import Progress, run_tasks

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
        """The function `summed_errors` of the held-out rows, summed over the pairs, (weights,)."""
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


LEVEL = 0.9
#: Errors below this are noise of the measurement; their logarithm says nothing about scale.
MIN_ERROR = 0.003
ROUNDS = 30


def distances(bank: ClassBank, anchor: str, latency_known: bool) -> np.ndarray:
    """Distance of every row to the nearest training profile of each architecture, (rows, architectures).

    Nine repeats are near-copies: the first of each workload stands for it.
    """
    shares = class_shares(bank.inputs[anchor, latency_known].classes_ms, bank.device_classes)
    first = bank.repeats == bank.repeats.min()
    names = np.unique(bank.architectures)
    return np.column_stack([nearest_distance(shares, shares[first & (bank.architectures == name)]) for name in names])


def nearest_other(table: np.ndarray, architectures: np.ndarray, without: Sequence[str] = ()) -> np.ndarray:
    """Distance of each row to the nearest profile of another architecture, excluding `without`. (rows,)"""
    names = np.unique(architectures)
    barred = (names[None, :] == architectures[:, None]) | np.isin(names, list(without))[None, :]
    return np.where(barred, np.inf, table).min(axis=1)


def fit_scale(
    members_ms: Mapping[Pair, np.ndarray],
    ensemble_ms: Mapping[Pair, np.ndarray],
    true_ms: Mapping[Pair, np.ndarray],
    distance: Mapping[Pair, np.ndarray],
    level: float = LEVEL,
) -> IntervalScale:
    """Fit an `IntervalScale` to out-of-fold predictions.

    members_ms : pair -> members' latencies (rows, members). ensemble_ms : pair -> the ensemble's, (rows,).
    true_ms : pair -> measured, (rows,). distance : pair -> from the nearest profile the networks had learned from.

    The log scale is fitted by least absolute deviations (iteratively reweighted least squares) over all pairs, with an
    offset a pair; the quantile is half the pair's own and half that of all pairs, for 15 groups a pair are few.
    """
    names = list(members_ms)
    features = [scale_features(members_ms[pair], distance[pair]) for pair in names]
    errors = [np.log(true_ms[pair]) - np.log(ensemble_ms[pair]) for pair in names]
    which = np.repeat(np.arange(len(names)), [len(error) for error in errors])
    design = np.hstack([np.vstack(features), np.eye(len(names))[which]])
    error = np.concatenate(errors)
    weights = _least_absolute(design, np.log(np.maximum(np.abs(error), MIN_ERROR)))
    score = np.abs(error) / np.exp(design @ weights)
    overall = np.quantile(score, level)
    offset: dict[str, dict[str, float]] = {}
    quantiles: dict[str, dict[str, float]] = {}
    for number, (anchor, target) in enumerate(names):
        offset.setdefault(anchor, {})[target] = float(weights[2 + number])
        own = np.quantile(score[which == number], level)
        quantiles.setdefault(anchor, {})[target] = float((overall + own) / 2)
    percent = 100 * np.abs(np.exp(-error) - 1)
    return IntervalScale(
        level=level,
        spread=float(weights[0]),
        distance=float(weights[1]),
        offset=offset,
        quantile=quantiles,
        error_by_distance=_error_by_band(np.concatenate([distance[pair] for pair in names]), percent),
    )


def scale_of_folds(
    bank: ClassBank,
    out_of_fold: OutOfFold,
    pairs: Sequence[Pair],
    names: Sequence[str],
    weights: Weights,
    distance_tables: Mapping[str, np.ndarray],
    without: Sequence[str] = (),
) -> IntervalScale:
    """`fit_scale` on the held-out rows of these names.

    distance_tables : anchor -> `distances`. without : architectures excluded from the distances, beside the row's own.
    """
    rows = np.concatenate([np.flatnonzero(out_of_fold.rows[name]) for name in names])
    return fit_scale(
        members_ms={pair: np.vstack([out_of_fold.members_ms[pair, name] for name in names]) for pair in pairs},
        ensemble_ms={
            pair: np.concatenate([out_of_fold.ensemble_ms(pair, name, weights) for name in names]) for pair in pairs
        },
        true_ms={pair: bank.latency_ms[pair[1]][rows] for pair in pairs},
        distance={pair: nearest_other(distance_tables[pair[0]], bank.architectures, without)[rows] for pair in pairs},
    )


def half_widths(
    bank: ClassBank,
    pairs: Sequence[Pair],
    predicted: OutOfFold,
    scale_of: Callable[[str, list[str]], IntervalScale],
    distance_tables: Mapping[str, np.ndarray],
    latency_known: bool,
) -> dict[Pair, np.ndarray]:
    """Log half-widths of the 90 % intervals of held-out rows, pair -> (rows,).

    scale_of : name of held-out rows, architectures among them -> scale from errors on other architectures.
    distance_tables : anchor -> `distances`.
    """
    found = {pair: np.empty(len(bank.architectures)) for pair in pairs}
    for name, rows in predicted.rows.items():
        inside = np.unique(bank.architectures[rows]).tolist()
        scale = scale_of(name, inside)
        for anchor, target in pairs:
            distance = nearest_other(distance_tables[anchor], bank.architectures, inside)[rows]
            doubt = bank.inputs[anchor, latency_known].doubt[rows]
            members_ms = predicted.members_ms[(anchor, target), name][None]
            log_sd = scale.log_sd(anchor, [target], members_ms, distance, doubt)[0]
            found[anchor, target][rows] = quantile() * log_sd
    return found


def _least_absolute(design: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    weights = np.zeros(design.shape[1])
    ridge = 1e-5 * len(wanted) * np.eye(design.shape[1])
    for _ in range(ROUNDS):
        importance = 1 / np.maximum(np.abs(wanted - design @ weights), 0.05)
        weights = np.linalg.solve(design.T @ (design * importance[:, None]) + ridge, design.T @ (importance * wanted))
    return weights


def _error_by_band(distance: np.ndarray, percent: np.ndarray) -> list[float]:
    """Mean error in each distance band; a band without rows takes its neighbor's."""
    bands = np.searchsorted(DISTANCE_BANDS, distance)
    found: list[float] = []
    for band in range(len(DISTANCE_BANDS) + 1):
        rows = bands == band
        found.append(float(percent[rows].mean()) if rows.any() else (found[-1] if found else float(percent.mean())))
    return found
