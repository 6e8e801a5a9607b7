"""GPUs that people rent: held out with all their rows, and as they are served.

Served: every workload of the measurements is predicted on every GPU with specs, from each anchor, with the shipped
models, the GPU in the typical host of its generation. Nothing is held out of these: published points, ratios of MLPerf
Training, the order of siblings and the slope over batches are checks of what must hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog import Catalog, Instance, load_shipped
from profet_core.catalog.gpus import (
    AMP,
    CHANNELS_LAST,
    FP32,
    PLAIN,
    TF32,
    Gpu,
    has_tensor_cores,
    no_less,
    supported_precisions,
)
from profet_core.latency import quantile
from profet_core.layers.gpu_effects import Source, source_of
from profet_core.prediction.models import Models
from profet_core.prediction.predict import predict, predict_many
from profet_core.prediction.sizes import curves_at
from profet_lab.estimate_fit import estimate_rows
from profet_lab.measurements.published import load_points, load_tuned, mlperf_ratio, mlperf_speeds
from profet_lab.measurements.tables import WORKLOAD, Measurements
from profet_lab.memory import memory_report
from profet_lab.tasks import Progress
from profet_lab.transfer import BENCHMARK, measured_medians
from profet_lab.validation.held_out_gpus import held_out_gpus, members_ms, published_steps
from profet_profiles.record import Profile, ProfileMeta

PRECISIONS = (FP32, TF32, AMP)
#: Beside them: AMP in channels-last and compiled code.
CASES = (*PRECISIONS, CHANNELS_LAST)
#: A step is slower or faster only beyond rounding.
_ROUNDING = 1e-6
#: Ratios of published speeds in AMP: GPU, the other one, and how far a prediction may be off, percent.
RATIOS = (
    ("A10G", "A100-PCIE-80GB", 20),
    ("A100-SXM4-40GB", "Tesla V100-SXM2-16GB", 12),
    ("H100-PCIE-80GB", "A100-PCIE-80GB", 12),
    ("H200-SXM-141GB", "H100-SXM5-80GB", 12),
    ("L4", "A100-PCIE-80GB", 12),
    ("L40S", "A100-PCIE-80GB", 12),
    ("A100-SXM4-80GB", "A100-PCIE-80GB", 12),
    ("H100-SXM5-80GB", "A100-SXM4-80GB", 12),
    ("A30", "A100-PCIE-80GB", 12),
)
#: GPUs whose answers get steeper over batches than measured ones.
FAST = ("B200", "H200-SXM-141GB", "H100-SXM5-80GB")


class ServedSteps(Struct, frozen=True):
    """Predictions of all workloads by precision and anchor, (workloads, GPUs); `workloads` : WORKLOAD columns."""

    workloads: pd.DataFrame
    latency_ms: Mapping[tuple[str, str], pd.DataFrame]
    log_sd: Mapping[tuple[str, str], pd.DataFrame]

    def row(self, network: str, pixels: int, batch_size: int) -> int:
        """Index of a workload, at the measured batch size nearest to this one."""
        same = self.workloads[(self.workloads.model == network) & (self.workloads.pixels == pixels)]
        return int(np.log(same.batch_size / batch_size).abs().idxmin())


def asked(case: str) -> dict[str, Any]:
    """Precision and training code of one of `CASES`, as `predict` takes them."""
    if case == CHANNELS_LAST:
        return {"precision": AMP, "training_code": CHANNELS_LAST}
    return {"precision": case, "training_code": PLAIN}


def served_steps(models: Models, measurements: Measurements, precisions: Sequence[str] = CASES) -> ServedSteps:
    """Predict every workload on every GPU."""
    catalog = one_offer_per_gpu(models)
    index, workloads = _workloads(measurements)
    latency_ms, log_sd = {}, {}
    for anchor in models.instances:
        profiles, known_ms = median_profiles(measurements, anchor, workloads, index)
        for precision in precisions:
            found = predict_many(
                models, catalog, profiles, anchor,
                latencies_ms=known_ms.tolist(), trust_latency=True, **asked(precision),
            )  # fmt: skip
            tables = [one.table for one in found]
            names = [target.gpu.name for target in tables[0].targets]
            latency_ms[precision, anchor] = pd.DataFrame([one.latency_ms for one in tables], columns=names)
            log_sd[precision, anchor] = pd.DataFrame([one.log_sd for one in tables], columns=names)
    return ServedSteps(workloads, latency_ms, log_sd)


def _workloads(measurements: Measurements) -> tuple[np.ndarray, pd.DataFrame]:
    groups = measurements.workloads.groupby(WORKLOAD)
    return groups.ngroup().to_numpy(), groups.size().index.to_frame(index=False)


def median_profiles(
    measurements: Measurements, anchor: str, workloads: pd.DataFrame, index: np.ndarray
) -> tuple[list[Profile], pd.Series]:
    """Return the median profile and latency of each workload; `index` : of each run's workload."""
    times_us = pd.DataFrame(measurements.times_us[anchor]).groupby(index).median().to_numpy()
    sizes: Any = workloads.itertuples()
    profiles = [
        Profile(
            dict(zip(measurements.operations, row.tolist(), strict=True)),
            meta=ProfileMeta(batch_size=int(size.batch_size), pixels=int(size.pixels)),
        )
        for row, size in zip(times_us, sizes, strict=True)
    ]
    return profiles, pd.Series(measurements.latency_ms[anchor]).groupby(index).median()


