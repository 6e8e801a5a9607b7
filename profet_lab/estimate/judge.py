"""Validate each split on held-out data; choose its method and interval widths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from profet_core.catalog import load_gpus, load_shipped
from profet_core.from_layers.costs import StepAmounts, reached_ms
from profet_core.from_layers.model import METHODS, EstimateModel, Regime
from profet_core.transfer.targets import host_named
from profet_lab.estimate.fit import fit_methods
from profet_lab.estimate.folds import Fold, folds_of
from profet_lab.estimate.law import benchmark_log_speed, sheet_speed
from profet_lab.estimate.rows import EstimateRows
from profet_lab.progress import Progress
from profet_lab.tasks import run_tasks

LEVEL = 0.9


@dataclass(frozen=True)
class Inside:
    """Inner-fold errors of each method for one split.

    Attributes
    ----------
    mape : percent. log_half_widths : what 90 % of the errors lay within.
    """

    mape: Mapping[str, float]
    log_half_widths: Mapping[str, float]

    @property
    def best(self) -> str:
        """The method that erred least."""
        return min(METHODS, key=lambda name: self.mape[name])


@dataclass(frozen=True)
class Judged:
    """Rows of a fold that was held out.

    Attributes
    ----------
    rows : numbers of the rows. latency_ms : method -> predicted, (rows,). inside : found without them.
    """

    rows: np.ndarray
    latency_ms: Mapping[str, np.ndarray]
    inside: Inside


@dataclass
class Judge:
    """Fits on parts of the rows, each part once.

    Attributes
    ----------
    benchmark_ms : instance -> the benchmark's latency there, known of GPUs that are held out.
    sheet_only : only their specs are known.
    """

    rows: EstimateRows
    progress: Progress | None = None
    benchmark_ms: Mapping[str, float] = field(init=False)
    sheet_only: bool = False
    _fitted: dict[bytes, EstimateModel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = self.rows.of(self.rows.is_benchmark)
        self.benchmark_ms = dict(zip(known.instances.tolist(), known.latency_ms.tolist(), strict=True))

    def judged(self, regime: Regime) -> list[Judged]:
        """Each fold of a split; choice and calibration see what the fold learned from, and nothing else."""
        self._fit(
            fold for outer in folds_of(regime, self.rows) for fold in (outer, *self._inner(regime, outer.learned))
        )
        found = []
        for fold in folds_of(regime, self.rows):
            inside = self.inside(regime, np.flatnonzero(fold.learned))
            rows = np.flatnonzero(fold.judged)
            found.append(Judged(rows, self.predicted(fold), inside))
        return found

    def inside(self, regime: Regime, among: np.ndarray) -> Inside:
        """Inner-fold errors of a split on some rows (numbers)."""
        folds = self._inner(regime, self._mask(among))
        self._fit(folds)
        errors: dict[str, list[np.ndarray]] = {name: [] for name in METHODS}
        for fold in folds:
            truth_ms = self.rows.latency_ms[fold.judged]
            predicted = self.predicted(fold)
            for name in METHODS:
                errors[name].append(predicted[name] / truth_ms)
        ratios = {name: np.concatenate(values) for name, values in errors.items()}
        return Inside(
            mape={name: float(100 * np.abs(values - 1).mean()) for name, values in ratios.items()},
            log_half_widths={name: conformal(np.abs(np.log(values))) for name, values in ratios.items()},
        )

    def predicted(self, fold: Fold) -> dict[str, np.ndarray]:
        """Method -> latencies of the judged rows, fitted on the learned ones."""
        self._fit([fold])
        model, rows = self._fitted[_key(fold)], self.rows.of(fold.judged)
        return {name: self._latency_ms(model, rows, name) for name in METHODS}

    def _fit(self, folds: Iterable[Fold]) -> None:
        """What is not fitted yet."""
        missing = {_key(fold): fold for fold in folds if _key(fold) not in self._fitted}
        tasks = [(self.rows.of(fold.learned),) for fold in missing.values()]
        self._fitted.update(zip(missing, run_tasks(fit_methods, tasks, progress=self.progress), strict=True))

    def _inner(self, regime: Regime, learned: np.ndarray) -> list[Fold]:
        """The split's folds inside what one of its folds learned from (mask, (rows,))."""
        among = np.flatnonzero(learned)
        return [
            Fold(self._mask(among[inner.learned]), self._mask(among[inner.judged]))
            for inner in folds_of(regime, self.rows.of(among))
        ]

    def _latency_ms(self, model: EstimateModel, rows: EstimateRows, method: str) -> np.ndarray:
        found = np.zeros(len(rows))
        for instance in rows.on:
            on = rows.instances == instance
            amounts = rows.amounts.of(on)
            if instance in model.costs:
                found[on] = model.measured_ms(amounts, instance, method)
            else:
                found[on] = self._reached_ms(model, amounts, instance, method)
        return found

    def _reached_ms(self, model: EstimateModel, amounts: StepAmounts, instance: str, method: str) -> np.ndarray:
        entry, costs = load_shipped()[instance], dict(model.costs)
        if self.sheet_only:
            log_speed = sheet_speed(costs, load_gpus().find(entry.gpu, entry.gpu_memory_gib))
        else:
            log_speed = benchmark_log_speed(costs, self.benchmark_ms[instance], entry.host)
        return reached_ms(model.known_steps(amounts, method), amounts, log_speed, host_named(entry.host))

    def _mask(self, rows: np.ndarray) -> np.ndarray:
        found = np.zeros(len(self.rows), bool)
        found[rows] = True
        return found


def _key(fold: Fold) -> bytes:
    return np.packbits(fold.learned).tobytes()


def default_method(judged: Mapping[Regime, Sequence[Judged]]) -> str:
    """The method that inner folds chose most often, splits weighted equally; validated rows are never used."""

    def votes(name: str) -> float:
        return sum(sum(fold.inside.best == name for fold in folds) / len(folds) for folds in judged.values())

    return max(METHODS, key=votes)


def conformal(errors: np.ndarray, level: float = LEVEL) -> float:
    """Quantile of absolute log errors on held-out rows, with the finite-sample correction of split conformal."""
    ordered = np.sort(errors)
    place = min(math.ceil((len(ordered) + 1) * level), len(ordered)) - 1
    return float(ordered[place])
