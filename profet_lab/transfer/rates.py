"""Fit the rates of all GPUs, by kind of work and precision, on all published speeds together.

A step's speed over the reference GPU's in FP32 follows from the shares of its kinds of work there and the rates. Rates
follow the specs (`SpecRates`) up to effects of the GPU. Each table has its own offset and its own kind of AMP. Effects
are normal; their standard deviations are chosen, not fitted. Of two GPUs of one generation the one with no less of
everything is as fast at least, in every kind and precision: where tables disagree, the effects of both give way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct, field
from msgspec.structs import asdict
from profet_core.transfer.step_model import BANDWIDTH, CONVOLUTION, KINDS, StepModel

from profet_core.catalog.gpus import AMP, FP32, Gpu
from profet_core.latency import LEVEL, log_sd_of, quantile
from profet_core.transfer.model import Spread
from profet_core.transfer.rates import (
    CLASSES,
    ON_TENSOR_CORES,
    USUAL_PEAK_RATIO,
    GpuRates,
    log_tf32_peak,
    no_less,
    peak_ratio,
)
from profet_lab.measurements.published import forward_speeds, mlperf_speeds
from profet_lab.measurements.tables import Measurements
from profet_lab.precision.pairs import POINTS_TABLE, SCRIPT_TABLE, load_pairs, network_shares, training_rows
from profet_lab.tasks import Progress, run_tasks
from profet_lab.transfer.step_model import BENCHMARK

#: Mean and standard deviation of the effects of specs.
_SPEC_EFFECTS = {
    "peak": (0.7, 0.15), "tf32": (0.35, 0.1), "power": (0.3, 0.2), "bandwidth": (0.95, 0.05),
    "efficiency": (-0.08, 0.05), "amp compute": (0.9, 0.4), "amp peak": (0.3, 0.3), "amp bandwidth": (0.35, 0.15),
}  # fmt: skip
#: Standard deviations: of a generation; of a GPU's compute, bandwidth and AMP; of its AMP in tuned code.
_GENERATION, _COMPUTE, _BANDWIDTH, _AMP, _TUNED = 0.3, 0.12, 0.05, 0.12, 0.12
#: Of a generation's FP32 beside its TF32.
_FP32 = 0.12
#: Of a class in AMP around convolutions or the rest, and the product's around convolutions.
_CLASS, _PRODUCT = 0.15, 0.4
#: Of a table's AMP; of one table on one GPU: host, cooling and driver; the points' table is the yardstick of both.
_TABLE_AMP, _ON_GPU, _POINTS_ON_GPU = 0.25, 0.12, 0.01
#: Of a row: points, other tables, MLPerf, forward passes, and pairs of AMP and FP32 with launches.
_POINT, _ROW, _MLPERF, _FORWARD, _PAIR = 0.01, 0.1, 0.05, 0.15, 0.12
#: A table's offset, the log of its images per second on the reference, is free.
_TYPICAL, _FREE = 6.0, 3.0
#: Errors beyond so many standard deviations count less.
_ROBUST = 2.0
_ITERATIONS = 12
#: Equal rates are as near.
_TIE = 1e-3
#: Tuned code: MLPerf's, which shows ratios of GPUs in it, and NVIDIA's PyTorch examples, which show what it gains.
MLPERF, EXAMPLES = "MLPerf", "NVIDIA/DeepLearningExamples, PyTorch"
#: Forward passes, and the profiled GPUs' kernels.
_FORWARD_TABLE, _MEASURED = "forward", "measured"
#: Kernels in FP32 on one program over V100's (`external/kernel_latencies.parquet`): elementwise ones, and convolutions
#: or else products. Medians of those above 0.2 ms.
KERNELS = {
    "Tesla P100-PCIE-16GB": (0.67, 0.62), "Tesla P4": (0.18, 0.35), "A100-PCIE-40GB": (1.65, 1.18),
    "A100-PCIE-80GB": (2.04, 1.14), "L4": (0.29, 0.68),
}  # fmt: skip
_KERNEL_BANDWIDTH, _KERNEL_COMPUTE = 0.05, 0.12
#: Networks of timm -> one of the measurements with about its mix of work.
_FORWARD_LIKE = {
    "resnet18": "ResNet18", "resnet34": "ResNet34", "resnet50": "ResNet50", "vgg11": "VGG11", "vgg13": "VGG13",
    "vgg16": "VGG16", "vgg19": "VGG19", "inception_v3": "InceptionV3",
}  # fmt: skip
#: Profiled GPUs' own kernels count as exact, nearly.
_PROFILED = 0.02

Key = tuple[str, ...]
#: Effect -> factor.
Terms = dict[Key, float]


class _Row(Struct):
    """One speed, or a ratio of two speeds of one step.

    shares : of `CLASSES`.
    rates : terms of each class's log rate.
    over : the same of the speed it is relative to; else
    None. launches : table, and layers per microsecond of the step it is relative to.
    """

    gpu: str
    table: str
    log_speed: float
    log_sd: float
    shares: Sequence[float]
    rates: Sequence[Terms]
    precision: str = ""
    offset: Terms = field(default_factory=dict)
    over: Sequence[Terms] | None = None
    launches: tuple[str, float] | None = None


def _groups(table: pd.DataFrame, keys: list[str]) -> Any:
    """Groups with their keys, of any type."""
    return table.groupby(keys)


def _records(table: pd.DataFrame) -> Any:
    """Rows with their columns as attributes, of any type."""
    return table.itertuples()


class _Effects:
    """Effects with their means and standard deviations."""

    def __init__(self) -> None:
        self.places: dict[Key, int] = {}
        self.means: list[float] = []
        self.log_sds: list[float] = []

    def add(self, key: Key, mean: float, log_sd: float) -> Key:
        if key not in self.places:
            self.places[key] = len(self.means)
            self.means.append(mean)
            self.log_sds.append(log_sd)
        return key

    def matrix(self, rows: Sequence[Terms]) -> np.ndarray:
        found = np.zeros((len(rows), len(self.means)))
        for number, terms in enumerate(rows):
            for key, factor in terms.items():
                found[number, self.places[key]] += factor
        return found


class RateRows:
    """All rows with their effects, on GPUs with specs; rates are relative to the reference GPU's.

    benchmark : shares of `CLASSES` in the benchmark there.
    """

    def __init__(self, gpus: Mapping[str, Gpu], reference: str, benchmark: Sequence[float]) -> None:
        self.gpus, self.reference, self.benchmark = gpus, reference, benchmark
        self.effects, self.rows = _Effects(), list[_Row]()
        self.no_tensor_cores_log_sd, self.activation_share = 0.0, 1.0
        for name, (mean, log_sd) in _SPEC_EFFECTS.items():
            self.effects.add((name,), mean, log_sd)
        for gpu in gpus:
            self.rates(gpu, AMP)
            self.rates(gpu, FP32)

    def rates(self, name: str, precision: str, table: str = "") -> list[Terms]:
        """Terms of the log rate of each class on a GPU; `precision` : "fp32", "default" or "amp"."""
        gpu, reference, add = self.gpus[name], self.gpus[self.reference], self.effects.add
        compute: Terms = {}
        rest: Terms = {}
        if name != self.reference:
            watts = gpu.tdp_w / gpu.fp32_tflops / (reference.tdp_w / reference.fp32_tflops)
            compute = {
                add(("generation", str(gpu.compute_capability or 0.0)), 0.0, _GENERATION): 1.0,
                ("peak",): math.log(gpu.fp32_tflops / reference.fp32_tflops),
                ("power",): math.log(watts),
                add(("compute", name), 0.0, _COMPUTE): 1.0,
            }
            if precision != FP32:
                compute["tf32",] = log_tf32_peak(gpu)
            elif gpu.tf32_tensor_dense_tflops is not None:
                compute[add(("FP32 of generation", str(gpu.compute_capability or 0.0)), 0.0, _FP32)] = 1.0
            rest = {
                ("bandwidth",): math.log(gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s),
                ("efficiency",): 1.0,
                add(("bandwidth", name), 0.0, _BANDWIDTH): 1.0,
            }
        found = [dict(compute if place < ON_TENSOR_CORES else rest) for place in range(len(CLASSES))]
        if precision == AMP:
            self._add_amp(name, gpu, found, table)
        return found

    def _add_amp(self, name: str, gpu: Gpu, found: list[Terms], table: str) -> None:
        add = self.effects.add
        for place, terms in enumerate(found):
            on_tensor_cores = place < ON_TENSOR_CORES
            terms[add(("amp", name), 0.0, _AMP)] = 1.0
            if on_tensor_cores:
                terms["amp compute",] = 1.0
                terms["amp peak",] = math.log(peak_ratio(gpu) / USUAL_PEAK_RATIO)
            else:
                terms["amp bandwidth",] = 1.0
            if CLASSES[place] in ("product", "normalization", "depthwise"):
                terms[add(("amp class", CLASSES[place]), 0.0, _PRODUCT if on_tensor_cores else _CLASS)] = 1.0
            if table in (MLPERF, EXAMPLES):
                terms[add(("tuned", name), 0.0, _TUNED)] = 1.0
            if table and table != POINTS_TABLE:
                terms[add(("table", table, "compute" if on_tensor_cores else "bandwidth"), 0.0, _TABLE_AMP)] = 1.0

    def add_tables(self, rows: pd.DataFrame, reference_log_speed: float) -> None:
        """Rows of training: table, network, pixels, gpu, precision, shares, images_per_s."""
        for (table, network, pixels), group in _groups(rows, ["table", "network", "pixels"]):
            is_points = table == POINTS_TABLE
            mean = reference_log_speed if is_points else _TYPICAL
            offset = self.effects.add(("offset", table, network, str(pixels)), mean, 0.005 if is_points else _FREE)
            for row in _records(group):
                on_gpu = self.effects.add(("on", table, row.gpu), 0.0, _POINTS_ON_GPU if is_points else _ON_GPU)
                precision = row.precision if row.precision in (AMP, FP32) else "default"
                self.rows.append(
                    _Row(
                        row.gpu, table, math.log(row.images_per_s), _POINT if is_points else _ROW, row.shares,
                        self.rates(row.gpu, precision, table), row.precision, {offset: 1.0, on_gpu: 1.0},
                    )
                )  # fmt: skip

    def add_pairs(self, pairs: pd.DataFrame) -> None:
        """Ratios of AMP to FP32 or TF32 at small batches: as `load_pairs` gives them."""
        for row in _records(pairs):
            rest = 1 - row.share
            shares = (
                *(row.share * (1 - row.product_share), row.share * row.product_share),
                *(rest * row.normalization_share, rest * row.depthwise_share),
                rest * (1 - row.normalization_share - row.depthwise_share),
            )
            self.effects.add(("launch", row.table), 3.0, 0.7)
            self.rows.append(
                _Row(
                    row.gpu, row.table, row.log_speedup, _PAIR, shares,
                    self.rates(row.gpu, AMP, row.table),
                    over=self.rates(row.gpu, FP32 if row.over == FP32 else "default"),
                    launches=(row.table, row.layers / (1000 * row.base_ms)),
                )
            )  # fmt: skip

    def add_mlperf(self, speeds: pd.DataFrame, shares: Sequence[float]) -> None:
        """Results of MLPerf Training by round."""
        for row in _records(speeds):
            offset = self.effects.add(("offset", MLPERF, row.round), _TYPICAL, _FREE)
            self.rows.append(
                _Row(
                    row.gpu, MLPERF, math.log(row.images_per_s), _MLPERF, shares, self.rates(row.gpu, AMP, MLPERF), AMP,
                    {offset: 1.0},
                )
            )  # fmt: skip

    def add_forward(self, speeds: pd.DataFrame, shares: Mapping[str, Sequence[float]]) -> None:
        """Forward passes in AMP by network and version."""
        for (network, pixels, version), group in _groups(speeds, ["network", "pixels", "version"]):
            if shares.get(network) is None:
                continue
            offset = self.effects.add(("offset", _FORWARD_TABLE, network, str(pixels), version), _TYPICAL, _FREE)
            for row in _records(group):
                on_gpu = self.effects.add(("on", _FORWARD_TABLE, row.gpu), 0.0, _ON_GPU)
                self.rows.append(
                    _Row(
                        row.gpu, _FORWARD_TABLE, math.log(row.images_per_s), _FORWARD, shares[network],
                        self.rates(row.gpu, AMP, _FORWARD_TABLE), AMP, {offset: 1.0, on_gpu: 1.0},
                    )
                )  # fmt: skip

    def add_rates(self, table: str, gpu: str, compute: tuple[float, float], bandwidth: tuple[float, float]) -> None:
        """Log rates in FP32 that were measured kind by kind, each with its standard deviation."""
        for (value, log_sd), place in ((compute, 0), (bandwidth, -1)):
            shares = [0.0] * len(CLASSES)
            shares[place] = 1.0
            self.rows.append(_Row(gpu, table, value, log_sd, shares, self.rates(gpu, FP32)))


class FittedRates(Struct, frozen=True):
    """Fitted effects with their covariance."""

    evidence: RateRows
    values: np.ndarray
    covariance: np.ndarray

    def log_rates(self, gpu: str, precision: str) -> np.ndarray:
        """Log rate of each class, (classes,)."""
        found: np.ndarray = self.evidence.effects.matrix(self.evidence.rates(gpu, precision)) @ self.values
        return found

    def speed(self, gpu: str, precision: str, shares: Sequence[float], table: str = "") -> tuple[float, np.ndarray]:
        """Log speed of a step, and its slopes by the effects; `table` : whose code it is."""
        matrix = self.evidence.effects.matrix(self.evidence.rates(gpu, precision, table))
        left = np.asarray(shares) * np.exp(-matrix @ self.values)
        return -math.log(left.sum()), left @ matrix / left.sum()

    def log_sd(self, slopes: np.ndarray) -> float:
        """Standard deviation of a sum of effects."""
        return float(np.sqrt(slopes @ self.covariance @ slopes))


def ordered_pairs(gpus: Mapping[str, Gpu]) -> list[tuple[str, str]]:
    """Pairs of a generation of which the first has no less of everything, and more of something."""
    return [(one.name, two.name) for one, two in permutations(gpus.values(), 2) if no_less(one, two)]


def fit_rates(
    evidence: RateRows, without: str = "", keep: Collection[str] = (), start: np.ndarray | None = None
) -> FittedRates:
    """Fit all effects by Gauss-Newton steps from `start`.

    without : a GPU of whose rows only those of tables `keep` count; without any, nor does its order.
    """
    effects = evidence.effects
    pairs = [pair for pair in ordered_pairs(evidence.gpus) if keep or without not in pair]
    order = effects.matrix(_differences(evidence, pairs)) if pairs else None
    rows = [row for row in evidence.rows if row.gpu != without or row.table in keep]
    # Every effect of the order is known now.
    matrix = np.array([effects.matrix(row.rates) for row in rows])
    over = [None if row.over is None else effects.matrix(row.over) for row in rows]
    offsets = effects.matrix([row.offset for row in rows])
    means, precision = np.array(effects.means), np.array(effects.log_sds) ** -2.0
    wanted, row_sds = np.array([row.log_speed for row in rows]), np.array([row.log_sd for row in rows])
    shares = np.array([row.shares for row in rows])
    # The points are one careful source; of other tables some runs failed.
    trust = np.array([0.5 if row.table == POINTS_TABLE else 1.0 for row in rows])
    values = means.copy() if start is None else start.copy()
    active = np.zeros(0 if order is None else len(order), bool)
    gram = np.diag(precision)
    for _ in range(_ITERATIONS):
        left = shares * np.exp(-matrix @ values)
        slopes = np.einsum("rc,rcp->rp", left / left.sum(axis=1, keepdims=True), matrix) + offsets
        found = -np.log(left.sum(axis=1)) + offsets @ values
        for number, base in enumerate(over):
            if base is not None:
                found[number], slopes[number] = _ratio(rows[number], effects, matrix[number], base, values)
        error = (wanted - found) / row_sds
        weighted = slopes.T * ((1 + (error / _ROBUST) ** 2) ** -trust / row_sds)
        gram = weighted @ (slopes / row_sds[:, None]) + np.diag(precision)
        gradient = weighted @ error + precision * (means - values)
        if order is not None:
            active |= order @ values < -1e-9
            ties = order[active]
            gram = gram + ties.T @ ties / _TIE**2
            gradient = gradient - ties.T @ (ties @ values) / _TIE**2
        step = np.linalg.solve(gram, gradient)
        values = values + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-7:
            break
    return FittedRates(evidence, values, np.linalg.inv(gram))


def _differences(evidence: RateRows, pairs: Sequence[tuple[str, str]]) -> list[Terms]:
    """What is never negative: rates of the better GPU less the other's, by precision and code, of compute and rest."""
    found = []
    for better, other in pairs:
        for precision, table in ((FP32, ""), ("default", ""), (AMP, ""), (AMP, MLPERF)):
            one, two = (evidence.rates(name, precision, table) for name in (better, other))
            for place in (0, -1):
                found.append(
                    {key: one[place].get(key, 0.0) - two[place].get(key, 0.0) for key in {**one[place], **two[place]}}
                )
    return found