def one_offer_per_gpu(models: Models) -> Catalog:
    """Return the profiled instances, and a machine with each other GPU in the typical host of its generation."""
    shipped, transfer = load_shipped(), models.transfer
    others = [
        Instance(name, name, 1, gpu.memory_gib, None, 1.0, "any", "linux", "on-demand", "available", "2026", "made up")
        for name, gpu in transfer.gpus.items()
        if name not in transfer.profiled_gpus
    ]
    return Catalog([*(shipped[name] for name in models.instances), *others])


def wrong_orders(steps: ServedSteps, gpus: Mapping[str, Gpu]) -> list[dict[str, Any]]:
    """Pairs of GPUs of which the one with no less of everything is slower, in any workload: shares of them, percent."""
    found, rows = [], list(gpus.values())
    for better, other in ((rows[first], rows[second]) for first, second in np.argwhere(no_less(rows))):
        for precision in CASES:
            tables = [table for (name, _), table in steps.latency_ms.items() if name == precision]
            slower = np.array([table[better.name] > table[other.name] * (1 + _ROUNDING) for table in tables])
            if slower.any():
                share = float(100 * slower.mean())
                found.append({"gpu": better.name, "than": other.name, "precision": precision, "percent": share})
    return found


def pairs_of_siblings(gpus: Mapping[str, Gpu]) -> int:
    """Return the number of pairs that `wrong_orders` looks at."""
    return int(no_less(list(gpus.values())).sum())


def slower_in_faster(steps: ServedSteps, gpus: Mapping[str, Gpu]) -> float:
    """Return steps on tensor cores that are slower in TF32 than in FP32, or in AMP than in either, percent."""
    names = [name for name, gpu in gpus.items() if has_tensor_cores(gpu)]
    names = [name for name in names if name in next(iter(steps.latency_ms.values()))]
    slower = []
    for anchor in dict.fromkeys(anchor for _, anchor in steps.latency_ms):
        for faster, other in ((TF32, FP32), (AMP, TF32), (CHANNELS_LAST, AMP)):
            one, two = (steps.latency_ms[case, anchor][names].to_numpy() for case in (faster, other))
            slower.append((one > two * (1 + _ROUNDING)).mean())
    return float(100 * np.mean(slower))


def falls(steps: ServedSteps, gpu: str, precision: str) -> float:
    """Neighboring batch sizes of which the larger one is faster, percent."""
    shares = []
    for (name, _), table in steps.latency_ms.items():
        if name == precision:
            rows = steps.workloads.assign(log_ms=np.log(table[gpu])).sort_values("batch_size")
            shares.append((rows.groupby(["model", "pixels"])["log_ms"].diff().dropna() < -_ROUNDING).mean())
    return float(100 * np.mean(shares))


