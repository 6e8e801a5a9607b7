"""Leave-one-architecture-out accuracy on derived GPUs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from profet_core.transfer.law import StepLaw
from profet_core.transfer.model import DerivedLaw, derive
from profet_lab.cases import CASES
from profet_lab.measurements.epoch_times import DERIVED, T4, V100
from profet_lab.measurements.tables import WORKLOAD
from profet_lab.transfer.derived_law import BASE, derived_rows, fit_law, held_out_errors, predicted_ms, route_bias
from profet_lab.transfer.epoch_correction import ROUTES, corrected_held_out, corrected_without, route_ratios
from profet_lab.transfer.leave_one_gpu_out import known_of
from profet_lab.transfer.log_errors import root_mean_square
from profet_lab.transfer.steps import Steps
from profet_lab.validation.ensemble_latencies import EnsembleLatencies
from profet_lab.validation.held_out_gpus import laws_held_out
from profet_lab.validation.judged import figures, judged


def route_report(epochs: pd.DataFrame) -> dict:
    """T4 -> V100 and back through the source's ratios against PROFET's own measurement, mean error in percent.

    "corrected" saw neither the network nor, in the last two, one of the GPUs.
    """
    settings = {
        "raw": epochs.raw_ms.to_numpy(),
        "corrected": corrected_held_out(epochs),
        "corrected_from_t4_alone": corrected_held_out(epochs, [T4]),
        "corrected_from_v100_alone": corrected_held_out(epochs, [V100]),
    }
    report: dict = {}
    for name, step_ms in settings.items():
        routes = route_ratios(epochs, step_ms)
        errors = (100 * (routes.drop(columns="model") - 1)).abs()
        report[name] = {
            "n": len(routes),
            **errors.mean().to_dict(),
            "median_ratio_t4_to_v100": float(routes[ROUTES[0]].median()),
        }
        if name == "corrected":
            report["by_model"] = {
                str(model): rows.mean().to_dict() for model, rows in errors.groupby(routes.model.to_numpy())
            }
    return report


def derived_report(epochs: pd.DataFrame, medians: Steps, ensemble: EnsembleLatencies) -> dict:
    """Errors on each derived GPU, networks held out: latencies known, and as served from each anchor.

    `ensemble` has one row a workload, as `medians` has.
    """
    corrected_ms, step_laws = corrected_held_out(epochs), laws_held_out(medians, medians.instances)
    report = {}
    for source, gpu in DERIVED.items():
        judged = derived_rows(epochs, source, corrected_ms)
        laws = {str(name): _law_without(epochs, source, str(name)) for name in judged.model.unique()}
        errors = _law_errors(judged, laws)
        served = [_served(judged, laws, step_laws, medians, ensemble, anchor) for anchor in medians.instances]
        report[gpu] = {
            "n": len(judged),
            "median_ratio_to_t4": float((judged.step_ms / judged[BASE]).median()),
            "law": float(errors.to_numpy().mean()),
            "law_by_model": {str(name): float(values.mean()) for name, values in errors.groupby(level=0)},
            "served": served,
            **{f"mean_{case}": float(np.mean([row[f"mape_{case}"] for row in served])) for case in CASES.values()},
        }
    return report


def _law_without(epochs: pd.DataFrame, source: str, name: str) -> DerivedLaw:
    """The model and its spread with this network held out, also from the correction."""
    rows = derived_rows(epochs, source, corrected_without(epochs, [name]))
    return fit_law(
        rows[rows.model != name],
        log_sd=root_mean_square(held_out_errors(epochs, source, without=[name])),
        bias_log_sd=route_bias(epochs[epochs.model != name]),
    )


def _law_errors(rows: pd.DataFrame, laws: Mapping[str, DerivedLaw]) -> pd.Series:
    """Error of each row by the analytical model of its network, T4 and V100 known, percent; indexed by network."""
    found = [
        pd.Series(100 * np.abs(predicted_ms(laws[str(name)], part) / part.step_ms.to_numpy() - 1), part.model)
        for name, part in rows.groupby("model", sort=False)
    ]
    return pd.concat(found)


def _served(
    rows: pd.DataFrame,
    laws: Mapping[str, DerivedLaw],
    step_laws: Mapping[str, StepLaw],
    medians: Steps,
    ensemble: EnsembleLatencies,
    anchor: str,
) -> dict:
    """Errors from one anchor through predicted T4 and V100 latencies."""
    rows = medians.workloads.reset_index().merge(rows[[*WORKLOAD, "step_ms"]], on=WORKLOAD)
    report: dict = {"anchor": anchor, "n": len(rows)}
    for known, case in CASES.items():
        parts = []
        for name, part in rows.groupby("model"):
            step = known_of(step_laws[str(name)], medians, anchor, ensemble.known(str(name)), known)
            served = derive(laws[str(name)], step.latencies)
            numbers = part["index"].to_numpy()
            half = served.log_half_width[numbers]
            parts.append(judged(served.latency_ms[numbers], part.step_ms.to_numpy(), half))
        found = pd.concat(parts)
        measured = figures(found, f"{{}}_{case}")
        report |= {key: value for key, value in measured.items() if not key.startswith("bias")}
    return report
