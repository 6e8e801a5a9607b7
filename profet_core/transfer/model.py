"""Transfers latencies to unprofiled GPUs: reads `transfer.json`, and says how fast a GPU is and by what evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.gpus import Gpu, Gpus, load_gpus
from profet_core.errors import ArtifactError, Code, Note
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder, shown
from profet_core.latency import Basis, FloatArray
from profet_core.transfer.rates import GpuRates, Rates, log_speed, rates_of
from profet_core.transfer.targets import Evidence, Host, Source, Speed, host_named
from profet_core.transfer.work import WorkReader, readers_of

# The residual of the analytical model is the mean of a Gaussian process over features of a step known without the GPU,
# one per anchor.

#: Standard deviations in the logarithm: of the residual near a workload, of a constant in it, per standard deviation of
#: an input, and of a workload's own. Chosen by leave-one-GPU-out (`profet validate --cells`).
LOCAL_LOG_SD, CONSTANT_LOG_SD, LINEAR_LOG_SD, NOISE_LOG_SD = 0.10, 0.05, 0.03, 0.06
#: Length scale in standard deviations of the inputs.
LENGTH_SCALE = 1.5
#: About the mean log of the measured latencies, milliseconds: keeps the first input near zero.
_TYPICAL_LOG_MS = 3.0


class Correction(Struct, frozen=True):
    """Residual of the analytical model for steps recorded on one anchor, learned from cells.

    Attributes
    ----------
    mean, scale : of the inputs, (inputs,).
    cells : standardized inputs of the measured workloads, (cells, inputs).
    weights : (cells,).
    """

    mean: FloatArray
    scale: FloatArray
    cells: FloatArray
    weights: FloatArray

    def log_factors(self, inputs: FloatArray) -> FloatArray:
        """Log ratio of the step to the analytical model, (profiles,), from `correction_inputs`."""
        return covariance((inputs - self.mean) / self.scale, self.cells) @ self.weights


class CalibratedGpu(Struct, frozen=True):
    """Calibration of one GPU from cells.

    Attributes
    ----------
    gpu : its full name.
    instance : the owner's name of the machine that ran them.
    tf32 : whether they ran in TF32.
    cells, networks : numbers of measured workloads and of their networks.
    compute, bandwidth : as in `targets.Target`.
    log_sd : of a new network's step, in the logarithm.
    corrections : anchor -> residual of the analytical model.
    """

    gpu: str
    instance: str
    tf32: bool
    cells: int
    networks: int
    compute: float
    bandwidth: float
    log_sd: float
    corrections: Mapping[str, Correction]

    @property
    def description(self) -> str:
        """Short description of its basis."""
        return f"{self.cells} measured step{'' if self.cells == 1 else 's'} of {self.instance}"


def covariance(one: FloatArray, other: FloatArray) -> FloatArray:
    """Covariance of residuals at standardized inputs, (profiles, inputs) and (cells, inputs): (profiles, cells)."""
    apart: FloatArray = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
    near = LOCAL_LOG_SD**2 * np.exp(-apart / (2 * LENGTH_SCALE**2))
    return near + LINEAR_LOG_SD**2 * (one @ other.T) + CONSTANT_LOG_SD**2


def calibrated_of(rows: Sequence[JsonObject]) -> dict[tuple[str, bool], CalibratedGpu]:
    """Parse a file's content, by full name and TF32; raises `ValueError` or similar for invalid content."""
    found = [_calibrated(row) for row in rows]
    return {(one.gpu, one.tf32): one for one in found}