def measured_falls(measurements: Measurements, instance: str) -> float:
    """Return the same of measured medians."""
    table = measurements.all_latencies
    medians = table[table.instance == instance].groupby(WORKLOAD)["batch_latency_ms"].median().reset_index()
    rows = medians.sort_values("batch_size").assign(log_ms=np.log(medians.batch_latency_ms))
    return float(100 * (rows.groupby(["model", "pixels"])["log_ms"].diff().dropna() < 0).mean())


def image_speeds(pictures: Mapping[str, dict[str, Any]]) -> dict[tuple[str, str], np.ndarray]:
    """GPU and case -> images per second of `picture` from each anchor, (anchors, sizes)."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for one in pictures.values():
        for row in one["rows"]:
            found.setdefault((row["gpu"], row["precision"]), []).append(row["images_per_s"])
    return {key: np.array(rows) for key, rows in found.items()}


def ratio_at_largest(speeds: Mapping[tuple[str, str], np.ndarray], one: tuple[str, str], two: tuple[str, str]) -> float:
    """Ratio of two speeds at the largest size, mean of the anchors."""
    log_speeds = [np.log(speeds[key][:, -1]).mean() for key in (one, two)]
    return math.exp(log_speeds[0] - log_speeds[1])


def published_points(speeds: Mapping[tuple[str, str], np.ndarray], folder: Path) -> list[dict[str, Any]]:
    """Return published points of ResNet-50 beside the predictions at the nearest of `PICTURE_SIZES`."""
    found = []
    groups: Any = load_points(folder).groupby(["gpu", "precision"])
    for (gpu, precision), rows in groups:
        if (gpu, precision) not in speeds:
            continue
        batch_size, published = float(rows.batch_size.median()), float(rows.images_per_s.median())
        place = int(np.abs(np.log(np.array(PICTURE_SIZES) / batch_size)).argmin())
        away = np.log(published / speeds[gpu, precision][:, place])
        found.append(
            {
                "gpu": gpu,
                "precision": precision,
                "batch_size": int(batch_size),
                "at": PICTURE_SIZES[place],
                "published": published,
                "predicted": float(published / np.exp(away.mean())),
                "slower": float(100 * np.expm1(away.mean())),
                "between_anchors": float(100 * np.expm1(np.ptp(away))),
            }
        )
    return found


def code_rows(speeds: Mapping[tuple[str, str], np.ndarray], folder: Path) -> list[dict[str, Any]]:
    """Compare published speeds of ResNet-50 in tuned code with predicted ones in AMP, plain and tuned, at batch 256."""
    rows: Any = load_tuned(folder).itertuples()
    return [
        {
            "gpu": row.gpu,
            "source": row.source,
            "published": row.images_per_s,
            "plain": math.exp(np.log(speeds[row.gpu, AMP][:, -1]).mean()),
            "tuned": math.exp(np.log(speeds[row.gpu, CHANNELS_LAST][:, -1]).mean()),
        }
        for row in rows
        if (row.gpu, AMP) in speeds
    ]


def mlperf_rows(speeds: Mapping[tuple[str, str], np.ndarray], folder: Path) -> list[dict[str, Any]]:
    """Ratios of MLPerf Training, whose code is tuned and whose batches are large, beside those predicted in AMP."""
    published = mlperf_speeds(folder)
    found = []
    for gpu, other, allowed in RATIOS:
        known = mlperf_ratio(published, gpu, other)
        if known:
            predicted, plain = (ratio_at_largest(speeds, (gpu, case), (other, case)) for case in (CHANNELS_LAST, AMP))
            found.append(
                {
                    "gpu": gpu,
                    "other": other,
                    "published": known[0],
                    "rounds": known[1],
                    "predicted": predicted,
                    "plain": plain,
                    "off": 100 * (predicted / known[0] - 1),
                    "allowed": allowed,
                }
            )
    return found


#: Sizes of the picture of all GPUs, and the anchor of the profiled step.
PICTURE_SIZES, PICTURE_ANCHOR = (16, 32, 64, 128, 256), "g4dn.xlarge"


def picture(models: Models, profile: Profile, anchor: str, latency_ms: float) -> dict[str, Any]:
    """Images per second of the benchmark's profile on every GPU, in each of `CASES`, by batch size."""
    network, pixels, batch_size = BENCHMARK
    catalog, rows = one_offer_per_gpu(models), []
    for case in CASES:
        found = predict(models, catalog, profile, anchor, latency_ms=latency_ms, trust_latency=True, **asked(case))
        sized = profile.with_meta(batch_size=batch_size, pixels=pixels)
        curves = curves_at(models, [replace(found, profile=sized)], "batch", PICTURE_SIZES)
        for name in curves[0].numbers:
            gpu = models.transfer.gpus.find(catalog[name].gpu, catalog[name].gpu_memory_gib)
            if asked(case)["precision"] in supported_precisions(gpu):
                steps_ms = [table.latencies_ms.get(name) for table in curves]
                speeds = [1000 * size / ms for size, ms in zip(PICTURE_SIZES, steps_ms, strict=True) if ms is not None]
                rows.append({"gpu": gpu.name, "precision": case, "images_per_s": speeds})
    order = list(models.transfer.gpus)
    rows.sort(key=lambda row: (order.index(str(row["gpu"])), CASES.index(str(row["precision"]))))
    title = f"{network}, {pixels} pixels, batch {batch_size}"
    return {"title": title, "anchor": anchor, "sizes": list(PICTURE_SIZES), "rows": rows}


