"""Accuracy on unprofiled GPUs: published tables, derived GPUs, and the report of `profet validate --transfer`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpus, load_gpus
from profet_core.latency import Estimate
from profet_core.transfer.estimate import estimate_gpus
from profet_core.transfer.law import StepLaw
from profet_core.transfer.model import DerivedLaw, TransferModel, derive, transfer_model
from profet_core.transfer.steps import AnchorSteps
from profet_core.transfer.targets import host_named
from profet_lab.classes.bank import class_bank
from profet_lab.classes.networks import STEPS
from profet_lab.measurements.published import DERIVED, T4, V100, load_epochs, published_ratios, published_steps
from profet_lab.measurements.tables import CASES, WORKLOAD, Measurements
from profet_lab.tasks import Progress
from profet_lab.transfer.derived_law import (
    BASE,
    ROUTES,
    corrected_held_out,
    corrected_without,
    derived_rows,
    fit_law,
    held_out_errors,
    predicted_ms,
    route_bias,
    route_ratios,
)
from profet_lab.transfer.leave_one_gpu_out import known_of
from profet_lab.transfer.step_law import Steps, all_steps, fit_step_law, median_steps, root_mean_square
from profet_lab.transfer.transfer_file import REFERENCE, benchmark_points, transfer_content
from profet_lab.validation.held_out_gpus import (
    fold_models,
    held_out_anchors,
    laws_held_out,
    other_gpus,
    plain_specs_log_sd,
    profiled_gpus,
)
from profet_lab.validation.judged import EnsembleLatencies, ensemble_latencies, figures, judged
from profet_lab.validation.memory import memory_report


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


#: A larger step that is predicted faster by more than this falls.
_NOTABLE = 0.05


def published_report(model: TransferModel, medians: Steps, folder: Path, gpus: Gpus) -> list[dict]:
    """One row a GPU and table: networks, bias and error of the transferred ratio, and misses of the interval, percent.

    Latencies on the profiled GPUs are the measured ones. The GPU's own figure in the table is left out of the fit.
    """
    ratios = published_ratios(folder)
    found = []
    for (gpu, table), rows in published_steps(folder).groupby(["gpu", "table"]):
        own = (ratios.gpu == gpu) & (ratios.table == table)
        judged = _without(model, ratios[~own], gpus) if own.any() else model
        errors = list(_errors(judged, medians, gpus, str(gpu), rows))
        if errors:
            away = np.array([error for error, _ in errors])
            inside = np.array([abs(error) <= half for error, half in errors])
            found.append(
                {
                    "gpu": str(gpu),
                    "table": str(table),
                    "networks": sorted(set(rows.network) & set(medians.architectures)),
                    "n": len(errors),
                    "bias": float(100 * (np.exp(away.mean()) - 1)),
                    "mape": float(100 * np.mean(np.abs(np.exp(away) - 1))),
                    "worst": float(100 * (np.exp(away[np.argmax(np.abs(away))]) - 1)),
                    "missed_90": float(100 * (1 - inside.mean())),
                    "median_interval_pct": float(100 * np.median([math.exp(half) - 1 for _, half in errors])),
                }
            )
    return found


def _without(model: TransferModel, ratios: pd.DataFrame, gpus: Gpus) -> TransferModel:
    """The model with its speeds fitted on these ratios alone."""
    specs, points, fp32_points = benchmark_points(ratios, model.step, model.reference, gpus)
    return replace(model, specs=specs, points=points, fp32_points=fp32_points)


def _errors(
    model: TransferModel, medians: Steps, gpus: Gpus, gpu: str, rows: pd.DataFrame
) -> Iterator[tuple[float, float]]:
    """Log error of each row's ratio from each anchor, and half the interval."""
    table, reference = medians.workloads, medians.latency_ms[model.reference]
    for anchor in medians.instances:
        found = _estimated(model, medians, gpus, gpu, anchor)
        for row in rows.to_dict("records"):
            same = np.flatnonzero((table.model == row["network"]) & (table.pixels == row["pixels"]))
            if len(same):
                near = same[np.argmin(np.abs(np.log(table.batch_size.to_numpy()[same] / row["batch_size"])))]
                ratio = found.latency_ms[near] / reference[near]
                yield math.log(ratio) - row["log_ratio"], float(found.log_half_width[near])


