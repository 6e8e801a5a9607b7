"""Predictions beside measurements and their figures; out-of-fold latencies of the default method, transfer's input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.latency import Estimate, log_sd_of
from profet_lab.class_bank import ClassBank
from profet_lab.class_folds import LEVEL, OutOfFold, Weights, least_error, one_held_out, predict_cases
from profet_lab.measurements.tables import CASES, WORKLOAD, Pair, pairs
from profet_lab.tasks import Progress
from profet_lab.transfer.leave_one_gpu_out import KnownLatencies
from profet_lab.transfer.step_model import Steps


def judged(
    predicted_ms: np.ndarray, true_ms: np.ndarray, log_half_width: object = 0.0, **names: object
) -> pd.DataFrame:
    """One row a prediction, milliseconds, with its 90 % interval; `names` : more columns."""
    columns = {"predicted_ms": predicted_ms, "true_ms": true_ms, "log_half_width": log_half_width, **names}
    return pd.DataFrame(columns)


def judged_estimate(found: Estimate, true_ms: np.ndarray, **names: object) -> pd.DataFrame:
    """The same of an estimate; rows without a measurement are left out."""
    rows = judged(found.latency_ms, true_ms, found.log_half_width, **names)
    return rows[np.isfinite(true_ms)]


def mape(rows: pd.DataFrame) -> float:
    """Mean absolute percentage error."""
    return float(100 * (rows["predicted_ms"] / rows["true_ms"] - 1).abs().mean())


def log_errors(rows: pd.DataFrame) -> np.ndarray:
    """Predicted over measured, in the logarithm, (rows,)."""
    return np.log((rows["predicted_ms"] / rows["true_ms"]).to_numpy(float))


def figures(rows: pd.DataFrame, key: str = "{}") -> dict[str, float]:
    """Bias, error, share outside the interval and its median half-width, percent; `key` : format of their names."""
    away, half = log_errors(rows), rows["log_half_width"].to_numpy(float)
    return {
        key.format("bias"): float(100 * np.expm1(away.mean())),
        key.format("mape"): mape(rows),
        key.format("missed_90"): float(100 * np.mean(np.abs(away) > half)),
        key.format("median_interval_pct"): float(100 * np.median(np.expm1(half))),
    }


def over(rows: list[dict], how: str, keys: str = "") -> dict[str, float]:
    """`how` ("mean" or "max") of every figure of several directions whose name holds `keys`."""
    table = pd.DataFrame(rows).drop(columns=["anchor", "target", "n"])
    table = table[[name for name in table if keys in str(name)]]
    return {str(name): float(value) for name, value in table.agg(how).items()}


@dataclass(frozen=True)
class EnsembleLatencies:
    """Out-of-fold predictions of the default method.

    latency_ms : (anchor, target, anchor's latency known) -> (rows,).
    log_half_width : (anchor, target, anchor's latency known, architecture) -> 90 % of the log errors of all other
        architectures.
    """

    latency_ms: Mapping[tuple[str, str, bool], np.ndarray]
    log_half_width: Mapping[tuple[str, str, bool, str], float]

    def known(self, architecture: str) -> KnownLatencies:
        """Latencies with the half-widths for this architecture."""

        def known(anchor: str, instance: str, latency_known: bool) -> Estimate:
            values = self.latency_ms[anchor, instance, latency_known]
            half_width = self.log_half_width[anchor, instance, latency_known, architecture]
            return Estimate(latency_ms=values, log_sd=np.full(values.shape, log_sd_of(half_width)))

        return known

    def medians(self, steps: Steps) -> EnsembleLatencies:
        """One row a workload, as `step_model.median_steps` has them."""
        index = steps.workloads.groupby(WORKLOAD).ngroup().to_numpy()
        found = {key: pd.Series(values).groupby(index).median().to_numpy() for key, values in self.latency_ms.items()}
        return EnsembleLatencies(found, self.log_half_width)


def ensemble_latencies(
    bank: ClassBank, *, seed: int, steps: int, progress: Progress | None = None, cases: Iterable[bool] = tuple(CASES)
) -> EnsembleLatencies:
    """Fit the default method once an architecture and pair, with and without the anchor's latency (`cases`).

    The members' weights come from the errors on all other architectures, whose models had seen the one that is judged.
    """
    wanted = pairs(bank.instances)
    latency_ms: dict[tuple[str, str, bool], np.ndarray] = {}
    half_widths: dict[tuple[str, str, bool, str], float] = {}
    known_latencies = list(cases)
    folds = [one_held_out(bank.architectures, wanted, known) for known in known_latencies]
    predicted = predict_cases(bank, folds, seed=seed, steps=steps, progress=progress)
    for latency_known, out_of_fold in zip(known_latencies, predicted, strict=True):
        weights = weights_by_others(bank, wanted, out_of_fold)
        for anchor, target in wanted:
            values = out_of_fold.all_ensemble_ms((anchor, target), weights)
            latency_ms[anchor, target, latency_known] = values
            errors = np.abs(np.log(values / bank.latency_ms[target]))
            for name, rows in out_of_fold.rows.items():
                half_widths[anchor, target, latency_known, name] = float(np.quantile(errors[~rows], LEVEL))
    return EnsembleLatencies(latency_ms, half_widths)


def weights_by_others(bank: ClassBank, wanted: Sequence[Pair], out_of_fold: OutOfFold) -> dict[str, Weights]:
    """Architecture -> the weights that err least on all others."""
    errors_of = {name: out_of_fold.summed_errors(bank, wanted, name) for name in out_of_fold.rows}
    return {name: least_error(errors for other, errors in errors_of.items() if other != name) for name in errors_of}
