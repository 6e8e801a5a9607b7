"""Validate estimates without a profile on the paper's four splits and more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from profet_core.from_layers.model import METHODS, Regime
from profet_lab.estimate.judge import Judge, Judged, default_method
from profet_lab.estimate.rows import EstimateRows, estimate_rows
from profet_lab.measurements.tables import Measurements
from profet_lab.progress import Progress
from profet_lab.validation.memory import layers_known

#: Mean errors in the paper, percent, inside and outside of its training data (Lattuada et al. 2022, after
#: its abstract); it doesn't give unseen architectures.
PAPER_PCT = 11.0
IN_PAPER = (Regime.INTERPOLATION, Regime.LARGER_BATCH, Regime.DEEPER, Regime.UNSEEN_GPU)


def estimate_report(measurements: Measurements, folder: Path, progress: Progress | None = None) -> dict:
    """Validate every split on held-out data.

    Returns
    -------
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
