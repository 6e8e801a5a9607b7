"""Steps on held-out GPUs by profile: each profiled one as target and as anchor, and published steps of others.

A held-out GPU is a new one, on which a user measured one step of ResNet-50. No reader saw the requested network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from msgspec.structs import replace

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import FP32, PLAIN
from profet_core.ensemble.work import WorkReader
from profet_core.latency import quantile
from profet_core.layers.by_name import Asked, Recorded, read_step
from profet_core.layers.class_times import Place, log_group_factors
from profet_core.layers.rates import Mode, RateModel, rate_model, rate_model_of
from profet_core.layers.steps import GpuOnHost
from profet_core.prediction.counts import MEASURED_LOG_SD, PREDICTED_LOG_SD
from profet_core.prediction.models import Models
from profet_core.prediction.predict import predict
from profet_core.prediction.sizes import BATCH_SIZES, curves_at
from profet_lab.custom_gpus import effects_of_cells
from profet_lab.estimate_fit import PROFET, fit, problem
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
    readers, names = readers_without_networks(medians), medians.instances
    judged = []
    for name, rates in rates_without_gpus(models, rows, names, progress).items():
        with_new, place = with_new_gpu(models, rates, medians, name, np.flatnonzero(medians.benchmark))
        judged += _judged(with_new, medians, readers, predicted_ms, name, place)
    table = pd.DataFrame(judged)
    targets, anchors = (table[table["role"] == role] for role in ("target", "anchor"))
    by_target = _directions(targets, "target")
    for row in by_target["directions"]:
        # The anchor's latency times the benchmark's ratio, what any method has to beat.
        log_ratio = np.log(medians.latency_ms[row["target"]] / medians.latency_ms[row["anchor"]])
        row["one_constant"] = _mape(log_ratio[medians.benchmark][0] - log_ratio)
    constants = [row["one_constant"] for row in by_target["directions"]]
    by_target["mean"]["one_constant"] = float(np.mean(constants))
    of_known = [row for name in names for row in _judged(models, medians, readers, predicted_ms, name)]
    roles: Any = pd.DataFrame(of_known).groupby("role")
    return {
        "left_out_gpus": by_target,
        "left_out_anchors": _directions(anchors, "anchor"),
        # By rates that know the GPU, as those of GPUs with many published steps do.
        "known_gpus": {role: figures(part) for role, part in roles},
    }


def readers_without_networks(medians: InstanceSteps) -> Readers:
    """Fit readers that didn't see a network, of each."""
    names = [str(name) for name in np.unique(medians.architectures)]
    tasks = [(medians, medians.architectures != name, name) for name in names]
    return dict(zip(names, run_tasks(fit_readers, tasks), strict=True))


def rates_without_gpus(
    models: Models, rows: pd.DataFrame, instances: Sequence[str], progress: Progress | None = None
) -> Mapping[str, RateModel]:
    """Fit rates that saw no step of a profiled instance's GPU, of each, with the intervals of those that ship."""
    like, every = rate_model_of(models), problem(rows)
    fitted = fit(every)
    gpus = [models.transfer.profiled[name].gpu for name in instances]
    learned = [every.subset((every.rows["gpu"] != gpu).to_numpy()) for gpu in gpus]
    fits = run_tasks(fit, [(part, fitted) for part in learned], progress=progress, threads=True)
    names = ("unknown_gpu_log_sd", "source_log_sd", "launch_log_sd", "log_sds")
    intervals = {name: getattr(like, name) for name in names}
    least_known = dict.fromkeys((False, True), max(gpu.log_sd for gpu in like.gpus.values()))
    contents = [coefficients(part, effects, least_known) for part, effects in zip(learned, fits, strict=True)]
    rates = [rate_model({**content, **intervals, "fitted_on": {}, "checksum": ""}) for content in contents]
    return dict(zip(instances, rates, strict=True))


def members_ms(models: Models) -> Mapping[tuple[Any, ...], float]:
    """Read what members that didn't see the network predict: anchor, target and workload -> milliseconds."""
    predictions = pd.DataFrame(json.loads((models.folder / "validation.json").read_bytes())["scatter"])
    medians: Any = predictions.groupby(["anchor", "target", *WORKLOAD])["predicted_ms"].median()
    return dict(medians.to_dict())


def places_of(models: Models) -> dict[str, GpuOnHost]:
    """Profiled instance -> its GPU in its host."""
    return {name: (models.transfer.gpus[row.gpu], row.host) for name, row in models.transfer.profiled.items()}


