"""Fit and write `transfer.json`: the transfer to unprofiled GPUs, with speeds from published ones and specs."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from profet_core.catalog.gpus import Gpu, Gpus, load_gpus
from profet_core.files import sha256_hex
from profet_core.transfer.law import StepLaw
from profet_core.transfer.model import TRANSFER_VERSION, BenchmarkPoint
from profet_core.transfer.specs import SpecsLaw, log_tf32_gain
from profet_lab.measurements.published import (
    EPOCHS_FILE,
    MORE_POINTS_FILE,
    POINTS_FILE,
    POINTS_TABLE,
    THROUGHPUT_FILE,
    load_epochs,
    published_ratios,
)
from profet_lab.measurements.tables import ARCHITECTURES_FILE, Measurements
from profet_lab.models_folder import signed
from profet_lab.transfer.derived_law import fit_derived
from profet_lab.transfer.leave_one_gpu_out import anchor_spread, spread
from profet_lab.transfer.step_law import fit_step_law, measured_medians

#: Prior standard deviation of the intercept and of both powers: wide.
_PRIOR_LOG_SD = 1.0
#: Where the search for the standard deviations starts, in the logarithm: own, table, noise, other network, generation.
_START = (0.05, 0.05, 0.05, 0.1, 0.3)
#: None of the standard deviations is below this.
_LEAST_LOG_SD = 0.02
#: Table of the profiled GPUs.
_MEASURED = "measured"
#: Tables that the law follows; others agree with them up to one factor each.
_YARDSTICKS = (POINTS_TABLE, _MEASURED)


@dataclass(frozen=True)
class _Observations:
    """Log speeds over the reference's, one a GPU and table, and the law's inputs.

    same_generation, same_gpu, same_table : (rows, rows), 0 or 1. other_network : not of ResNet-50, (rows,), 0 or 1.
    """

    log_speed: np.ndarray
    specs: np.ndarray
    same_generation: np.ndarray
    same_gpu: np.ndarray
    same_table: np.ndarray
    other_network: np.ndarray

    def covariance(self, log_sds: np.ndarray) -> np.ndarray:
        """Prior covariance with noise; `log_sds`: in the order of `_START`."""
        own, table, noise, other, generation = log_sds**2
        prior = _PRIOR_LOG_SD**2 * self.specs @ self.specs.T + generation * self.same_generation
        return prior + own * self.same_gpu + table * self.same_table + np.diag(noise + other * self.other_network)


def observed_speeds(ratios: pd.DataFrame, law: StepLaw, reference: str) -> pd.DataFrame:
    """Published ratios of GPUs as they run by default, and the profiled GPUs' measured ones."""
    work_ms = {row.gpu: row.benchmark_work_ms for row in law.instances.values()}
    base = law.instances[reference].benchmark_work_ms
    columns = ["gpu", "table", "resnet50", "log_ratio"]
    measured = [(gpu, _MEASURED, True, math.log(base / value)) for gpu, value in work_ms.items()]
    return pd.concat([ratios[columns], pd.DataFrame(measured, columns=columns)], ignore_index=True)


def fit_specs(
    speeds: pd.DataFrame, gpus: Gpus, reference: Gpu, *, without: Collection[str] = ()
) -> tuple[SpecsLaw, dict[str, tuple[float, float]], float]:
    """Fit the specs law by maximum marginal likelihood of its standard deviations.

    Other tables than the one of the points share an error each, because each has one V100.

    speeds : as `observed_speeds` gives them. without : GPUs to leave out.

    Returns:
    law, known, noise_log_sd : `known` by GPU of `speeds`: log speed and its standard deviation with the GPU's own
        tables. `noise_log_sd` : of one table's figure.
    """
    kept = speeds[~speeds.gpu.isin(set(without))]
    names = list(dict.fromkeys(kept.gpu))
    capabilities = [gpus[name].compute_capability for name in names]
    generations = tuple(sorted({value for value in capabilities if value is not None}))
    law = SpecsLaw(np.zeros(3), np.eye(3), generations, 0.0, 0.0, len(names))
    by_gpu = np.array([law.columns(gpus[name], reference) for name in names])
    row_of = kept.gpu.map({name: row for row, name in enumerate(names)}).to_numpy()
    columns, table = by_gpu[row_of], kept.table.to_numpy()
    data = _Observations(
        log_speed=kept.log_ratio.to_numpy(),
        specs=columns[:, :3],
        same_generation=columns[:, 3:] @ columns[:, 3:].T,
        same_gpu=(row_of[:, None] == row_of[None]).astype(float),
        same_table=((table[:, None] == table[None]) & ~np.isin(table, _YARDSTICKS)).astype(float),
        other_network=(~kept.resnet50.to_numpy(bool)).astype(float),
    )
    log_sds = _most_likely(data)
    own, _, noise, _, generation = log_sds
    prior = np.diag([_PRIOR_LOG_SD**2] * 3 + [generation**2] * len(generations))
    inverse = np.linalg.inv(data.covariance(log_sds))
    gain = prior @ columns.T @ inverse
    law = replace(
        law,
        coefficients=gain @ data.log_speed,
        covariance=prior - gain @ columns @ prior,
        generation_log_sd=float(generation),
        own_log_sd=float(own),
    )
    cross = by_gpu @ prior @ columns.T + own**2 * (np.arange(len(names))[:, None] == row_of[None])
    mean = cross @ inverse @ data.log_speed
    variance = ((by_gpu @ prior) * by_gpu).sum(axis=1) + own**2 - ((cross @ inverse) * cross).sum(axis=1)
    known = {name: (float(mean[row]), math.sqrt(variance[row])) for row, name in enumerate(names)}
    return law, known, float(noise)