def _calibrated(row: JsonObject) -> CalibratedGpu:
    numbers = {name: float(row[name]) for name in ("compute", "bandwidth", "log_sd")}
    if not np.isfinite(list(numbers.values())).all() or numbers["log_sd"] < 0:
        raise ValueError("speeds and spread are numbers")
    return CalibratedGpu(
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


def calibrated_content(gpu: CalibratedGpu) -> dict[str, object]:
    """Content in the format of `calibrated_of`."""
    corrections = {
        name: {
            "mean": one.mean.tolist(),
            "scale": one.scale.tolist(),
            "cells": one.cells.tolist(),
            "weights": one.weights.tolist(),
        }
        for name, one in gpu.corrections.items()
    }
    plain = ("gpu", "instance", "tf32", "cells", "networks", "compute", "bandwidth", "log_sd")
    return {**{name: getattr(gpu, name) for name in plain}, "corrections": corrections}


TRANSFER_NAME = "transfer.json"
TRANSFER_VERSION = 11
#: File in the same folder for GPUs with a few measured workloads.
CALIBRATED_NAME, CALIBRATED_VERSION = "calibrated.json", 2


class ProfiledInstance(Struct, frozen=True):
    """An instance that was profiled.

    Attributes
    ----------
    gpu : its full name.
    inferred_log_half_width : 90% of steps are within this of the latency inferred from their profile, in the logarithm.
    """

    gpu: str
    host: Host
    inferred_log_half_width: float


class TransferModel(Struct, frozen=True, dict=True):
    """Model for estimates on unprofiled GPUs.

    Attributes
    ----------
    profiled : instance -> what is known of it.
    reference : profiled instance with the GPU that rates are relative to.
    rates : of all GPUs.
    readers : profiled instance -> what infers the work of a step from its profiles.
    calibrated : by full GPU name and TF32, GPUs calibrated with a few measured workloads.
    checksum : of the file's content.
    """

    profiled: Mapping[str, ProfiledInstance]
    reference: str
    rates: Rates
    readers: Mapping[str, WorkReader]
    calibrated: Mapping[tuple[str, bool], CalibratedGpu]
    gpus: Gpus
    fitted_on: Mapping[str, str]
    checksum: str

    @property
    def instances(self) -> tuple[str, ...]:
        """Profiled instances: each can be the anchor."""
        return tuple(self.profiled)

    @cached_property
    def profiled_gpus(self) -> Mapping[str, str]:
        """Full GPU name -> the instance that was profiled with it, or with its twin."""
        profiled = {row.gpu: name for name, row in self.profiled.items()}
        twins = {gpu.name: self.gpus.twin(gpu).name for gpu in self.gpus.values()}
        return {**{name: profiled[twin] for name, twin in twins.items() if twin in profiled}, **profiled}

    def calibrated_gpu(self, gpu: Gpu, tf32: bool) -> CalibratedGpu | None:
        """Calibration of a GPU in this precision from measured steps."""
        return self.calibrated.get((gpu.name, tf32 and gpu.tf32_tensor_dense_tflops is not None))

    def basis_of(self, gpu: Gpu, tf32: bool = True) -> Basis:
        """Basis of a latency on an unprofiled GPU: steps measured on it, or none."""
        return Basis.TRANSFERRED if self.calibrated_gpu(gpu, tf32) is None else Basis.CALIBRATED

    @cached_property
    def evidence(self) -> dict[tuple[Gpu, bool], Evidence]:
        """Cache of `speed.evidence_of`."""
        return {}

    @property
    def reference_gpu(self) -> str:
        """Full name of the reference instance's GPU."""
        return self.profiled[self.reference].gpu


def load_transfer(folder: Path | str | None = None, gpus: Gpus | None = None) -> TransferModel:
    """Load `transfer.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    path = models_folder(folder) / TRANSFER_NAME
    model = load_coefficients(path, TRANSFER_VERSION, lambda content: transfer_model(content, gpus or load_gpus()))
    calibrated = path.with_name(CALIBRATED_NAME)
    return _with_calibrated(model, calibrated) if calibrated.exists() else model


def _with_calibrated(model: TransferModel, path: Path) -> TransferModel:
    """Add the file's calibrated GPUs, with a few measured workloads, to the model."""

    def parse(content: JsonObject) -> TransferModel:
        if content.get("transfer_checksum") != model.checksum:
            raise ArtifactError(
                f"{shown(path)} belongs to another {TRANSFER_NAME}: run `profet train` with its data again."
            )
        return replace(model, calibrated=MappingProxyType(calibrated_of(content["gpus"])))

    return load_coefficients(path, CALIBRATED_VERSION, parse)


def transfer_model(content: JsonObject, gpus: Gpus) -> TransferModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    model = TransferModel(
        profiled=MappingProxyType({str(name): _profiled(row) for name, row in content["profiled"].items()}),
        reference=str(content["reference"]),
        rates=rates_of(content["rates"]),
        readers=readers_of(content["work"]),
        calibrated=MappingProxyType({}),
        gpus=gpus,
        fitted_on=MappingProxyType(dict(content["fitted_on"])),
        checksum=str(content["checksum"]),
    )
    if model.reference_gpu not in gpus:
        raise ValueError(f"no specs of {model.reference_gpu}")
    return replace(model, rates=model.rates.with_unlisted(gpus.shipped, gpus[model.reference_gpu]))


def _profiled(row: JsonObject) -> ProfiledInstance:
    width = finite_number(row["inferred_log_half_width"])
    return ProfiledInstance(str(row["gpu"]), host_named(str(row["host"])), width)


def known_rates(model: TransferModel, gpu: Gpu) -> GpuRates:
    """Best known rates of a GPU: published tables, a user's statement, or its specs."""
    return model.rates.of_gpu(gpu, model.gpus[model.reference_gpu])


def known_speed(model: TransferModel, gpu: Gpu, tf32: bool) -> Speed:
    """How well the speed of a GPU is known in TF32, if it has that and `tf32` is requested, or in FP32."""
    rates, in_tf32 = known_rates(model, gpu), tf32 and gpu.tf32_tensor_dense_tflops is not None
    log_sd = rates.log_sd if in_tf32 or gpu.tf32_tensor_dense_tflops is None else rates.fp32_log_sd
    evidence = _evidence_of_rates(model, gpu, rates, tf32)
    notes = (Note(Code.BASED_ON, precision="TF32" if in_tf32 else "FP32", evidence=evidence.note),)
    return Speed(log_sd, evidence, notes)


def _evidence_of_rates(model: TransferModel, gpu: Gpu, rates: GpuRates, tf32: bool) -> Evidence:
    if rates.statement:
        return Evidence(Source.CUSTOM, gpu.name, statement=rates.statement if tf32 else rates.fp32_statement)
    if rates.tables:
        return Evidence(Source.PUBLISHED, gpu.name, tables=rates.tables)
    known = gpu.compute_capability in model.rates.from_specs.generations
    return Evidence(Source.GENERATION if known else Source.SPECS, gpu.name)


def evidence_of(model: TransferModel, gpu: Gpu, tf32: bool) -> Evidence:
    """Evidence for a GPU's predictions; `known_speed` counts only if the networks were not measured on it."""
    key = gpu, tf32
    if key not in model.evidence:
        model.evidence[key] = _evidence(model, gpu, tf32)
    return model.evidence[key]


def _evidence(model: TransferModel, gpu: Gpu, tf32: bool) -> Evidence:
    if gpu.name in {row.gpu for row in model.profiled.values()}:
        return Evidence(Source.PROFILED, gpu.name)
    if calibrated := model.calibrated_gpu(gpu, tf32):
        return Evidence(Source.CELLS, gpu.name, statement=calibrated.description)
    return known_speed(model, gpu, tf32).evidence


def speed_of(model: TransferModel, gpu: Gpu, tf32: bool) -> Speed:
    """How well the speed of an unprofiled GPU is known."""
    calibrated = model.calibrated_gpu(gpu, tf32)
    if calibrated is None:
        return _beside_cells(model, gpu, known_speed(model, gpu, tf32), tf32)
    note = Note(Code.MEASURED_STEPS, steps=calibrated.description, networks=calibrated.networks)
    evidence = Evidence(Source.CELLS, gpu.name, statement=calibrated.description)
    return Speed(calibrated.log_sd, evidence, (note,))


#: Share of convolutions and products in the benchmark's work on the reference GPU.
_BENCHMARK_COMPUTE_SHARE = 0.615


def benchmark_log_speed(model: TransferModel, compute: float, bandwidth: float) -> float:
    """Log speed of the benchmark over the reference GPU's."""
    return log_speed((_BENCHMARK_COMPUTE_SHARE, 1 - _BENCHMARK_COMPUTE_SHARE), (compute, bandwidth))


def _beside_cells(model: TransferModel, gpu: Gpu, speed: Speed, tf32: bool) -> Speed:
    """Note that a GPU was measured in the other precision only, which this speed doesn't use."""
    other = model.calibrated.get((gpu.name, not tf32))
    if other is None:
        return speed
    precision, how = ("TF32", "with") if other.tf32 else ("FP32", "without")
    note = Note(Code.OTHER_PRECISION_STEPS, steps=other.description, precision=precision, how=how)
    return replace(speed, notes=(note, *speed.notes))
