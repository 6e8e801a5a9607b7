"""Transfers latencies to unprofiled GPUs: reads `transfer.json`, and says how fast a GPU is and by what evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.gpus import Gpu, Gpus, load_gpus
from profet_core.errors import ArtifactError, Code, Note
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder, shown
from profet_core.latency import Basis, FloatArray, combined_sd
from profet_core.transfer.rates import GpuRates, Rates, log_speed, rates_of
from profet_core.transfer.step_model import KINDS, InstanceStep, StepModel, WorkReader, readers_of, shares
from profet_core.transfer.steps import KnownSteps
from profet_core.transfer.targets import Evidence, Host, Source, Speed, Target

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
    others = [
        np.log(known.latencies[name].latency_ms) - base if name in known.latencies else np.full(base.shape, np.nan)
        for name in known.step_model.instances
    ]
    return np.column_stack(
        [
            base - _TYPICAL_LOG_MS,
            kinds[:, : len(KINDS) - 1],
            np.tanh(launched / 2),
            known.parts.copy_ms / ms,
            *others,
        ]
    )


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
TRANSFER_VERSION = 10
#: File in the same folder for GPUs with a few measured workloads.
CALIBRATED_NAME, CALIBRATED_VERSION = "calibrated.json", 2


class Spread(Struct, frozen=True):
    """Log errors on held-out GPUs, with the latencies on the others known.

    Attributes
    ----------
    between : root mean square of each GPU's mean error.
    within : standard deviation of the networks' errors around it.
    gpus : number of held-out GPUs.
    """

    between: float
    within: float
    gpus: int

    def log_sd(self, *more: float) -> float:
        """Log standard deviation of a step; `more`: additional ones of the GPU's own error."""
        return float(combined_sd(self.between, self.within, *more))


class TransferModel(Struct, frozen=True, dict=True):
    """Model for estimates on unprofiled GPUs.

    Attributes
    ----------
    reference : profiled instance with the GPU that rates are relative to.
    spread : errors of leave-one-GPU-out with a benchmark point.
    anchor_spread : with the GPU held out as anchor.
    rates : of all GPUs.
    readers : profiled instance -> what infers the work of a step from its profiles.
    calibrated : by full GPU name and TF32, GPUs calibrated with a few measured workloads.
    checksum : of the file's content.
    """

    step: StepModel
    reference: str
    spread: Spread
    anchor_spread: Spread
    rates: Rates
    readers: Mapping[str, WorkReader]
    calibrated: Mapping[tuple[str, bool], CalibratedGpu]
    gpus: Gpus
    fitted_on: Mapping[str, str]
    checksum: str

    @property
    def instances(self) -> tuple[str, ...]:
        """Profiled instances: each can be the anchor."""
        return tuple(self.step.instances)

    @cached_property
    def profiled_gpus(self) -> Mapping[str, str]:
        """Full GPU name -> the instance that was profiled with it, or with its twin."""
        profiled = {row.gpu: name for name, row in self.step.instances.items()}
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

    @cached_property
    def targets(self) -> dict[tuple[Gpu, Host, bool], tuple[Target, Speed]]:
        """Cache of `speed.target_of` by GPU, host and TF32: every prediction needs all of them."""
        return {}

    @cached_property
    def generations(self) -> dict[float | None, float]:
        """Cache of `speed.generation_log_speed`."""
        return {}

    @property
    def reference_gpu(self) -> str:
        """Full name of the reference instance's GPU."""
        return self.step.instances[self.reference].gpu


