"""Out-of-fold predictions and intervals of the default method, by architecture and family."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from profet_core.ensemble.intervals import IntervalScale
from profet_lab.cases import CASES
from profet_lab.classes.bank import ClassBank, TrainingRows
from profet_lab.classes.calibrate import distances, half_widths, scale_of_folds
from profet_lab.classes.fit_networks import STEPS
from profet_lab.classes.folds import ClassFold, FoldCase, OutOfFold, Weights, least_error, one_held_out, predict_cases
from profet_lab.measurements.tables import Pair
from profet_lab.progress import Progress
from profet_lab.validation.default_report import families_of


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


def default_table(
    bank: ClassBank,
    workloads: pd.DataFrame,
    wanted: Sequence[Pair],
    *,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Every row of every pair as predicted by models that never saw its architecture, or its family.

    Returns
    -------
    table : columns anchor, target, model, pixels, batch_size, repeat, true_ms; for each case ("with_latency",
        "without_latency") the prediction, that with sizes known (`_and_sizes`), that with the family held out
        (`_family`), the log half-widths of the intervals (`_half`, nested; `_family_half`), and the weight of the
        boosted trees (`_tree_weight`).
    """
    parts = {pair: workloads.assign(anchor=pair[0], target=pair[1]) for pair in wanted}
    for pair, part in parts.items():
        part["true_ms"] = bank.latency_ms[pair[1]]
    plain, by_family = (
        one_held_out(groups, wanted) for groups in (bank.architectures, families_of(bank.architectures))
    )
    inner = two_held_out(bank, wanted)
    for known, case in CASES.items():
        cases = [
            FoldCase(plain, known),
            FoldCase(plain, known, True),
            FoldCase(by_family, known),
            FoldCase(inner, known),
        ]
        predicted = predict_cases(bank, cases, seed=seed, steps=steps, progress=progress)
        for pair, columns in _columns(bank, wanted, known, *predicted).items():
            for name, values in columns.items():
                parts[pair][f"{case}{name}"] = values
    return pd.concat(parts.values(), ignore_index=True)


def _columns(
    bank: ClassBank,
    wanted: Sequence[Pair],
    latency_known: bool,
    plain: OutOfFold,
    sized: OutOfFold,
    by_family: OutOfFold,
    inner: OutOfFold,
) -> dict[Pair, dict[str, np.ndarray]]:
    """Pair -> the case's columns, named without the case."""
    tables = {anchor: distances(bank, anchor, latency_known) for anchor in bank.instances}
    errors = inner_errors(bank, wanted, inner)
    weights = errors.by_architecture
    family_weights = {family: errors.of_group(bank.architectures[rows]) for family, rows in by_family.rows.items()}
    names = np.unique(bank.architectures)

    def scale_of(outer: str, _: list[str]) -> IntervalScale:
        return nested_scale(bank, wanted, inner, outer, weights[outer], tables)

    def family_scale(family: str, inside: list[str]) -> IntervalScale:
        """The networks behind these errors had seen the family: to avoid that takes a third level of folds."""
        others = [str(name) for name in names if name not in inside]
        return scale_of_folds(bank, plain, wanted, others, family_weights[family], tables)

    nested = half_widths(bank, wanted, plain, scale_of, tables, latency_known)
    of_family = half_widths(bank, wanted, by_family, family_scale, tables, latency_known)
    return {
        pair: {
            "": plain.all_ensemble_ms(pair, weights),
            "_and_sizes": sized.all_ensemble_ms(pair, weights),
            "_family": by_family.all_ensemble_ms(pair, family_weights),
            "_tree_weight": np.array([weights[name][-1] for name in bank.architectures]),
            "_half": nested[pair],
            "_family_half": of_family[pair],
        }
        for pair in wanted
    }