def served_report(models: Models, measurements: Measurements, folder: Path) -> dict[str, Any]:
    """Return checks of what is served."""
    steps = served_steps(models, measurements)
    answered = next(iter(steps.latency_ms.values()))
    # A GPU whose twin was profiled is answered as that one.
    gpus = {name: gpu for name, gpu in models.transfer.gpus.items() if name in answered}
    row = steps.row(*BENCHMARK)
    index, workloads = _workloads(measurements)
    pictures = {}
    for anchor in models.instances:
        profiles, known_ms = median_profiles(measurements, anchor, workloads, index)
        pictures[anchor] = picture(models, profiles[row], anchor, float(known_ms[row]))
    speeds = image_speeds(pictures)
    return {
        "points": published_points(speeds, folder),
        "picture": pictures[PICTURE_ANCHOR],
        "codes": code_rows(speeds, folder),
        "steps": len(steps.workloads) * len(models.instances),
        "mlperf": mlperf_rows(speeds, folder),
        "b200_amp_over_tf32": ratio_at_largest(speeds, ("B200", AMP), ("B200", TF32)),
        "siblings": pairs_of_siblings(gpus),
        "slower_in_faster": slower_in_faster(steps, gpus),
        "wrong_orders": wrong_orders(steps, gpus),
        "falls": {gpu: {name: falls(steps, gpu, name) for name in (TF32, AMP)} for gpu in FAST},
        "falls_measured": {name: measured_falls(measurements, name) for name in measurements.instances},
        "half_widths": half_widths(models, steps),
    }


def half_widths(models: Models, steps: ServedSteps) -> dict[str, dict[str, float]]:
    """Median half-width by what a GPU's rates follow from and case, on tensor cores, percent."""
    kinds: dict[str, list[str]] = {}
    for name, gpu in models.transfer.gpus.items():
        source = source_of(models, gpu)
        if has_tensor_cores(gpu) and source is not Source.PROFILED:
            kinds.setdefault(source.value, []).append(name)
    return {
        kind: {
            case: float(
                100
                * np.expm1(
                    quantile()
                    * np.median([table[names].to_numpy() for (each, _), table in steps.log_sd.items() if each == case])
                )
            )
            for case in (AMP, CHANNELS_LAST)
        }
        for kind, names in kinds.items()
    }


def gpus_report(models: Models, measurements: Measurements, folder: Path, *, progress: Progress) -> dict[str, Any]:
    """Profiled GPUs held out as target and as anchor, published steps of others, what is served, and memory fit."""
    rows = estimate_rows(measurements.all_latencies, folder)
    medians = measured_medians(measurements)
    index, workloads = _workloads(measurements)
    profiles = {name: median_profiles(measurements, name, workloads, index) for name in models.instances}
    return {
        **held_out_gpus(models, rows, medians, members_ms(models), progress),
        "published": published_steps(models, one_offer_per_gpu(models), rows, medians, profiles),
        "served": served_report(models, measurements, folder),
        "memory": memory_report(measurements, folder),
    }
