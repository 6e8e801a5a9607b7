"""Speed of a GPU relative to the reference GPU, and its source."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from profet_core.catalog.gpus import Gpu
from profet_core.errors import Code, Note
from profet_core.transfer.model import CalibratedGpu
from profet_core.transfer.rates import GpuRates, log_speed
from profet_core.transfer.targets import Evidence, Host, Source, Speed, Target

if TYPE_CHECKING:
    from profet_core.transfer.model import TransferModel


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
