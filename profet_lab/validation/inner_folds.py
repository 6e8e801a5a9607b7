"""Inner folds: hold out a second architecture to choose the members' weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from profet_core.ensemble.intervals import IntervalScale
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.calibrate import scale_of_folds
from profet_lab.classes.folds import ClassFold, OutOfFold
from profet_lab.classes.member_weights import Weights, least_error
from profet_lab.classes.training_rows import TrainingRows
from profet_lab.measurements.tables import Pair


def inner_name(inner: str, outer: str) -> str:
    """Name of the held-out rows of `inner` as predicted by models that saw neither it nor `outer`."""
    return f"{inner}|{outer}"


def two_held_out(bank: ClassBank, pairs: Sequence[Pair]) -> list[ClassFold]:
    """Predictions with every two architectures held out."""
    folds = []
    for anchor, target in pairs:
        for first, second in combinations(np.unique(bank.architectures), 2):
            rows = {name: bank.architectures == name for name in (first, second)}
            held_out = {inner_name(first, second): rows[first], inner_name(second, first): rows[second]}
            folds.append(ClassFold(TrainingRows(anchor, target, ~(rows[first] | rows[second])), held_out))
    return folds


@dataclass(frozen=True)
class InnerErrors:
    """What members' weights are chosen by: errors on architectures other than the one that is then predicted.

    Attributes
    ----------
    errors : (held-out architecture, another one) -> `summed_errors` of the latter over all pairs, as predicted by
        models that saw neither.
    """

    errors: Mapping[tuple[str, str], np.ndarray]

    @property
    def by_architecture(self) -> dict[str, Weights]:
        """Weights for each held-out architecture."""
        return {name: self.of_group([name]) for name in dict.fromkeys(outer for outer, _ in self.errors)}

    def of_group(self, names: Collection[str]) -> Weights:
        """Weights for architectures that leave together: none of their errors counts."""
        return least_error(
            error for (outer, inner), error in self.errors.items() if outer in names and inner not in names
        )


def inner_errors(bank: ClassBank, pairs: Sequence[Pair], inner_folds: OutOfFold) -> InnerErrors:
    """Errors of the predictions on the folds of `two_held_out`."""
    return InnerErrors(
        {
            (str(outer), str(inner)): inner_folds.summed_errors(bank, pairs, inner_name(inner, outer))
            for inner, outer in permutations(np.unique(bank.architectures), 2)
        }
    )


def nested_scale(
    bank: ClassBank,
    pairs: Sequence[Pair],
    inner_folds: OutOfFold,
    outer: str,
    weights: Weights,
    distance_tables: Mapping[str, np.ndarray],
) -> IntervalScale:
    """The interval scale for a held-out architecture, from networks that saw neither it nor the error's own."""
    others = [inner_name(str(name), outer) for name in np.unique(bank.architectures) if name != outer]
    return scale_of_folds(bank, inner_folds, pairs, others, weights, distance_tables, [outer])
