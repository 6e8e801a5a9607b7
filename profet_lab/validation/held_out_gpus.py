"""Transfer accuracy on held-out GPUs, including A10G and P100 by another source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpus, load_gpus
from profet_core.latency import Estimate
from profet_core.transfer.law import StepLaw
from profet_core.transfer.model import BenchmarkPoint
from profet_core.transfer.targets import host_named
from profet_lab.cases import CASES, WITH_LATENCY
from profet_lab.measurements.epoch_times import DERIVED
from profet_lab.measurements.tables import WORKLOAD
from profet_lab.tasks import run_tasks
from profet_lab.transfer.leave_one_gpu_out import (
    TargetGpu,
    known_of,
    plain_specs_log_speed,
    predict_target,
    profiled_target,
    spread,
    target_of,
)
from profet_lab.transfer.log_errors import root_mean_square
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import BENCHMARK, Steps
from profet_lab.validation.ensemble_latencies import EnsembleLatencies
from profet_lab.validation.judged import figures, judged, judged_estimate, mape, over

#: Of the held-out GPU: what is known, and the standard deviations that come to its own error.
Way = tuple[TargetGpu, Sequence[float]]
#: Prefix of the figures where only the specs are known.
_SHEET_ONLY = "sheet_only_"


def laws_held_out(medians: Steps, instances: Sequence[str]) -> dict[str, StepLaw]:
    """One analytical model an architecture held out, fitted on `instances` alone."""
    return {
        str(name): fit_step_law(medians, instances, medians.architectures != name)
        for name in np.unique(medians.architectures)
    }


class _Fitted:
    """Everything fitted on some instances alone, once an architecture held out."""

    def __init__(self, medians: Steps, instances: Sequence[str]) -> None:
        self.medians = medians
        self.laws = laws_held_out(medians, instances)
        self.spreads = {name: spread(medians, instances, medians.architectures != name) for name in self.laws}

    def predict(self, steps: Steps, ensemble: EnsembleLatencies, anchor: str, way: Way, known: bool) -> Estimate:
        """Out-of-fold predictions for every row: neither GPU nor architecture seen, but for the benchmark's point."""
        target, more = way
        latency_ms, log_sds = np.empty(len(steps.workloads)), np.empty(len(steps.workloads))
        for name, law in self.laws.items():
            rows = steps.architectures == name
            there = target_of(law, self.medians, target, self.spreads[name].log_sd(*more))
            found = predict_target(law, known_of(law, steps, anchor, ensemble.known(name), known), there)
            latency_ms[rows], log_sds[rows] = found.latency_ms[rows], found.log_sd[rows]
        return Estimate(latency_ms=latency_ms, log_sd=log_sds)

    def judged(
        self,
        steps: Steps,
        ensemble: EnsembleLatencies,
        anchor: str,
        ways: Mapping[str, Way],
        true_ms: np.ndarray,
        cases: Iterable[bool],
    ) -> dict[str, pd.DataFrame]:
        """Format of the figures' names -> predictions from one anchor; `ways` : by prefix of these names."""
        return {
            f"{prefix}{{}}_{CASES[known]}": judged_estimate(
                self.predict(steps, ensemble, anchor, way, known), true_ms, model=steps.architectures
            )
            for prefix, way in ways.items()
            for known in cases
        }


def _direction(anchor: str, target: str, found: Mapping[str, pd.DataFrame]) -> dict:
    row: dict = {"anchor": anchor, "target": target, "n": len(next(iter(found.values())))}
    for key, rows in found.items():
        others = rows[rows["model"] != BENCHMARK[0]]
        row |= {**figures(rows, key), key.format("mape_without_resnet50"): mape(others)}
    return row


def plain_specs_log_sd(points: Mapping[str, BenchmarkPoint], law: StepLaw, reference: str, gpus: Gpus) -> float:
    """How far `plain_specs_log_speed` misses published and profiled GPUs' speeds: root mean square."""
    sheet, rows = gpus[law.instances[reference].gpu], law.instances
    measured = {row.gpu: math.log(rows[reference].benchmark_work_ms / row.benchmark_work_ms) for row in rows.values()}
    known = {**{name: point.published for name, point in points.items()}, **measured}
    return root_mean_square(
        [speed - plain_specs_log_speed(gpus[name], sheet) for name, speed in known.items() if name != sheet.name]
    )