def _ratio(
    row: _Row, effects: _Effects, matrix: np.ndarray, base: np.ndarray, values: np.ndarray
) -> tuple[float, np.ndarray]:
    """Log ratio of two speeds of a step, joined with launches that neither makes faster, and its slopes."""
    assert row.launches is not None
    shares = np.asarray(row.shares)
    fast, slow = shares * np.exp(-matrix @ values), shares * np.exp(-base @ values)
    left = fast.sum() / slow.sum()
    slopes = left * (slow @ base / slow.sum() - fast @ matrix / fast.sum())
    table, layers_per_us = row.launches
    place = effects.places["launch", table]
    launch = min(math.exp(values[place]) * layers_per_us, 1.0)
    total = left**LAUNCH_POWER + launch**LAUNCH_POWER
    slopes = -(left ** (LAUNCH_POWER - 1)) / total * slopes
    if launch < 1:
        slopes[place] -= launch**LAUNCH_POWER / total
    return -math.log(total) / LAUNCH_POWER, slopes


#: Exponent for combining work and launches.
LAUNCH_POWER = 4.0


def published_evidence(
    measurements: Measurements, folder: Path, step_model: StepModel, reference: str, gpus: Mapping[str, Gpu]
) -> RateRows:
    """All that is published and measured; `reference` : instance whose GPU rates are relative to."""
    shares = network_shares(measurements)
    benchmark: Any = shares.by_class(BENCHMARK[0], BENCHMARK[1])
    found = RateRows(gpus, step_model.instances[reference].gpu, benchmark)
    pairs = load_pairs(folder, shares)
    found.no_tensor_cores_log_sd = float(log_sd_of(np.quantile(np.abs(pairs.plain["log_speedup"]), LEVEL)))
    points = pairs.amp["table"] == POINTS_TABLE
    found.activation_share = 1 / float(pairs.amp.loc[points, "batch_ratio"].median())
    rows = training_rows(folder, shares, gpus)
    found.add_tables(rows, _log_speed_of_reference(rows, found.reference))
    found.add_pairs(_small_batches(pairs.amp, gpus))
    found.add_mlperf(mlperf_speeds(folder), benchmark)
    forward = forward_speeds(folder)
    like: Any = {name: shares.by_class(other, BENCHMARK[1]) for name, other in _FORWARD_LIKE.items()}
    found.add_forward(forward[forward.network.isin(like)], like)
    for gpu, (rest, compute) in KERNELS.items():
        kernels = (math.log(compute), _KERNEL_COMPUTE), (math.log(rest), _KERNEL_BANDWIDTH)
        found.add_rates("kernels", gpu, *kernels)
    for name, row in step_model.instances.items():
        if name != reference:
            rates = step_model.log_rates(name, reference)
            compute, rest = (float(rates[KINDS.index(kind)]) for kind in (CONVOLUTION, BANDWIDTH))
            found.add_rates(_MEASURED, row.gpu, (compute, _PROFILED), (rest, _PROFILED))
    return found


