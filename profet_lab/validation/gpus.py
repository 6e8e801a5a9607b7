"""Rented GPUs as they are served: published points, MLPerf ratios, order of siblings, slope over batches.

Every workload of the measurements is predicted on every GPU with specs, from each anchor, with the shipped models. The
GPU is in the typical host of its generation. Nothing is held out here: these are checks of what must hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, Instance, load_shipped
from profet_core.catalog.gpus import Gpu
from profet_core.latency import quantile
from profet_core.precision.names import AMP, FP32, TF32
from profet_core.prediction.predict import predict_many
from profet_lab.measurements.published import load_points, mlperf_ratio, mlperf_speeds
from profet_lab.measurements.tables import WORKLOAD, Measurements
from profet_lab.transfer.step_law import BENCHMARK
from profet_recorder.profiles.record import Profile, ProfileMeta

PRECISIONS = (FP32, TF32, AMP)
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


@dataclass(frozen=True)
class ServedSteps:
    """Predictions of all workloads by precision and anchor, (workloads, GPUs); `workloads` : WORKLOAD columns."""

    workloads: pd.DataFrame
    latency_ms: Mapping[tuple[str, str], pd.DataFrame]
    log_sd: Mapping[tuple[str, str], pd.DataFrame]

    def row(self, network: str, pixels: int, batch_size: int) -> int:
        """Index of a workload, at the measured batch size nearest to this one."""
        same = self.workloads[(self.workloads.model == network) & (self.workloads.pixels == pixels)]
        return int(np.log(same.batch_size / batch_size).abs().idxmin())

    def log_ms(self, precision: str, gpu: str, row: int) -> np.ndarray:
        """Logarithms of the latency from each anchor, (anchors,)."""
        tables = [table for (name, _), table in self.latency_ms.items() if name == precision]
        return np.log([table[gpu].iloc[row] for table in tables])


def served_steps(models: Models, measurements: Measurements, precisions: Sequence[str] = PRECISIONS) -> ServedSteps:
    """Predict every workload on every GPU."""
    catalog = one_offer_per_gpu(models)
    groups = measurements.workloads.groupby(WORKLOAD)
    index, workloads = groups.ngroup().to_numpy(), groups.size().index.to_frame(index=False)
    latency_ms, log_sd = {}, {}
    for anchor in models.instances:
        times_us = pd.DataFrame(measurements.times_us[anchor]).groupby(index).median().to_numpy()
        known_ms = pd.Series(measurements.latency_ms[anchor]).groupby(index).median()
        profiles = [
            Profile(
                dict(zip(measurements.operations, row.tolist(), strict=True)),
                meta=ProfileMeta(batch_size=batch_size, pixels=pixels),
            )
            for row, batch_size, pixels in zip(
                times_us, workloads.batch_size.tolist(), workloads.pixels.tolist(), strict=True
            )
        ]
        for precision in precisions:
            found = predict_many(
                models, catalog, profiles, anchor,
                latencies_ms=known_ms.tolist(), trust_latency=True, precision=precision,
            )  # fmt: skip
            tables = [one.table for one in found]
            names = [target.gpu.name for target in tables[0].targets]
            latency_ms[precision, anchor] = pd.DataFrame([one.latency_ms for one in tables], columns=names)
            log_sd[precision, anchor] = pd.DataFrame([one.log_sd for one in tables], columns=names)
    return ServedSteps(workloads, latency_ms, log_sd)


def one_offer_per_gpu(models: Models) -> Catalog:
    """The profiled instances, and a machine with each other GPU in the typical host of its generation."""
    shipped, transfer = load_shipped(), models.transfer
    others = [
        Instance(name, name, 1, gpu.memory_gib, None, 1.0, "any", "linux", "on-demand", "available", "2026", "made up")
        for name, gpu in transfer.gpus.items()
        if name not in transfer.profiled_gpus
    ]
    return Catalog([*(shipped[name] for name in models.instances), *others])


def no_less(gpu: Gpu, other: Gpu) -> bool:
    """Whether a GPU of the same generation has no less of everything than another one, and more of something."""
    if gpu.compute_capability is None or gpu.compute_capability != other.compute_capability:
        return False
    one, two = _specs(gpu), _specs(other)
    return all(mine >= its for mine, its in zip(one, two, strict=True)) and (one, gpu.base_mhz) > (two, other.base_mhz)


def _specs(gpu: Gpu) -> tuple[float, ...]:
    tensor = gpu.tf32_tensor_dense_tflops or 0.0, gpu.fp16_tensor_dense_tflops or 0.0
    rest = gpu.bandwidth_gb_per_s, gpu.l2_mb, gpu.tdp_w
    return (gpu.sm_count, gpu.cuda_cores, gpu.boost_mhz, gpu.fp32_tflops, *tensor, *rest)


def wrong_orders(steps: ServedSteps, gpus: Mapping[str, Gpu]) -> list[dict[str, Any]]:
    """Pairs of GPUs of which the one with no less of everything is slower, in any workload: shares of them, percent."""
    found = []
    for better, other in permutations(gpus.values(), 2):
        if not no_less(better, other):
            continue
        for precision in PRECISIONS:
            tables = [table for (name, _), table in steps.latency_ms.items() if name == precision]
            slower = np.array([table[better.name] > table[other.name] * (1 + _ROUNDING) for table in tables])
            if slower.any():
                share = float(100 * slower.mean())
                found.append({"gpu": better.name, "than": other.name, "precision": precision, "percent": share})
    return found


def pairs_of_siblings(gpus: Mapping[str, Gpu]) -> int:
    """Number of pairs that `wrong_orders` looks at."""
    return sum(no_less(better, other) for better, other in permutations(gpus.values(), 2))


def falls(steps: ServedSteps, gpu: str, precision: str) -> float:
    """Neighboring batch sizes of which the larger one is faster, percent."""
    shares = []
    for (name, _), table in steps.latency_ms.items():
        if name == precision:
            rows = steps.workloads.assign(log_ms=np.log(table[gpu])).sort_values("batch_size")
            shares.append((rows.groupby(["model", "pixels"])["log_ms"].diff().dropna() < -_ROUNDING).mean())
    return float(100 * np.mean(shares))


def measured_falls(measurements: Measurements, instance: str) -> float:
    """The same of measured medians."""
    table = measurements.all_latencies
    medians = table[table.instance == instance].groupby(WORKLOAD)["batch_latency_ms"].median().reset_index()
    rows = medians.sort_values("batch_size").assign(log_ms=np.log(medians.batch_latency_ms))
    return float(100 * (rows.groupby(["model", "pixels"])["log_ms"].diff().dropna() < 0).mean())


def own_points(steps: ServedSteps, folder: Path) -> list[dict[str, Any]]:
    """Published points of ResNet-50 beside the prediction at the nearest measured batch size, by the image."""
    network, pixels, _ = BENCHMARK
    found = []
    for (gpu, precision), rows in load_points(folder).groupby(["gpu", "precision"]):
        if gpu not in next(iter(steps.latency_ms.values())) or (precision == AMP and not _has_amp(rows)):
            continue
        batch_size, published = float(rows.batch_size.median()), float(rows.images_per_s.median())
        row = steps.row(network, pixels, int(batch_size))
        size = int(steps.workloads.batch_size.iloc[row])
        log_ms = steps.log_ms(str(precision), str(gpu), row) + math.log(published / (1000 * size))
        found.append(
            {
                "gpu": gpu,
                "precision": precision,
                "batch_size": int(batch_size),
                "published": published,
                "predicted": float(published / np.exp(log_ms.mean())),
                "slower": float(100 * np.expm1(log_ms.mean())),
                "between_anchors": float(100 * np.expm1(np.ptp(log_ms))),
            }
        )
    return found


def _has_amp(rows: pd.DataFrame) -> bool:
    """AMP where there are no tensor cores is not what is served."""
    return bool(rows.tensor_cores.all())


def mlperf_rows(steps: ServedSteps, folder: Path) -> list[dict[str, Any]]:
    """Ratios of MLPerf Training beside those predicted in AMP."""
    speeds, row = mlperf_speeds(folder), steps.row(*BENCHMARK)
    found = []
    for gpu, other, allowed in RATIOS:
        known = mlperf_ratio(speeds, gpu, other)
        if known:
            predicted = math.exp(float(np.mean(steps.log_ms(AMP, other, row) - steps.log_ms(AMP, gpu, row))))
            found.append(
                {
                    "gpu": gpu,
                    "other": other,
                    "published": known[0],
                    "rounds": known[1],
                    "predicted": predicted,
                    "off": 100 * (predicted / known[0] - 1),
                    "allowed": allowed,
                }
            )
    return found


def rented_report(models: Models, measurements: Measurements, folder: Path) -> dict[str, Any]:
    """All of it."""
    steps = served_steps(models, measurements)
    gpus, row = models.transfer.gpus, steps.row(*BENCHMARK)
    log_sds = {name: [table for (each, _), table in steps.log_sd.items() if each == name] for name in PRECISIONS}
    return {
        "points": own_points(steps, folder),
        "steps": len(steps.workloads) * len(models.instances),
        "mlperf": mlperf_rows(steps, folder),
        "b200_amp_over_tf32": float(np.exp(np.mean(steps.log_ms(TF32, "B200", row) - steps.log_ms(AMP, "B200", row)))),
        "siblings": pairs_of_siblings(gpus),
        "wrong_orders": wrong_orders(steps, gpus),
        "falls": {gpu: {name: falls(steps, gpu, name) for name in (TF32, AMP)} for gpu in FAST},
        "falls_measured": {name: measured_falls(measurements, name) for name in measurements.instances},
        "half_width": {
            name: float(100 * np.expm1(quantile() * np.median(np.concatenate(tables))))
            for name, tables in log_sds.items()
        },
    }


def judged(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What is judged, its figure, and what is wanted."""
    for precision in (TF32, AMP):
        rows = [row for row in report["points"] if (row["precision"] == AMP) is (precision == AMP)]
        worst = max(rows, key=lambda row: abs(row["slower"]))
        mean = np.mean([abs(row["slower"]) for row in rows])
        name = "AMP" if precision == AMP else "FP32 or TF32"
        figure = f"{mean:.1f}; {worst['gpu']} {worst['slower']:+.1f}%"
        yield f"own published points, {name}, {len(rows)} GPUs: mean; worst", figure, "4%"
    for row in report["mlperf"]:
        yield (
            f"AMP, {row['gpu']} over {row['other']} (MLPerf)",
            f"{row['predicted']:.3f} ({row['off']:+.0f}%)",
            f"{row['published']:.3f}, {row['allowed']}%",
        )
    yield "B200, AMP over TF32", f"{report['b200_amp_over_tf32']:.2f}", "1.02, 12%"
    wrong = report["wrong_orders"]
    yield f"siblings in wrong order, of {report['siblings']} pairs in three precisions", str(len(wrong)), "0"
    for gpu, row in report["falls"].items():
        yield f"larger batch faster, {gpu}, TF32; AMP", f"{row[TF32]:.1f}; {row[AMP]:.1f}%", "2.5%"
    for precision, half in report["half_width"].items():
        yield f"median half-width, {precision}", f"{half:.0f}%", "30%"