def profiled_gpus(steps: Steps, medians: Steps, ensemble: EnsembleLatencies, sheet_log_sd: float) -> dict:
    """The 12 directions: error, misses of the interval, and what one plain constant gives.

    Parameters
    ----------
    sheet_log_sd : error of a speed that specs alone indicate.
    """
    tasks = [(steps, medians, ensemble, sheet_log_sd, held_out) for held_out in steps.instances]
    found = [one for each in run_tasks(_to_held_out, tasks) for one in each]
    directions = [row for row, _ in found]
    by_model = pd.DataFrame([rows.groupby("model").apply(mape) for _, rows in found]).mean()
    return {
        "directions": directions,
        "mean": over(directions, "mean"),
        "worst": over(directions, "max", "mape"),
        "by_gpu": {
            name: over([row for row in directions if row["target"] == name], "mean") for name in steps.instances
        },
        "by_model": {str(name): float(value) for name, value in by_model.items()},
    }


def _to_held_out(
    steps: Steps, medians: Steps, ensemble: EnsembleLatencies, sheet_log_sd: float, held_out: str
) -> list[tuple[dict, pd.DataFrame]]:
    """Of each direction to one GPU its figures, and what was predicted there with everything known."""
    others = [name for name in steps.instances if name != held_out]
    fitted = _Fitted(medians, others)
    ways: dict[str, Way] = {
        "": (profiled_target(medians, held_out, sheet_only=False), ()),
        _SHEET_ONLY: (profiled_target(medians, held_out, sheet_only=True), (sheet_log_sd,)),
    }
    directions = []
    for anchor in others:
        found = fitted.judged(steps, ensemble, anchor, ways, steps.latency_ms[held_out], CASES)
        row = _direction(anchor, held_out, found)
        # The anchor's latency times the benchmark's ratio, what any method has to beat.
        ratio = (medians.latency_ms[held_out] / medians.latency_ms[anchor])[medians.benchmark][0]
        row["one_constant"] = mape(judged(ratio * steps.latency_ms[anchor], steps.latency_ms[held_out]))
        directions.append((row, found[f"{{}}_{WITH_LATENCY}"]))
    return directions


def other_gpus(
    medians: Steps,
    ensemble: EnsembleLatencies,
    epochs: pd.DataFrame,
    points: Mapping[str, BenchmarkPoint],
    reference: str,
    sheet_log_sd: float,
) -> list[dict]:
    """Errors on A10G and P100, known by specs and the benchmark's corrected step.

    GPUs with a published point are also predicted from it, as unmeasured GPUs are.

    Parameters
    ----------
    ensemble : one row a workload. epochs : with the corrected `step_ms`.
    points : published, relative to the `reference` instance.
    """
    fitted, found = _Fitted(medians, medians.instances), []
    for source, gpu in DERIVED.items():
        own = epochs[epochs["instance"] == source]
        true_ms = medians.workloads.merge(own[[*WORKLOAD, "step_ms"]], on=WORKLOAD, how="left")["step_ms"].to_numpy()
        sheet, benchmark_ms = load_gpus()[gpu], float(true_ms[medians.benchmark][0])
        host = host_named("", sheet.compute_capability)
        ways: dict[str, Way] = {
            "": (TargetGpu(sheet, host, benchmark_ms), ()),
            _SHEET_ONLY: (TargetGpu(sheet, host, None), (sheet_log_sd,)),
        }
        if point := points.get(gpu):
            ways["published_"] = TargetGpu(sheet, host, None, (reference, point.log_speed)), (point.log_sd,)
        for anchor in medians.instances:
            found.append(_direction(anchor, gpu, fitted.judged(medians, ensemble, anchor, ways, true_ms, [True])))
    return found