def _log_speed_of_reference(rows: pd.DataFrame, reference: str) -> float:
    own = rows[(rows.table == POINTS_TABLE) & (rows.gpu == reference) & (rows.precision == FP32)]
    return float(np.log(own.images_per_s).median())


def _small_batches(pairs: pd.DataFrame, gpus: Mapping[str, Gpu]) -> pd.DataFrame:
    """Pairs of one script at batches of 12; other tables' rows count by themselves."""
    known = pairs[pairs.gpu.isin(set(gpus)) & pairs.table.str.contains("pytorch-gpu-benchmark")]
    return known.fillna(dict.fromkeys(("product_share", "normalization_share", "depthwise_share"), 0.0))


def _gpu_content(row: GpuRates) -> dict[str, Any]:
    return {key.replace("statement", "said"): value for key, value in asdict(row).items()}


def rates_content(fit: FittedRates, evidence: RateRows, widths: Mapping[str, float]) -> dict[str, Any]:
    """The rates as `transfer.json` holds them, with `evidence_widths`."""
    places, shares = evidence.effects.places, evidence.benchmark

    def value(*key: str) -> float:
        return float(fit.values[places[key]]) if key in places else 0.0

    def log_sd(*key: str) -> float:
        return float(np.sqrt(fit.covariance[places[key], places[key]]))

    gpus = {}
    for name in evidence.gpus:
        rows = [row for row in evidence.rows if row.gpu == name]
        fp32, default, amp = (fit.log_rates(name, precision) for precision in (FP32, "default", AMP))
        (_, of_fp32), (_, of_default), (_, of_amp) = (
            fit.speed(name, precision, shares) for precision in (FP32, "default", AMP)
        )
        gpus[name] = GpuRates(
            compute=float(default[0]),
            fp32_compute=float(fp32[0]),
            bandwidth=float(default[-1]),
            amp_compute=float(amp[0] - default[0]),
            amp_bandwidth=float(amp[-1] - default[-1]),
            log_sd=max(fit.log_sd(of_default), _MIN_LOG_SD),
            fp32_log_sd=max(fit.log_sd(of_fp32), _MIN_LOG_SD),
            amp_log_sd=max(fit.log_sd(of_amp - of_default), _MIN_LOG_SD),
            tuned=value("tuned", name),
            tables=len({row.table for row in rows}),
        )
    classes = [value("amp class", name) for name in CLASSES]
    tuned = [value("table", EXAMPLES, part) for part in ("compute", "bandwidth")]
    slopes = [fit.speed(evidence.reference, AMP, shares, table)[1] for table in (EXAMPLES, "")]
    capabilities = sorted({gpu.compute_capability for gpu in evidence.gpus.values() if gpu.compute_capability})
    generations = [
        {
            "compute_capability": one,
            "effect": value("generation", str(one)),
            "log_sd": log_sd("generation", str(one)),
            "fp32_effect": value("FP32 of generation", str(one)),
        }
        for one in capabilities
    ]
    from_specs = {name.replace(" ", "_"): value(name) for name in _SPEC_EFFECTS}
    return {
        "law": {
            **from_specs,
            "generations": generations,
            "generation_log_sd": _GENERATION,
            "own_log_sd": math.hypot(_COMPUTE * sum(shares[:ON_TENSOR_CORES]), _BANDWIDTH),
            "tf32_log_sd": _FP32,
            "amp_log_sd": _AMP,
        },
        "gpus": {name: _gpu_content(row) for name, row in gpus.items()},
        "amp_classes": classes,
        "tuned": tuned,
        "tuned_log_sd": math.hypot(fit.log_sd(slopes[0] - slopes[1]), _TUNED),
        **widths,
        "within_log_sd": _WITHIN,
        "no_tensor_cores_log_sd": evidence.no_tensor_cores_log_sd,
        "activation_share": evidence.activation_share,
    }