_Record = TypeVar("_Record", InstanceStep, Spread)


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
    step = content["step"]
    model = TransferModel(
        step=StepModel(
            start_ms=finite_number(step["start_ms"]),
            copy_factor=finite_number(step["copy_factor"]),
            tail_share=finite_number(step["tail_share"]),
            scattered_power=finite_number(step["scattered_power"]),
            instances=MappingProxyType({name: _instance_step(row) for name, row in step["instances"].items()}),
        ),
        reference=str(content["reference"]),
        spread=_record(Spread, content["spread"]),
        anchor_spread=_record(Spread, content["anchor_spread"]),
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


def _instance_step(row: JsonObject) -> InstanceStep:
    return _record(InstanceStep, {**row, "inferred_log_half_width": row["own_log_half_width"]})


def _record(kind: type[_Record], row: JsonObject) -> _Record:
    values: dict[str, Any] = {name: _value(type_, row[name]) for name, type_ in kind.__annotations__.items()}
    return kind(**values)


def _value(kind: str, value: Any) -> Any:
    if kind == "float":
        return finite_number(value)
    return tuple(finite_number(one) for one in value) if kind == "tuple[float, ...]" else value


def known_rates(model: TransferModel, gpu: Gpu) -> GpuRates:
    """Best known rates of a GPU: published tables, a user's statement, or its specs."""
    return model.rates.of_gpu(gpu, model.gpus[model.reference_gpu])


def known_speed(model: TransferModel, gpu: Gpu, tf32: bool) -> Speed:
    """How well the speed of a GPU is known in TF32, if it has that and `tf32` is requested, or in FP32."""
    rates, in_tf32 = known_rates(model, gpu), tf32 and gpu.tf32_tensor_dense_tflops is not None
    log_sd = rates.log_sd if in_tf32 or gpu.tf32_tensor_dense_tflops is None else rates.fp32_log_sd
    evidence = _evidence_of_rates(model, gpu, rates, tf32)
    notes = (
        Note(Code.BASED_ON, precision="TF32" if in_tf32 else "FP32", evidence=evidence.note),
        Note(Code.SPREAD, gpus=model.spread.gpus),
    )
    # Specs alone make no step surer than tables do.
    least, step_log_sd = (
        width * model.spread.log_sd(more)
        for width, more in ((model.rates.published_width, 0.0), (model.rates.width(rates), log_sd))
    )
    return Speed(log_sd, max(least, step_log_sd), evidence, notes)


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
    if gpu.name in {row.gpu for row in model.step.instances.values()}:
        return Evidence(Source.PROFILED, gpu.name)
    if calibrated := model.calibrated_gpu(gpu, tf32):
        return Evidence(Source.CELLS, gpu.name, statement=calibrated.description)
    return known_speed(model, gpu, tf32).evidence


def target_of(model: TransferModel, gpu: Gpu, host: Host, tf32: bool) -> tuple[Target, Speed]:
    """Target of a GPU in a host for `transfer_steps`, and the known speed."""
    key = gpu, host, tf32
    found = model.targets.get(key)
    if found is None:
        found = _target_of(model, gpu, host, tf32)
        if _is_shipped(model, gpu):
            model.targets[key] = found
    return found


def _is_shipped(model: TransferModel, gpu: Gpu) -> bool:
    """Whether a GPU is shipped; custom GPUs are released with the model that knows them."""
    return model.gpus.get(gpu.name) is gpu and gpu.name not in model.gpus.own


def _target_of(model: TransferModel, gpu: Gpu, host: Host, tf32: bool) -> tuple[Target, Speed]:
    rates = known_rates(model, gpu)
    compute, bandwidth = rates.compute_in(tf32), rates.bandwidth
    calibrated = model.calibrated_gpu(gpu, tf32)
    if calibrated is not None:
        compute, bandwidth = calibrated.compute, calibrated.bandwidth
        speed = _calibrated_speed(calibrated, gpu)
    else:
        speed = _beside_cells(model, gpu, known_speed(model, gpu, tf32), tf32)
    target = Target(
        host=host,
        compute=compute,
        bandwidth=bandwidth,
        nearness=generation_log_speed(model, gpu),
        log_sd=speed.step_log_sd,
    )
    return target, speed


def benchmark_log_speed(model: TransferModel, compute: float, bandwidth: float) -> float:
    """Log speed of the benchmark over the reference GPU's."""
    share = model.step.instances[model.reference].benchmark_compute_share
    return log_speed((share, 1 - share), (compute, bandwidth))


def generation_log_speed(model: TransferModel, gpu: Gpu) -> float:
    """Median log speed of the GPUs of a generation in their default precision; its own for a GPU of none.

    No precision has another one: a step is transferred from the same instances in all of them.
    """
    key = gpu.compute_capability
    if key not in model.generations:
        same = [one for one in model.gpus.shipped.values() if one.compute_capability == gpu.compute_capability]
        rates = [known_rates(model, one) for one in same or [gpu]]
        speeds = [benchmark_log_speed(model, one.compute, one.bandwidth) for one in rates]
        model.generations[key] = median(speeds)
    return model.generations[key]


def _beside_cells(model: TransferModel, gpu: Gpu, speed: Speed, tf32: bool) -> Speed:
    """Note that a GPU was measured in the other precision only, which this speed doesn't use."""
    other = model.calibrated.get((gpu.name, not tf32))
    if other is None:
        return speed
    precision, how = ("TF32", "with") if other.tf32 else ("FP32", "without")
    note = Note(Code.OTHER_PRECISION_STEPS, steps=other.description, precision=precision, how=how)
    return replace(speed, notes=(note, *speed.notes))


def _calibrated_speed(calibrated: CalibratedGpu, gpu: Gpu) -> Speed:
    """Speed by measured steps."""
    note = Note(Code.MEASURED_STEPS, steps=calibrated.description, networks=calibrated.networks)
    evidence = Evidence(Source.CELLS, gpu.name, statement=calibrated.description)
    return Speed(calibrated.log_sd, calibrated.log_sd, evidence, (note,))
