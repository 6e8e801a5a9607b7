"""Judges what answers without a profile: the paper's four judgements, and what it doesn't give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from profet_core.estimate.model import METHODS
from profet_core.estimate.regimes import Regime
from profet_lab.estimate.fit import JUDGED
from profet_lab.estimate.judge import Judge, Judged
from profet_lab.estimate.rows import EstimateRows, estimate_rows
from profet_lab.measurements.tables import Measurements
from profet_lab.progress import Progress
from profet_lab.validation.memory import layers_known

#: What the paper reports on average, percent, inside and outside of what it learned from (Lattuada et al. 2022, after
#: its abstract); it doesn't give unseen architectures.
PAPER_PCT = 11.0
IN_PAPER = (Regime.INTERPOLATION, Regime.LARGER_BATCH, Regime.DEEPER, Regime.UNSEEN_GPU)


def estimate_report(measurements: Measurements, folder: Path, progress: Progress | None = None) -> dict:
    """Every regime, judged by leaving out what it is about.

    Returns
    -------
    `rows`, `networks` : how much was measured.
    `regimes` : regime -> `n`, `mape` (percent, by method), `served_mape` (of what was chosen without the judged rows),
        `coverage_90`, `median_half_width_pct`, `chosen` (method -> folds), `by_network`, `by_instance` (served,
        percent), `paper_pct` (None where it gives none).
    `sheet_only` : an unseen GPU of which the data sheet alone is known: `mape`, by instance and of all.
    `memory` : does it fit, by counts, one architecture left out.
    """
    rows = estimate_rows(measurements.all_latencies)
    judge = Judge(rows, progress)
    return {
        "rows": len(rows),
        "networks": len(set(rows.networks.tolist())),
        "regimes": {str(regime): regime_figures(regime, rows, judge.judged(regime)) for regime in Regime},
        "sheet_only": _sheet_only(rows, progress),
        "memory": layers_known(measurements, folder),
    }


def regime_figures(regime: Regime, rows: EstimateRows, folds: Sequence[Judged]) -> dict:
    """One regime's part of the report."""
    numbers = np.concatenate([fold.rows for fold in folds])
    truth_ms = rows.latency_ms[numbers]
    by_method = {name: np.concatenate([fold.latency_ms[name] for fold in folds]) for name in JUDGED}
    served_ms = np.concatenate([fold.latency_ms[fold.rule.method] for fold in folds])
    half = np.concatenate([np.full(len(fold.rows), fold.rule.log_half_width) for fold in folds])
    errors = 100 * np.abs(served_ms / truth_ms - 1)
    return {
        "n": len(numbers),
        "paper_pct": PAPER_PCT if regime in IN_PAPER else None,
        "mape": {name: mape(values, truth_ms) for name, values in by_method.items()},
        "served_mape": float(errors.mean()),
        "coverage_90": float(100 * np.mean(np.abs(np.log(served_ms / truth_ms)) <= half)),
        "median_half_width_pct": float(100 * (np.exp(np.median(half)) - 1)),
        "chosen": dict(Counter(fold.rule.method for fold in folds)),
        "by_network": _means(errors, rows.networks[numbers]),
        "by_instance": _means(errors, rows.instances[numbers]),
    }


def _sheet_only(rows: EstimateRows, progress: Progress | None) -> dict:
    """The same folds of GPUs without the benchmark's latency."""
    folds = Judge(rows, progress, sheet_only=True).judged(Regime.UNSEEN_GPU)
    figures = regime_figures(Regime.UNSEEN_GPU, rows, folds)
    return {"mape": {name: figures["mape"][name] for name in METHODS}, "by_instance": figures["by_instance"]}


def mape(latency_ms: np.ndarray, truth_ms: np.ndarray) -> float:
    """Mean absolute percentage error."""
    return float(100 * np.mean(np.abs(latency_ms / truth_ms - 1)))


def _means(errors: np.ndarray, names: np.ndarray) -> dict[str, float]:
    return {name: float(errors[names == name].mean()) for name in sorted(set(names.tolist()))}