#: No speed is known better; and what networks' speedups by a precision differ by from the model.
_MIN_LOG_SD, _WITHIN = 0.02, 0.10


def _judged_rows(evidence: RateRows, gpu: str) -> list[_Row]:
    """Published speeds of training on a GPU.

    Forward passes are not judged, nor is the half precision of a script in versions of PyTorch that differ by GPU.
    """
    rows = [row for row in evidence.rows if row.gpu == gpu and row.offset and row.table != _FORWARD_TABLE]
    return [row for row in rows if row.table != SCRIPT_TABLE or row.precision != AMP]


def held_out_rows(evidence: RateRows, start: np.ndarray, gpu: str, keep: Collection[str]) -> pd.DataFrame:
    """Rows of a GPU by a fit that saw only those of its tables `keep`; none of a table that has no other GPU.

    Returns
    -------
    Columns gpu, kept (their number), table, precision, log error, and log_sd, of the benchmark's speed there.
    """
    seen = {key for row in evidence.rows if row.gpu != gpu or row.table in keep for key in row.offset}
    rows = [row for row in _judged_rows(evidence, gpu) if row.table not in keep]
    rows = [row for row in rows if any(key in seen for key in row.offset if key[0] == "offset")]
    fit, found = fit_rates(evidence, gpu, keep, start), []
    for row in rows:
        left = np.asarray(row.shares) * np.exp(-evidence.effects.matrix(row.rates) @ fit.values)
        error = row.log_speed + math.log(left.sum()) - float(evidence.effects.matrix([row.offset])[0] @ fit.values)
        precision = row.precision if row.precision in (AMP, FP32) else "default"
        log_sd = fit.log_sd(fit.speed(gpu, precision, evidence.benchmark)[1])
        found.append((gpu, len(keep), row.table, row.precision, error, log_sd))
    return pd.DataFrame(found, columns=["gpu", "kept", "table", "precision", "error", "log_sd"])