def _most_likely(data: _Observations) -> np.ndarray:
    def loss(logs: np.ndarray) -> float:
        covariance = data.covariance(np.maximum(np.exp(logs), _LEAST_LOG_SD))
        return float(np.linalg.slogdet(covariance)[1] + data.log_speed @ np.linalg.solve(covariance, data.log_speed))

    found = minimize(
        loss, np.log(_START), method="Nelder-Mead", options={"maxiter": 2000, "xatol": 1e-4, "fatol": 1e-6}
    )
    return np.maximum(np.exp(found.x), _LEAST_LOG_SD)


def benchmark_points(
    ratios: pd.DataFrame, law: StepLaw, reference: str, gpus: Gpus
) -> tuple[SpecsLaw, dict[str, BenchmarkPoint], dict[str, BenchmarkPoint]]:
    """The specs law, a point of each published GPU as it runs by default, and FP32 points of GPUs with TF32.

    ratios : as `published_ratios` gives them. reference : instance that speeds are relative to.
    """
    sheet = gpus[law.instances[reference].gpu]
    has_tf32 = ratios.gpu.map(lambda name: gpus[name].tf32_tensor_dense_tflops is not None)
    by_default = ratios[ratios.tf32 == has_tf32]
    speeds = observed_speeds(by_default, law, reference)
    specs, known, noise = fit_specs(speeds, gpus, sheet)
    points = {}
    for name, tables in by_default.groupby("gpu"):
        held_out, _, _ = fit_specs(speeds, gpus, sheet, without=[str(name)])
        log_speed, log_sd = known[str(name)]
        points[str(name)] = BenchmarkPoint(
            log_speed=log_speed,
            log_sd=log_sd,
            tables=len(tables),
            published=_mean(tables),
            held_out=held_out.log_speed(gpus[str(name)], sheet),
        )
    fp32_points = {}
    for name, tables in ratios[~ratios.tf32 & has_tf32].groupby("gpu"):
        gpu, published = gpus[str(name)], _mean(tables)
        fp32_points[str(name)] = BenchmarkPoint(
            log_speed=published,
            log_sd=noise / math.sqrt(len(tables)),
            tables=len(tables),
            published=published,
            held_out=specs.log_speed(gpu, sheet) - log_tf32_gain(gpus, gpu),
        )
    return specs, points, fp32_points


def _mean(tables: pd.DataFrame) -> float:
    """Of ResNet-50's ratios where there are any."""
    kept = tables[tables.resnet50] if tables.resnet50.any() else tables
    return float(kept.log_ratio.mean())


_FILES = (ARCHITECTURES_FILE, EPOCHS_FILE, POINTS_FILE, MORE_POINTS_FILE, THROUGHPUT_FILE)
#: Instance with the GPU that published points are relative to.
REFERENCE = "p3.2xlarge"


def transfer_content(measurements: Measurements, folder: Path) -> dict:
    """What `transfer.json` holds, fitted on all measurements and the files of `folder/external`."""
    epochs = load_epochs(folder, measurements.all_latencies)
    medians = measured_medians(measurements)
    gpus = load_gpus()
    everything = np.ones(len(medians.workloads), bool)
    law = fit_step_law(medians, medians.instances, everything)
    specs, points, fp32_points = benchmark_points(published_ratios(folder), law, REFERENCE, gpus)
    content = {
        "schema_version": TRANSFER_VERSION,
        "reference": REFERENCE,
        "step": asdict(law),
        "spread": asdict(spread(medians, medians.instances, everything)),
        "anchor_spread": asdict(anchor_spread(medians, medians.instances, everything)),
        "specs": {
            **asdict(specs),
            "coefficients": specs.coefficients.tolist(),
            "covariance": specs.covariance.tolist(),
        },
        "points": {name: asdict(row) for name, row in points.items()},
        "fp32_points": {name: asdict(row) for name, row in fp32_points.items()},
        "derived": {name: asdict(row) for name, row in fit_derived(epochs).items()},
        "fitted_on": {
            **measurements.sha256,
            **{str(name): sha256_hex((folder / name).read_bytes()) for name in _FILES},
        },
    }
    return signed(content)
