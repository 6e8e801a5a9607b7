"""Calibrate a GPU with a few measured workloads.

The residual of the analytical model is the mean of a Gaussian process over features of a step known without the GPU,
one per anchor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.files import JsonObject
from profet_core.transfer.known import KnownSteps
from profet_core.transfer.parts import KINDS, shares

#: Standard deviations in the logarithm: of the residual near a workload, of a constant in it, per standard deviation of
#: an input, and of a workload's own. Chosen by leave-one-GPU-out (`profet validate --cells`).
LOCAL_LOG_SD, CONSTANT_LOG_SD, LINEAR_LOG_SD, NOISE_LOG_SD = 0.10, 0.05, 0.03, 0.06
#: Length scale in standard deviations of the inputs.
LENGTH = 1.5
#: About the mean log of the measured latencies, milliseconds: keeps the first input near zero.
_TYPICAL_LOG_MS = 3.0


@dataclass(frozen=True)
class Correction:
    """Residual of the analytical model for steps recorded on one anchor, learned from cells.

    Attributes
    ----------
    mean, scale : of the inputs, (inputs,). cells : standardized inputs of the measured workloads, (cells, inputs).
    weights : (cells,).
    """

    mean: FloatArray
    scale: FloatArray
    cells: FloatArray
    weights: FloatArray

    def log_factors(self, inputs: FloatArray) -> FloatArray:
        """Log ratio of the step to the analytical model, (profiles,), from `correction_inputs`."""
        return covariance((inputs - self.mean) / self.scale, self.cells) @ self.weights


@dataclass(frozen=True)
class SharpenedGpu:
    """Calibration of one GPU from cells.

    Attributes
    ----------
    gpu : its full name. instance : the owner's name of the machine that ran them. tf32 : whether they ran in TF32.
    cells, networks : numbers of measured workloads and of their networks.
    log_speed, log_bandwidth : as in `targets.Target`. log_sd : of a new network's step, in the logarithm.
    corrections : anchor -> residual of the analytical model.
    """

    gpu: str
    instance: str
    tf32: bool
    cells: int
    networks: int
    log_speed: float
    log_bandwidth: float
    log_sd: float
    corrections: Mapping[str, Correction]

    @property
    def said(self) -> str:
        """Short description of its basis."""
        return f"{self.cells} measured step{'' if self.cells == 1 else 's'} of {self.instance}"

    def log_factors(self, known: KnownSteps, free_ms: FloatArray, launch_ms: FloatArray, ms: FloatArray) -> FloatArray:
        """Log residual of the analytical model, (profiles,); see `correction_inputs`. Zero for other anchors."""
        found = self.corrections.get(known.anchor)
        if found is None:
            return np.zeros(ms.shape)
        inputs = correction_inputs(known, free_ms, launch_ms, ms)
        return found.log_factors(np.where(np.isfinite(inputs), inputs, found.mean))


def correction_inputs(known: KnownSteps, free_ms: FloatArray, launch_ms: FloatArray, ms: FloatArray) -> FloatArray:
    """Features of steps that are known without the GPU, (profiles, inputs).

    Parameters
    ----------
    free_ms, launch_ms, ms : the model's prediction for it: without the host's limit, of launches, and of both,
        (profiles,).

    Returns
    -------
    inputs : size of the step, its mix of kinds, launches, copy, and the step on each profiled instance relative to the
        model's prediction; NaN for an instance with unknown latency.
    """
    base = np.log(ms)
    kinds = shares(known.parts.kinds_ms)
    launched = np.log(np.maximum(launch_ms, 1e-9) / free_ms)
    beside = [
        np.log(known.latencies[name].latency_ms) - base if name in known.latencies else np.full(base.shape, np.nan)
        for name in known.law.instances
    ]
    return np.column_stack(
        [
            base - _TYPICAL_LOG_MS,
            kinds[:, : len(KINDS) - 1],
            np.tanh(launched / 2),
            known.parts.copy_ms / ms,
            *beside,
        ]
    )


def covariance(one: FloatArray, other: FloatArray) -> FloatArray:
    """Covariance of residuals at standardized inputs, (profiles, inputs) and (cells, inputs): (profiles, cells)."""
    apart: FloatArray = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
    near = LOCAL_LOG_SD**2 * np.exp(-apart / (2 * LENGTH**2))
    return near + LINEAR_LOG_SD**2 * (one @ other.T) + CONSTANT_LOG_SD**2


def sharpened_of(rows: Sequence[JsonObject]) -> dict[tuple[str, bool], SharpenedGpu]:
    """Parse a file's content, by full name and TF32; raises `ValueError` or similar for invalid content."""
    found = [_sharpened(row) for row in rows]
    return {(one.gpu, one.tf32): one for one in found}


def _sharpened(row: JsonObject) -> SharpenedGpu:
    numbers = {name: float(row[name]) for name in ("log_speed", "log_bandwidth", "log_sd")}
    if not np.isfinite(list(numbers.values())).all() or numbers["log_sd"] < 0:
        raise ValueError("speeds and spread are numbers")
    return SharpenedGpu(
        gpu=str(row["gpu"]),
        instance=str(row["instance"]),
        tf32=bool(row["tf32"]),
        cells=int(row["cells"]),
        networks=int(row["networks"]),
        corrections={str(name): _correction(one) for name, one in row["corrections"].items()},
        **numbers,
    )


def _correction(row: JsonObject) -> Correction:
    found = Correction(**{name: np.array(row[name], float) for name in ("mean", "scale", "cells", "weights")})
    cells, inputs = found.cells.shape
    shapes = found.mean.shape, found.scale.shape, found.weights.shape
    if shapes != ((inputs,), (inputs,), (cells,)) or not (found.scale > 0).all():
        raise ValueError("a correction's arrays don't belong together")
    if not all(np.isfinite(one).all() for one in (found.mean, found.cells, found.weights)):
        raise ValueError("a correction's arrays hold numbers")
    return found


def sharpened_content(gpu: SharpenedGpu) -> dict[str, object]:
    """Content in the format of `sharpened_of`."""
    corrections = {
        name: {
            "mean": one.mean.tolist(),
            "scale": one.scale.tolist(),
            "cells": one.cells.tolist(),
            "weights": one.weights.tolist(),
        }
        for name, one in gpu.corrections.items()
    }
    plain = ("gpu", "instance", "tf32", "cells", "networks", "log_speed", "log_bandwidth", "log_sd")
    return {**{name: getattr(gpu, name) for name in plain}, "corrections": corrections}
