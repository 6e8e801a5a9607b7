"""Validate estimates without a profile: the paper's splits and more, each on held-out data, and published speeds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog import load_gpus, load_shipped
from profet_core.errors import InputError
from profet_core.from_layers.costs import StepAmounts, reached_ms
from profet_core.from_layers.estimate import Step, estimated_step
from profet_core.from_layers.model import METHODS, EstimateModel, Regime
from profet_core.layers.networks import counts_of, network_name
from profet_core.transfer.model import TransferModel
from profet_core.transfer.targets import host_named
from profet_core.units import MS_PER_S
from profet_lab.estimate.fit import benchmark_log_speed, fit_methods, sheet_speed
from profet_lab.estimate.rows import EstimateRows, Fold, estimate_rows, folds_of
from profet_lab.measurements.published import THROUGHPUT_FILE
from profet_lab.measurements.tables import Measurements
from profet_lab.tasks import Progress, run_tasks
from profet_lab.validation.memory import layers_known

LEVEL = 0.9


@dataclass(frozen=True)
class Inside:
    """Inner-fold errors of each method for one split.

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

    rows : numbers of the rows. latency_ms : method -> predicted, (rows,). inside : found without them.
    """

    rows: np.ndarray
    latency_ms: Mapping[str, np.ndarray]
    inside: Inside


@dataclass
class Judge:
    """Fits on parts of the rows, each part once.

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


#: Mean errors in the paper, percent, inside and outside of its training data (Lattuada et al. 2022, after
#: its abstract); it doesn't give unseen architectures.
PAPER_PCT = 11.0
IN_PAPER = (Regime.INTERPOLATION, Regime.LARGER_BATCH, Regime.DEEPER, Regime.UNSEEN_GPU)


def estimate_report(measurements: Measurements, folder: Path, progress: Progress | None = None) -> dict:
    """Validate every split on held-out data.

    Returns:
    `rows`, `networks` : how much was measured.
    `default` : the method that inner folds chose most often.
    `regimes` : split -> `n`; `mape` (percent), `coverage_90` and `half_width_pct` (median over folds) by method, the
        widths from inner folds; `chosen_mape` of the methods that inner folds chose, `chosen` (method -> folds);
        `by_network`, `by_instance` (of the default, percent); `paper_pct` (None where it gives none).
    `sheet_only` : an unseen GPU of which only the specs are known: `mape`, by instance and of all.
    `memory` : does it fit, by counts, one architecture held out.
    """
    rows = estimate_rows(measurements.all_latencies)
    judge = Judge(rows, progress)
    folds = {regime: judge.judged(regime) for regime in Regime}
    default = default_method(folds)
    return {
        "default": default,
        "rows": len(rows),
        "networks": len(set(rows.networks.tolist())),
        "regimes": {str(regime): regime_figures(regime, rows, found, default) for regime, found in folds.items()},
        "sheet_only": _sheet_only(rows, default, progress),
        "memory": layers_known(measurements, folder),
    }


def regime_figures(regime: Regime, rows: EstimateRows, folds: Sequence[Judged], default: str) -> dict:
    """One split's part of the report."""
    numbers = np.concatenate([fold.rows for fold in folds])
    truth_ms = rows.latency_ms[numbers]
    by_method = {name: np.concatenate([fold.latency_ms[name] for fold in folds]) for name in METHODS}
    chosen_ms = np.concatenate([fold.latency_ms[fold.inside.best] for fold in folds])
    errors = 100 * np.abs(by_method[default] / truth_ms - 1)
    halves = {
        name: np.concatenate([np.full(len(fold.rows), fold.inside.log_half_widths[name]) for fold in folds])
        for name in METHODS
    }
    return {
        "n": len(numbers),
        "paper_pct": PAPER_PCT if regime in IN_PAPER else None,
        "mape": {name: mape(values, truth_ms) for name, values in by_method.items()},
        "coverage_90": {name: coverage(by_method[name], truth_ms, half) for name, half in halves.items()},
        "half_width_pct": {name: float(100 * (np.exp(np.median(half)) - 1)) for name, half in halves.items()},
        "chosen_mape": mape(chosen_ms, truth_ms),
        "chosen": dict(Counter(fold.inside.best for fold in folds)),
        "by_network": _means(errors, rows.networks[numbers]),
        "by_instance": _means(errors, rows.instances[numbers]),
    }