def _estimated(model: TransferModel, medians: Steps, gpus: Gpus, gpu: str, anchor: str) -> Estimate:
    others = {name: Estimate.exact(values) for name, values in medians.latency_ms.items() if name != anchor}
    recorded = AnchorSteps(anchor, medians.with_latency[anchor], medians.latency_ms[anchor])
    placed = (gpus[gpu], host_named("", gpus[gpu].compute_capability))
    return estimate_gpus(model, recorded, others, [placed], tf32=True)[placed]


def self_checks(model: TransferModel, medians: Steps, gpus: Gpus) -> list[dict]:
    """One row a GPU with a published point: what must hold without any truth, percent.

    own_point : the benchmark step's predicted speed over the published one's, less 1, mean of the anchors. point_sd :
    the point's own noise. falls_batch, falls_pixels : larger steps that are predicted faster by more than 5 %.
    """
    benchmark = int(np.flatnonzero(medians.benchmark)[0])
    reference = medians.latency_ms[model.reference]
    found = []
    for name, point in model.points.items():
        if name in model.derived or name not in gpus:
            continue
        rows = []
        for anchor in medians.instances:
            latency_ms = _estimated(model, medians, gpus, name, anchor).latency_ms
            rows.append(
                {
                    "own_point": reference[benchmark] / latency_ms[benchmark] / math.exp(point.published) - 1,
                    "falls_batch": _falls(medians, latency_ms, "batch_size", "pixels"),
                    "falls_pixels": _falls(medians, latency_ms, "pixels", "batch_size"),
                }
            )
        means = {key: float(100 * np.mean([row[key] for row in rows])) for key in rows[0]}
        found.append({"gpu": name, "point_sd": float(100 * (math.exp(point.log_sd) - 1)), **means})
    return found


def _falls(medians: Steps, latency_ms: np.ndarray, own: str, other: str) -> float:
    table = medians.workloads.assign(log_ms=np.log(latency_ms)).sort_values(own)
    steps = table.groupby(["model", other])["log_ms"].diff().dropna()
    return float((steps < -_NOTABLE).mean())


def transfer_report(
    measurements: Measurements, folder: Path, *, seed: int = 0, steps: int = STEPS, progress: Progress | None = None
) -> dict:
    """The seed; GPUs held out as target and as anchor; published tables; derived GPUs; memory fit.

    steps : of each network's training.
    """
    gpus, bank = load_gpus(), class_bank(measurements)
    every = all_steps(bank, measurements.workloads)
    medians = median_steps(every)
    # Every run as the default method predicts it that never saw the architecture.
    ensemble = ensemble_latencies(bank, seed=seed, steps=steps, progress=progress)
    median_ensemble = ensemble.medians(every)
    law = fit_step_law(medians, medians.instances, np.ones(len(medians.workloads), bool))
    points = benchmark_points(published_ratios(folder), law, REFERENCE, gpus)[1]
    sheet_log_sd = plain_specs_log_sd(points, law, REFERENCE, gpus)
    model = transfer_model(transfer_content(measurements, folder), gpus)
    epochs = load_epochs(folder, measurements.all_latencies)
    corrected = epochs.assign(step_ms=corrected_held_out(epochs))
    models = fold_models(bank, seed=seed, steps=steps, progress=progress)
    return {
        "seed": seed,
        "left_out_gpus": {
            **profiled_gpus(every, medians, ensemble, sheet_log_sd),
            "other_gpus": other_gpus(medians, median_ensemble, corrected, points, REFERENCE, sheet_log_sd),
        },
        "left_out_anchors": held_out_anchors(models, every, medians),
        "published": {
            "tables": published_report(model, medians, folder, gpus),
            "self_checks": self_checks(model, medians, gpus),
        },
        "derived": {
            "routes": route_report(epochs),
            "gpus": derived_report(epochs, medians, median_ensemble),
        },
        "memory": memory_report(measurements, folder),
    }
