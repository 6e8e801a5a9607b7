"""Steps on held-out GPUs by profile: each profiled one as target and as anchor, and published steps of others.

Of a held-out GPU the rates saw one step of ResNet-50. No reader saw the requested network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from msgspec.structs import replace

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import FP32, PLAIN
from profet_core.ensemble.work import WorkReader
from profet_core.latency import quantile
from profet_core.layers.by_name import read_step
from profet_core.layers.class_times import Place, log_group_factors
from profet_core.layers.rates import Mode, RateModel, rate_model, rate_model_of
from profet_core.prediction.counts import MEASURED_LOG_SD, PREDICTED_LOG_SD, Asked, Recorded
from profet_core.prediction.models import Models
from profet_core.prediction.predict import predict
from profet_core.prediction.sizes import BATCH_SIZES, curves_at
from profet_lab.estimate_fit import PROFET, Problem, fit, problem
from profet_lab.estimate_report import coefficients
from profet_lab.measurements.tables import WORKLOAD
from profet_lab.tasks import Progress, run_tasks
from profet_lab.transfer import BENCHMARK, InstanceSteps, fit_readers
from profet_profiles.record import Profile

#: Network held out -> instance -> reader of its profiles.
Readers = Mapping[str, Mapping[str, WorkReader]]
#: A profile that doesn't say its program is of the one that measured.
AS_MEASURED = Profile({"Device_Conv2D": 1.0})


def held_out_gpus(
    models: Models,
    rows: pd.DataFrame,
    medians: InstanceSteps,
    predicted_ms: Mapping[tuple[Any, ...], float],
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Errors of the 12 directions to a held-out GPU, and from one.

    Parameters
    ----------
    rows : as `estimate_fit.estimate_rows` has them.
    predicted_ms : anchor, target and workload -> latency by members that didn't see the network.
    """
    fit_problem = problem(rows)
    fitted, names = fit(fit_problem), [str(name) for name in np.unique(medians.architectures)]
    found = run_tasks(fit_readers, [(medians, medians.architectures != name, name) for name in names])
    readers = dict(zip(names, found, strict=True))
    tasks = [(fit_problem.subset(~_of_gpu(models, fit_problem, name)), fitted) for name in medians.instances]
    fits = run_tasks(fit, tasks, progress=progress, threads=True)
    judged = []
    for name, (learned, _), effects in zip(medians.instances, tasks, fits, strict=True):
        without = copy(models)
        without.__dict__["rates"] = fitted_rates(learned, effects, rate_model_of(models))
        judged += _judged(without, medians, readers, predicted_ms, name)
    table = pd.DataFrame(judged)
    targets, anchors = (table[table["role"] == role] for role in ("target", "anchor"))
    by_target = _directions(targets, "target")
    for row in by_target["directions"]:
        # The anchor's latency times the benchmark's ratio, what any method has to beat.
        log_ratio = np.log(medians.latency_ms[row["target"]] / medians.latency_ms[row["anchor"]])
        row["one_constant"] = _mape(log_ratio[medians.benchmark][0] - log_ratio)
    constants = [row["one_constant"] for row in by_target["directions"]]
    by_target["mean"]["one_constant"] = float(np.mean(constants))
    return {
        "left_out_gpus": by_target,
        "left_out_anchors": _directions(anchors, "anchor"),
        "known_gpus": known_gpus(models, medians, readers, predicted_ms),
    }


def known_gpus(
    models: Models, medians: InstanceSteps, readers: Readers, predicted_ms: Mapping[tuple[Any, ...], float]
) -> dict[str, dict[str, float]]:
    """Figures as target and as anchor by rates that know the GPU, as those of GPUs with many published steps do."""
    judged = [row for name in medians.instances for row in _judged(models, medians, readers, predicted_ms, name)]
    roles: Any = pd.DataFrame(judged).groupby("role")
    return {role: figures(part) for role, part in roles}


def members_ms(models: Models) -> Mapping[tuple[Any, ...], float]:
    """Read what members that didn't see the network predict: anchor, target and workload -> milliseconds."""
    predictions = pd.DataFrame(json.loads((models.folder / "validation.json").read_bytes())["scatter"])
    medians: Any = predictions.groupby(["anchor", "target", *WORKLOAD])["predicted_ms"].median()
    return dict(medians.to_dict())