def with_new_gpu(
    models: Models, rates: RateModel, medians: InstanceSteps, instance: str, cells: np.ndarray
) -> tuple[Models, GpuOnHost]:
    """Return models with an instance's GPU as a new one that a user measured, and that GPU in its host.

    Parameters
    ----------
    rates : that saw no step of it.
    cells : rows of the workloads that were measured on it.
    """
    gpu, host = places_of(models)[instance]
    place = replace(gpu, name=f"New {gpu.name}"), host
    measured = medians.workloads.assign(precision=FP32, batch_latency_ms=medians.latency_ms[instance]).iloc[cells]
    effects = effects_of_cells(rates, measured, place, instance, is_tensorflow=True)
    with_new = models.with_transfer(models.transfer)
    with_new.__dict__["rates"] = rates.with_gpus({place[0].name: effects})
    return with_new, place


def _judged(
    models: Models,
    medians: InstanceSteps,
    readers: Readers,
    predicted_ms: Mapping[tuple[Any, ...], float],
    held_out: str,
    place: GpuOnHost | None = None,
) -> list[dict[str, Any]]:
    """Log errors and half-widths of the intervals of steps to and from an instance.

    Parameters
    ----------
    place : as `with_new_gpu` returns it; None: the rates know the GPU.
    """
    transfer, others = models.transfer, [name for name in medians.instances if name != held_out]
    places = places_of(models) | ({} if place is None else {held_out: place})
    # Profiles of the held-out GPU are read as if they had been recorded there.
    reference = transfer.reference if held_out != transfer.reference else others[-1]
    here = Place(places[held_out][0], Mode.FP32, place is None)
    there = Place(places[reference][0], Mode.FP32, True)
    scale = np.exp(log_group_factors(rate_model_of(models), here, there))
    rows: list[dict[str, Any]] = []
    for network, network_readers in readers.items():
        judge = Judge(models.with_transfer(replace(transfer, readers=network_readers)), medians, places, predicted_ms)
        for row in np.flatnonzero(medians.architectures == network).tolist():
            rows += [error | {"role": "target"} for anchor in others for error in judge.errors(row, anchor, [held_out])]
            rows += [error | {"role": "anchor"} for error in judge.errors(row, held_out, others, reference, scale)]
    return rows


class Judge(NamedTuple):
    """What judges steps on some instances by profiles recorded on others.

    Attributes
    ----------
    models : whose readers didn't see the network.
    places : instance -> its GPU in its host.
    predicted_ms : as `members_ms` reads them; of instances whose GPU is none of the profiled ones none counts.
    """

    models: Models
    medians: InstanceSteps
    places: Mapping[str, GpuOnHost]
    predicted_ms: Mapping[tuple[Any, ...], float]

    def errors(
        self, row: int, anchor: str, targets: Sequence[str], read_as: str = "", scale: np.ndarray | float = 1.0
    ) -> list[dict[str, Any]]:
        """Log error of one workload's step on each target, and half the interval.

        Parameters
        ----------
        read_as : instance whose reader reads the profile, its times scaled; empty: the anchor.
        """
        medians, places, workload = self.medians, self.places, self.medians.workloads.iloc[row]
        asked = Asked(FP32, PLAIN, int(workload["batch_size"]), int(workload["pixels"]))
        times, latency_ms = medians.with_latency[anchor], float(medians.latency_ms[anchor][row])
        recorded = Recorded(*places[anchor], asked, latency_ms, MEASURED_LOG_SD, times.work_ms[row])
        groups_ms = scale * times.groups_ms[row]
        counted = read_step(self.models, read_as or anchor, groups_ms, recorded, AS_MEASURED)
        profiled, size = self.models.transfer.profiled_gpus, (workload["model"], asked.pixels, asked.batch_size)
        predicted = [
            Recorded(*places[name], asked, self.predicted_ms[anchor, name, *size], PREDICTED_LOG_SD)
            for name in medians.instances
            if not read_as and name not in (anchor, *targets)
        ]
        on, in_profets = [places[name] for name in targets], places[targets[0]][0].name in profiled
        steps = counted.on(on, asked, [recorded, *predicted], as_recorded=in_profets)(asked.batch_size, asked.pixels)
        measured_ms = np.array([medians.latency_ms[name][row] for name in targets])
        errors, halves = np.log(steps.latency_ms / measured_ms), quantile() * steps.log_sd
        return [
            {"anchor": anchor, "target": target, "error": float(error), "half": float(half)}
            for target, error, half in zip(targets, errors, halves, strict=True)
        ]


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
