"""Speed of a GPU relative to the reference GPU."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from profet_core.catalog.gpus import Gpu
from profet_core.messages import Code, Note
from profet_core.transfer.law import InstanceStep, relative_tails
from profet_core.transfer.model import CalibratedGpu
from profet_core.transfer.specs import log_tf32_gain
from profet_core.transfer.targets import Evidence, Host, Source, Speed, Target

if TYPE_CHECKING:
    from profet_core.transfer.model import TransferModel

#: A network with more or less arithmetic than the benchmark gains more or less from a GPU whose arithmetic grew faster
#: than its bandwidth. The model tilts kinds halfway. A quarter of the roofline model's additional effect counts as one
#: standard deviation.
MIX_SHARE = 0.25


def known_speed(model: TransferModel, gpu: Gpu, tf32: bool) -> Speed:
    """Best known speed of a GPU: its published points, else its specs.

    Points of GPUs with TF32 are TF32. FP32 has other points, or specs, never above TF32.
    """
    has_tf32 = gpu.tf32_tensor_dense_tflops is not None
    in_tf32 = tf32 and has_tf32
    points = model.points if in_tf32 or not has_tf32 else model.fp32_points
    if point := points.get(gpu.name):
        return _speed(model, point.log_speed, point.log_sd, point.evidence(gpu.name), in_tf32)
    reference = model.gpus[model.reference_gpu]
    log_speed, log_sd = model.specs.log_speed(gpu, reference), model.specs.log_sd(gpu, reference)
    if has_tf32 and not in_tf32:
        log_speed = min(log_speed - log_tf32_gain(model.gpus, gpu), known_speed(model, gpu, True).log_speed)
    source = Source.GENERATION if model.specs.knows(gpu) else Source.SPECS
    return _speed(model, log_speed, log_sd, Evidence(source, gpu.name), in_tf32)


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
        return Evidence(Source.CELLS, gpu.name, said=calibrated.said)
    if gpu.name in model.derived:
        return Evidence(Source.DERIVED, gpu.name)
    return known_speed(model, gpu, tf32).evidence


def _speed(model: TransferModel, log_speed: float, log_sd: float, evidence: Evidence, in_tf32: bool) -> Speed:
    precision = "TF32" if in_tf32 else "FP32"
    notes = (
        Note(Code.BASED_ON, precision=precision, evidence=evidence.note),
        Note(Code.SPREAD, gpus=model.spread.gpus),
    )
    return Speed(log_speed, log_sd, model.spread.log_sd(log_sd), evidence, notes)


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
    calibrated = model.calibrated_gpu(gpu, tf32)
    if calibrated is not None:
        return _calibrated_target(calibrated, model.step.instances[model.reference], gpu, host)
    speed = _beside_cells(model, gpu, known_speed(model, gpu, tf32), tf32)
    reference = model.gpus[model.reference_gpu]
    target = Target(
        host=host,
        tails=tails_of(model.step.instances[model.reference], gpu, speed.log_speed),
        log_speed=speed.log_speed,
        log_bandwidth=math.log(gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s),
        log_sd=speed.step_log_sd,
        mix_log_sd=mix_log_sd(gpu, reference, tf32),
    )
    return target, speed


def _beside_cells(model: TransferModel, gpu: Gpu, speed: Speed, tf32: bool) -> Speed:
    """Note that a GPU was measured in the other precision only, which this speed doesn't use."""
    other = model.calibrated.get((gpu.name, not tf32))
    if other is None:
        return speed
    precision, how = ("TF32", "with") if other.tf32 else ("FP32", "without")
    note = Note(Code.OTHER_PRECISION_STEPS, said=other.said, precision=precision, how=how)
    return replace(speed, notes=(note, *speed.notes))


def _calibrated_target(
    calibrated: CalibratedGpu, reference: InstanceStep, gpu: Gpu, host: Host
) -> tuple[Target, Speed]:
    """Target from its measured steps, which also cover the effect of the operation mix."""
    note = Note(Code.MEASURED_STEPS, said=calibrated.said, networks=calibrated.networks)
    evidence = Evidence(Source.CELLS, gpu.name, said=calibrated.said)
    target = Target(
        host=host,
        tails=tails_of(reference, gpu, calibrated.log_speed),
        log_speed=calibrated.log_speed,
        log_bandwidth=calibrated.log_bandwidth,
        log_sd=calibrated.log_sd,
        mix_log_sd=0.0,
    )
    return target, Speed(calibrated.log_speed, calibrated.log_sd, calibrated.log_sd, evidence, (note,))


def tails_of(reference: InstanceStep, gpu: Gpu, log_speed: float) -> float:
    """Kernel tails of a GPU over V100's; `log_speed`: on the benchmark's work, over the reference's."""
    return relative_tails(gpu.sm_count, sum(reference.benchmark_kinds_ms) * math.exp(-log_speed))


def mix_log_sd(gpu: Gpu, reference: Gpu, tf32: bool) -> float:
    """Spread from the mix of operations, for a step that differs from the benchmark's by its whole compute share."""
    peak = gpu.tf32_tensor_dense_tflops if tf32 and gpu.tf32_tensor_dense_tflops else gpu.fp32_tflops
    grew = math.log(peak / reference.fp32_tflops) - math.log(gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s)
    return MIX_SHARE * abs(grew)