def _of_gpu(models: Models, fit_problem: Problem, instance: str) -> np.ndarray:
    """Rows of an instance's GPU, but its cell of the benchmark."""
    rows = fit_problem.rows
    is_known = (rows["source"] == PROFET) & (rows[["network", "pixels", "batch_size"]] == [*BENCHMARK]).all(axis=1)
    return ((rows["gpu"] == models.transfer.profiled[instance].gpu) & ~is_known).to_numpy()


def fitted_rates(learned: Problem, effects: np.ndarray, like: RateModel) -> RateModel:
    """Rates by a fit, with the intervals of others."""
    names = ("unknown_gpu_log_sd", "source_log_sd", "launch_log_sd", "log_sds")
    least_known = max(gpu.log_sd for gpu in like.gpus.values())
    content = coefficients(learned, effects, dict.fromkeys((False, True), least_known))
    return rate_model({**content, **{name: getattr(like, name) for name in names}, "fitted_on": {}, "checksum": ""})


def _judged(
    models: Models,
    medians: InstanceSteps,
    readers: Readers,
    predicted_ms: Mapping[tuple[Any, ...], float],
    held_out: str,
) -> list[dict[str, Any]]:
    """Log errors and half-widths of the intervals of steps to and from an instance."""
    transfer, others = models.transfer, [name for name in medians.instances if name != held_out]
    # Profiles of the held-out GPU are read as if they had been recorded there.
    reference = transfer.reference if held_out != transfer.reference else others[-1]
    here, there = (
        Place(transfer.gpus[transfer.profiled[name].gpu], Mode.FP32, True, name) for name in (held_out, reference)
    )
    factors = np.exp(log_group_factors(rate_model_of(models), here, there))
    ways = [(anchor, anchor, np.ones(len(factors)), [held_out], "target") for anchor in others]
    ways.append((held_out, reference, factors, others, "anchor"))
    places = {name: (transfer.gpus[row.gpu], row.host) for name, row in transfer.profiled.items()}
    rows: list[dict[str, Any]] = []
    workloads: Any = enumerate(medians.workloads.itertuples())
    for number, workload in workloads:
        models.__dict__["transfer"] = replace(transfer, readers=readers[workload.model])
        asked = Asked(FP32, PLAIN, int(workload.batch_size), int(workload.pixels))
        for anchor, read_as, scale, targets, role in ways:
            groups_ms = scale * medians.with_latency[anchor].groups_ms[number]
            recorded = Recorded(*places[anchor], asked, float(medians.latency_ms[anchor][number]), MEASURED_LOG_SD)
            counted = read_step(models, read_as, groups_ms, recorded, AS_MEASURED)
            known = [name for name in others if role == "target" and name != anchor]
            size = workload.model, workload.pixels, workload.batch_size
            predicted = [
                Recorded(*places[name], asked, predicted_ms[anchor, name, *size], PREDICTED_LOG_SD) for name in known
            ]
            on = [places[name] for name in targets]
            steps_at = counted.on(on, asked, [recorded, *predicted], as_recorded=True)
            steps = steps_at(asked.batch_size, asked.pixels)
            for place, name in enumerate(targets):
                error = float(np.log(steps.latency_ms[place] / medians.latency_ms[name][number]))
                half = float(quantile() * steps.log_sd[place])
                rows.append({"role": role, "anchor": anchor, "target": name, "error": error, "half": half})
    return rows


def _directions(table: pd.DataFrame, held_out: str) -> dict[str, Any]:
    """Figures by direction, their mean and worst, and the mean of each held-out GPU; `held_out` : its column."""
    pairs: Any = table.groupby(["anchor", "target"])
    directions = [{"anchor": anchor, "target": target, **figures(part)} for (anchor, target), part in pairs]
    numbers = pd.DataFrame(directions).drop(columns=["anchor", "target", "n"])
    names = pd.Series([row[held_out] for row in directions])
    by_gpu: Any = numbers.groupby(names).mean()
    return {
        "directions": directions,
        "mean": numbers.mean().to_dict(),
        "worst": numbers[["mape_with_latency"]].max().to_dict(),
        "by_gpu": by_gpu.to_dict("index"),
    }