def held_out_tables(evidence: RateRows, spread: Spread, progress: Progress | None = None) -> pd.DataFrame:
    """Published speeds of every GPU but the profiled ones, by fits that saw none, one, and all others of its tables.

    Returns
    -------
    `held_out_rows`, and of each: away, the absolute error in standard deviations of a step by `spread`.
    """
    profiled = {row.gpu for row in evidence.rows if row.table == _MEASURED} | {evidence.reference}
    start, tasks = fit_rates(evidence).values, []
    for gpu in evidence.gpus:
        tables = {row.table for row in evidence.rows if row.gpu == gpu}
        judged = {row.table for row in _judged_rows(evidence, gpu)} if gpu not in profiled else set()
        kept = {frozenset[str](), *(frozenset(tables - {one}) for one in judged)}
        kept |= {frozenset({one}) for one in tables if judged - {one}}
        tasks += [(evidence, start, gpu, keep) for keep in sorted(kept, key=sorted) if judged]
    rows = pd.concat(run_tasks(held_out_rows, tasks, progress=progress, threads=True), ignore_index=True)
    return rows.assign(away=rows["error"].abs() / np.hypot(rows["log_sd"], spread.log_sd()))


def evidence_widths(rows: pd.DataFrame) -> dict[str, float]:
    """Factors on standard deviations by which 90% intervals hold as much of `held_out_tables`.

    GPUs with one and with several tables miss by as much. As rows of a GPU go together, the level is that of a GPU
    which is new to as many.
    """
    found = {}
    for name, part in (("published_width", rows[rows["kept"] > 0]), ("specs_width", rows[rows["kept"] == 0])):
        level = LEVEL * (1 + 1 / max(part["gpu"].nunique(), 1))
        found[name] = float(part["away"].quantile(min(level, 1.0)) / quantile()) if len(part) else 1.0
    return found
