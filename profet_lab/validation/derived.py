"""Accuracy of the derived targets: the source's correction, the law and the served route, networks left out."""

from __future__ import annotations

import numpy as np
import pandas as pd

from profet_core.transfer.derived import DerivedLaw, derive, relative_half_width
from profet_core.transfer.known import AnchorSteps, Latencies, known_steps
from profet_lab.measurements.epoch_times import (
    DERIVED,
    WORKLOAD,
    corrected_left_out,
    corrected_without,
    route_ratios,
)
from profet_lab.transfer.derived_fit import BASE, derived_rows, fit_law, left_out_errors, predicted_ms, route_bias
from profet_lab.transfer.steps import Steps
from profet_lab.validation.gpus import LeftOutNetworks, laws_left_out

#: g5.xlarge is cheaper than g4dn.xlarge a step below this ratio of latencies (prices of 2026).
BREAK_EVEN = 0.526 / 1.006


def route_report(epochs: pd.DataFrame) -> dict:
    """T4 -> V100 and back through the source's ratios against PROFET's own measurement, mean error in percent.

    "corrected" saw neither the network nor, in the last two, one of the GPUs.
    """
    settings = {
        "raw": epochs.raw_ms.to_numpy(),
        "corrected": corrected_left_out(epochs),
        "corrected_from_t4_alone": corrected_left_out(epochs, ["g4dn"]),
        "corrected_from_v100_alone": corrected_left_out(epochs, ["p3"]),
    }
    report: dict = {}
    for name, step_ms in settings.items():
        routes = route_ratios(epochs, step_ms)
        errors = (100 * (routes.drop(columns="model") - 1)).abs()
        report[name] = {
            "n": len(routes),
            **errors.mean().to_dict(),
            "median_ratio_t4_to_v100": float(routes["T4 -> V100"].median()),
        }
        if name == "corrected":
            report["by_model"] = {
                str(model): rows.mean().to_dict() for model, rows in errors.groupby(routes.model.to_numpy())
            }
    return report


def derived_report(epochs: pd.DataFrame, medians: Steps, networks: LeftOutNetworks) -> dict:
    """Each derived GPU: the law with latencies known, and the served route from each anchor, networks left out."""
    left_out_ms = corrected_left_out(epochs)
    report = {}
    for source, gpu in DERIVED.items():
        judged = derived_rows(epochs, source, left_out_ms)
        laws = {str(name): _law_without(epochs, source, str(name)) for name in judged.model.unique()}
        known_ms = np.concatenate(
            [predicted_ms(laws[name], part) for name, part in judged.groupby("model", sort=False)]
        )
        order = np.concatenate([part.index.to_numpy() for _, part in judged.groupby("model", sort=False)])
        errors = 100 * np.abs(known_ms / judged.step_ms.to_numpy()[order] - 1)
        served = [_served(judged, laws, medians, networks, anchor, gpu) for anchor in medians.instances]
        report[gpu] = {
            "n": len(judged),
            "median_ratio_to_t4": float((judged.step_ms / judged[BASE]).median()),
            "law": float(errors.mean()),
            "law_by_model": {
                str(name): float(values.mean())
                for name, values in pd.Series(errors).groupby(judged.model.to_numpy()[order])
            },
            "served": served,
            "mean_with_latency": float(np.mean([row["mape_with_latency"] for row in served])),
            "mean_without_latency": float(np.mean([row["mape_without_latency"] for row in served])),
        }
    return report


def _law_without(epochs: pd.DataFrame, source: str, name: str) -> DerivedLaw:
    """The law and its spread as they are where nobody ever saw this network, the correction included."""
    rows = derived_rows(epochs, source, corrected_without(epochs, [name]))
    errors = left_out_errors(epochs, source, beside=[name])
    return fit_law(
        rows[rows.model != name],
        log_sd=float(np.sqrt(np.mean(errors**2))),
        bias_log_sd=route_bias(epochs[epochs.model != name]),
    )


def _served(
    judged: pd.DataFrame,
    laws: dict[str, DerivedLaw],
    medians: Steps,
    networks: LeftOutNetworks,
    anchor: str,
    gpu: str,
) -> dict:
    """From a profile on one anchor through predicted T4 and V100 latencies; beside it claims against break-even."""
    steps = laws_left_out(medians, medians.instances)
    merged = medians.workloads.reset_index().merge(judged[[*WORKLOAD, "step_ms"]], on=WORKLOAD)
    row: dict = {"anchor": anchor, "n": len(merged)}
    for given, case in ((True, "with_latency"), (False, "without_latency")):
        parts = (medians.with_latency if given else medians.without_latency)[anchor]
        errors, missed, widths, claims, right = [], [], [], [], []
        for name, part in merged.groupby("model"):
            law, rows = laws[str(name)], part["index"].to_numpy()
            others = {
                other: Latencies(
                    networks.latency_ms[anchor, other, given],
                    np.full(len(medians.workloads), networks.log_half_width[anchor, other, given, str(name)]),
                )
                for other in medians.instances
                if other != anchor
            }
            recorded = AnchorSteps(anchor, parts, medians.latency_ms[anchor] if given else None)
            known = known_steps(steps[str(name)], recorded, others).latencies
            found = derive(law, known)
            found_ms, half = found.latency_ms[rows], found.log_half_width[rows]
            away = np.log(found_ms / known[BASE].latency_ms[rows]) - np.log(BREAK_EVEN)
            claimed = np.abs(away) > relative_half_width(law, known)[rows]
            truth = np.log(part.step_ms.to_numpy() / medians.latency_ms[BASE][rows]) - np.log(BREAK_EVEN)
            logs = np.abs(np.log(found_ms / part.step_ms.to_numpy()))
            errors.append(np.abs(found_ms / part.step_ms.to_numpy() - 1))
            missed.append(logs > half)
            widths.append(np.exp(half) - 1)
            claims.append(claimed)
            right.append(np.sign(away) == np.sign(truth))
        claims, right = np.concatenate(claims), np.concatenate(right)
        row[f"mape_{case}"] = float(100 * np.concatenate(errors).mean())
        row[f"missed_90_{case}"] = float(100 * np.concatenate(missed).mean())
        row[f"median_interval_pct_{case}"] = float(100 * np.median(np.concatenate(widths)))
        if gpu == "A10G":
            row[f"claims_pct_{case}"] = float(100 * claims.mean())
            row[f"claims_right_pct_{case}"] = float(100 * right[claims].mean()) if claims.any() else None
    return row