def _mape(log_errors: np.ndarray) -> float:
    return float(100 * np.abs(np.expm1(log_errors)).mean())


def figures(rows: pd.DataFrame) -> dict[str, float]:
    """Return number, bias, error, share outside the interval and its median half-width, percent, of log errors."""
    return {
        "n": len(rows),
        "bias_with_latency": float(100 * np.expm1(rows["error"].mean())),
        "mape_with_latency": _mape(rows["error"].to_numpy()),
        "missed_90_with_latency": float(100 * (rows["error"].abs() > rows["half"]).mean()),
        "median_interval_pct_with_latency": float(100 * np.expm1(rows["half"].median())),
    }


#: What published tables call networks of the measurements.
_NETWORKS = {
    **{"resnet18": "ResNet18", "resnet34": "ResNet34", "resnet50": "ResNet50", "keras/InceptionV3": "InceptionV3"},
    **{"vgg11": "VGG11", "vgg13": "VGG13", "vgg16": "VGG16", "vgg19": "VGG19", "mobilenet_v2": "MobileNetV2"},
}
#: NVIDIA's first generation with TF32, and the largest images that a profile of the measurements is scaled to.
_FIRST_TF32, _LARGEST_PIXELS = 8.0, 256


def published_steps(
    models: Models,
    catalog: Catalog,
    rows: pd.DataFrame,
    medians: InstanceSteps,
    profiles: Mapping[str, tuple[list[Profile], pd.Series]],
) -> dict[str, Any]:
    """Judge published FP32 steps on GPUs before Ampere, from profiles of the same networks without their names.

    The rates know these GPUs by these and other networks' steps.

    Parameters
    ----------
    catalog : an offer of each GPU's name.
    profiles : anchor -> profile of each of the medians' workloads, and its latency.

    Returns
    -------
    figures : of all, and `by_gpu`.
    """
    gpus = models.transfer.gpus
    is_old = [(gpus[name].compute_capability or _FIRST_TF32) < _FIRST_TF32 for name in rows["gpu"]]
    asked = rows[
        np.array(is_old)
        & (rows["source"] != PROFET)
        & ~rows["source"].str.contains("XLA")
        & (rows["mode"] == Mode.FP32)
        & rows["network"].isin(_NETWORKS)
        & rows["batch_size"].between(*BATCH_SIZES)
        & ~rows["gpu"].isin(models.transfer.profiled_gpus)
    ]
    workloads, errors = medians.workloads, []
    for anchor, (of_anchor, known_ms) in profiles.items():
        groups: Any = asked.groupby(["network", "pixels"])
        for (network, pixels), group in groups:
            same = workloads[workloads["model"] == _NETWORKS[network]]
            sizes = np.abs(np.log(same["pixels"] / pixels)) * 10 + np.abs(np.log(same["batch_size"] / BENCHMARK[2]))
            number = sizes.idxmin()
            found = predict(
                models, catalog, of_anchor[number], anchor,
                latency_ms=float(known_ms[number]), trust_latency=True, precision=FP32,
            )  # fmt: skip
            batches, at = sorted(set(group["batch_size"].astype(int))), min(int(pixels), _LARGEST_PIXELS)
            curves = curves_at(models, [found], "batch", batches, at, instances=set(group["gpu"]))
            for batch, steps in zip(batches, curves, strict=True):
                by_gpu = {row.instance: row for row in steps}
                step_rows: Any = group[group["batch_size"] == batch].itertuples()
                for row in step_rows:
                    answer = by_gpu[row.gpu]
                    assert answer.latency_ms is not None and answer.log_sd is not None
                    larger_ms = answer.latency_ms * (pixels / at) ** 2
                    error = float(np.log(larger_ms / row.latency_ms))
                    errors.append({"gpu": row.gpu, "error": error, "half": quantile() * answer.log_sd})
    table = pd.DataFrame(errors)
    by_gpu_rows: Any = table.groupby("gpu")
    return {**figures(table), "by_gpu": {gpu: figures(part) for gpu, part in by_gpu_rows}}