def _sheet_only(rows: EstimateRows, default: str, progress: Progress | None) -> dict:
    """The same folds of GPUs without the benchmark's latency."""
    folds = Judge(rows, progress, sheet_only=True).judged(Regime.UNSEEN_GPU)
    figures = regime_figures(Regime.UNSEEN_GPU, rows, folds, default)
    return {"mape": figures["mape"], "by_instance": figures["by_instance"]}


def mape(latency_ms: np.ndarray, truth_ms: np.ndarray) -> float:
    """Mean absolute percentage error."""
    return float(100 * np.mean(np.abs(latency_ms / truth_ms - 1)))


def coverage(latency_ms: np.ndarray, truth_ms: np.ndarray, log_half_width: np.ndarray) -> float:
    """Share of the intervals that held the truth, percent."""
    return float(100 * np.mean(np.abs(np.log(latency_ms / truth_ms)) <= log_half_width))


def _means(errors: np.ndarray, names: np.ndarray) -> dict[str, float]:
    return {name: float(errors[names == name].mean()) for name in sorted(set(names.tolist()))}


#: GPU speeds are inferred from published ResNet-50 speeds, so it can't check them.
BENCHMARK = "ResNet50"
#: What tables call a network that is another one here: theirs is the smaller AlexNet of 2014.
_NAMED = {"AlexNet": "AlexNet (2014)"}
_PRECISIONS = ("fp32", "tf32", "fp32-inferred")
_CLASSES = 1_000


@dataclass(frozen=True, slots=True)
class PublishedStep:
    """One published step on one GPU, milliseconds, and what is estimated of it."""

    gpu: str
    network: str
    latency_ms: float
    estimated_ms: float
    low_ms: float
    high_ms: float


def published_steps(model: EstimateModel, transfer: TransferModel, folder: Path) -> list[PublishedStep]:
    """Every published FP32 or TF32 step on one GPU of a network and a GPU that are known here, but ResNet-50's."""
    table = pd.read_csv(folder / THROUGHPUT_FILE).dropna(subset=["batch_size", "pixels", "images_per_s"])
    table = table[(table.gpus == 1) & table.precision.isin(_PRECISIONS) & (table.network != BENCHMARK)]
    return list(_estimated(model, transfer, table))


def _estimated(model: EstimateModel, transfer: TransferModel, table: pd.DataFrame) -> Iterator[PublishedStep]:
    for row in table.to_dict("records"):
        try:
            gpu = transfer.gpus.find(row["gpu"], row["memory_gib"])
            name = network_name(_NAMED.get(row["network"], row["network"]))
            network = counts_of(name, int(row["pixels"]), _CLASSES)
        except InputError:
            continue
        batch_size, tf32 = int(row["batch_size"]), row["precision"] != "fp32"
        found = estimated_step(
            model, transfer, Step(network, name, batch_size, tf32=tf32), (gpu, host_named("", gpu.compute_capability))
        )
        interval = found.interval_at()
        if interval is None:
            continue
        latency_ms = batch_size / row["images_per_s"] * MS_PER_S
        yield PublishedStep(gpu.name, name, latency_ms, found.latency_ms, interval.low_ms, interval.high_ms)


def published_report(model: EstimateModel, transfer: TransferModel, folder: Path) -> dict:
    """Errors of the default method: `all`, `by_gpu`, `by_network`; each has `n`, `mape`, `bias` (percent, positive
    where the estimate is the longer) and `coverage_90`."""
    steps = published_steps(model, transfer, folder)
    by_gpu, by_network = ({getattr(one, key) for one in steps} for key in ("gpu", "network"))
    return {
        "all": _figures(steps),
        "by_gpu": {name: _figures([one for one in steps if one.gpu == name]) for name in sorted(by_gpu)},
        "by_network": {name: _figures([one for one in steps if one.network == name]) for name in sorted(by_network)},
    }


def _figures(steps: list[PublishedStep]) -> dict:
    ratios = np.array([one.estimated_ms / one.latency_ms for one in steps])
    held = [one.low_ms <= one.latency_ms <= one.high_ms for one in steps]
    return {
        "n": len(steps),
        "mape": float(100 * np.abs(ratios - 1).mean()),
        "bias": float(100 * (np.exp(np.log(ratios).mean()) - 1)),
        "coverage_90": float(100 * np.mean(held)),
    }
