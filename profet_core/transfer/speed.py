"""Speed of a GPU relative to the reference GPU."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from profet_core.catalog.gpus import Gpu
from profet_core.messages import Code, Note
from profet_core.transfer.carry import Targets
from profet_core.transfer.law import BANDWIDTH, CONVOLUTION, KINDS, PRODUCT, shares
from profet_core.transfer.model import CalibratedGpu
from profet_core.transfer.targets import Evidence, Host, Source, Speed, Target

if TYPE_CHECKING:
    from profet_core.transfer.model import TransferModel

#: A network with more or less arithmetic than the benchmark gains more or less from a GPU whose arithmetic grew faster
#: than its bandwidth. The model tilts kinds halfway. A quarter of the roofline model's additional effect counts as one
#: standard deviation.
MIX_SHARE = 0.25
#: Number of cached sets of targets: those of whole catalogs, and of a few questions with named targets.
_MOST_SETS = 64


def known_speed(model: TransferModel, gpu: Gpu, tf32: bool) -> Speed:
    """Best known speed of a GPU: its published points, its kernels, a related GPU's points with specs, or specs alone.

    Points of GPUs with TF32 are TF32. FP32 has other points, kernels or specs, never above TF32.
    """
    in_tf32 = tf32 and gpu.tf32_tensor_dense_tflops is not None
    has_tf32 = gpu.tf32_tensor_dense_tflops is not None
    points = model.points if in_tf32 or not has_tf32 else model.fp32_points
    if point := points.get(gpu.name):
        return _speed(model, point.log_speed, point.log_sd, point.evidence(gpu.name), in_tf32)
    log_speed, log_sd, evidence = _unpublished(model, gpu, in_tf32)
    if has_tf32 and not in_tf32:
        log_speed = min(log_speed, known_speed(model, gpu, True).log_speed)
    return _speed(model, log_speed, log_sd, evidence, in_tf32)


def evidence_of(model: TransferModel, gpu: Gpu, tf32: bool) -> Evidence:
    """Evidence for a GPU's predictions; `known_speed` only counts if nobody ran the networks on it."""
    if gpu.name in {row.gpu for row in model.step.instances.values()}:
        return Evidence(Source.PROFILED, gpu.name, gpu.name)
    if calibrated := model.calibrated_gpu(gpu, tf32):
        return Evidence(Source.CELLS, gpu.name, gpu.name, said=calibrated.said)
    if gpu.name in model.derived:
        return Evidence(Source.DERIVED, gpu.name, gpu.name)
    return known_speed(model, gpu, tf32).evidence


def _speed(model: TransferModel, log_speed: float, log_sd: float, evidence: Evidence, in_tf32: bool) -> Speed:
    precision = "TF32" if in_tf32 else "FP32"
    notes = (
        Note.of(Code.BASED_ON, precision=precision, evidence=evidence.note),
        Note.of(Code.SPREAD, gpus=model.spread.gpus),
    )
    return Speed(log_speed, log_sd, model.spread.log_sd(log_sd), evidence, notes)


def _unpublished(model: TransferModel, gpu: Gpu, in_tf32: bool) -> tuple[float, float, Evidence]:
    """Log speed, its standard deviation, and the source of both."""
    if chip := _same_chip(model, gpu, in_tf32):
        name, log_speed, log_sd = chip
        log_sd = math.hypot(model.same_chip_log_sd, log_sd)
        return log_speed, log_sd, Evidence(Source.SAME_CHIP, gpu.name, name)
    if gpu.name in model.kernels:
        evidence = Evidence(Source.KERNELS, gpu.name, gpu.name)
        return kernel_log_speed(model, gpu, in_tf32), model.kernel_log_sd, evidence
    relative = _relative(model, gpu) if in_tf32 or gpu.tf32_tensor_dense_tflops is None else None
    if relative is not None:
        theirs, sheets = model.points[relative], model.gpus
        log_speed = theirs.log_speed + sheet_log_speed(gpu, sheets[relative], in_tf32)
        log_sd = math.hypot(model.relative_log_sd, theirs.log_sd)
        return log_speed, log_sd, Evidence(Source.RELATIVE, gpu.name, theirs.measured_on)
    log_speed = sheet_log_speed(gpu, model.gpus[model.reference_gpu], in_tf32)
    return log_speed, model.sheet_log_sd, Evidence(Source.DATA_SHEET, gpu.name)


def kernel_log_speed(model: TransferModel, gpu: Gpu, in_tf32: bool) -> float:
    """Log benchmark speed over the reference's from kernel speeds, weighted by their shares of the benchmark."""
    kernels = model.kernels[gpu.name]
    share = dict(zip(KINDS, shares(model.step.instances[model.reference].benchmark_kinds_ms), strict=True))
    convolution = kernels.get(CONVOLUTION, kernels[PRODUCT]) + (tf32_log_gain(gpu) if in_tf32 else 0.0)
    bandwidth = log_bandwidth(model, gpu)
    computed = share[CONVOLUTION] + share[PRODUCT]
    return -math.log(computed * math.exp(-convolution) + (1 - computed) * math.exp(-bandwidth))


def tf32_log_gain(gpu: Gpu) -> float:
    """Log speedup of convolutions and products in TF32, if kernels are known in FP32 only.

    It is the square root of the ratio of peaks. With it, kernels of A100 and H100 match their published TF32 speeds
    (`python -m profet_lab.transfer.kernel_check`); with one factor for all GPUs they don't.
    """
    return math.log((gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops) / gpu.fp32_tflops) / 2


def log_bandwidth(model: TransferModel, gpu: Gpu) -> float:
    """Log speed of bandwidth-bound work over the reference's, from kernels or specs."""
    measured = model.kernels.get(gpu.name, {}).get(BANDWIDTH)
    if measured is not None:
        return measured
    return math.log(gpu.bandwidth_gb_per_s / model.gpus[model.reference_gpu].bandwidth_gb_per_s)


def target_of(model: TransferModel, gpu: Gpu, host: Host, tf32: bool) -> tuple[Target, Speed]:
    """Target of a GPU in a host for `carry`, and the known speed."""
    key = gpu, host, tf32
    found = model.targets.get(key)
    if found is None:
        found = _target_of(model, gpu, host, tf32)
        if _is_shipped(model, gpu):
            model.targets[key] = found
    return found


def targets_of(
    model: TransferModel, placed: tuple[tuple[Gpu, Host], ...], tf32: bool
) -> tuple[Targets, tuple[Speed, ...]]:
    """`target_of` for many GPUs and hosts at once; cached, because every prediction needs the same ones."""
    key = placed, tf32
    found = model.target_sets.get(key)
    if found is None:
        rows = [target_of(model, gpu, host, tf32) for gpu, host in placed]
        found = Targets(target for target, _ in rows), tuple(speed for _, speed in rows)
        if all(_is_shipped(model, gpu) for gpu, _ in placed):
            if len(model.target_sets) >= _MOST_SETS:
                model.target_sets.clear()
            model.target_sets[key] = found
    return found


def _is_shipped(model: TransferModel, gpu: Gpu) -> bool:
    """Whether a GPU is shipped; custom GPUs are released with the model that knows them."""
    return model.gpus.get(gpu.name) is gpu and gpu.name not in model.gpus.own


def _target_of(model: TransferModel, gpu: Gpu, host: Host, tf32: bool) -> tuple[Target, Speed]:
    calibrated = model.calibrated_gpu(gpu, tf32)
    if calibrated is not None:
        return _calibrated_target(calibrated, gpu, host)
    speed = _beside_cells(model, gpu, known_speed(model, gpu, tf32), tf32)
    target = Target(
        host=host,
        multiprocessors=gpu.sm_count,
        log_speed=speed.log_speed,
        log_bandwidth=log_bandwidth(model, gpu),
        log_sd=speed.step_log_sd,
        mix_log_sd=mix_log_sd(gpu, model.gpus[model.reference_gpu], tf32),
    )
    return target, speed


def _beside_cells(model: TransferModel, gpu: Gpu, speed: Speed, tf32: bool) -> Speed:
    """Note that a GPU was measured in the other precision only, which this speed doesn't use."""
    other = model.calibrated.get((gpu.name, not tf32))
    if other is None:
        return speed
    precision, how = ("TF32", "with") if other.tf32 else ("FP32", "without")
    note = Note.of(Code.OTHER_PRECISION_STEPS, said=other.said, precision=precision, how=how)
    return replace(speed, notes=(note, *speed.notes))


def _calibrated_target(calibrated: CalibratedGpu, gpu: Gpu, host: Host) -> tuple[Target, Speed]:
    """Target from its measured steps, which also cover the effect of the operation mix."""
    note = Note.of(Code.MEASURED_STEPS, said=calibrated.said, networks=calibrated.networks)
    evidence = Evidence(Source.CELLS, gpu.name, gpu.name, said=calibrated.said)
    target = Target(
        host=host,
        multiprocessors=gpu.sm_count,
        log_speed=calibrated.log_speed,
        log_bandwidth=calibrated.log_bandwidth,
        log_sd=calibrated.log_sd,
        mix_log_sd=0.0,
    )
    return target, Speed(calibrated.log_speed, 0.0, calibrated.log_sd, evidence, (note,))


def mix_log_sd(gpu: Gpu, reference: Gpu, tf32: bool) -> float:
    """Spread from the mix of operations, for a step that differs from the benchmark's by its whole compute share."""
    peak = gpu.tf32_tensor_dense_tflops if tf32 and gpu.tf32_tensor_dense_tflops else gpu.fp32_tflops
    grew = math.log(peak / reference.fp32_tflops) - math.log(gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s)
    return MIX_SHARE * abs(grew)


def _same_chip(model: TransferModel, gpu: Gpu, in_tf32: bool) -> tuple[str, float, float] | None:
    """A profiled or published GPU with the same chip: its name, log speed and standard deviation."""
    profiled = {row.gpu: (beside_reference(model, name), 0.0) for name, row in model.step.instances.items()}
    points = model.points if in_tf32 or gpu.tf32_tensor_dense_tflops is None else model.fp32_points
    known = profiled | {name: (point.log_speed, point.log_sd) for name, point in points.items()}
    for name, (log_speed, log_sd) in known.items():
        sheet = None if name in model.gpus.own else model.gpus.get(name)
        if sheet is not None and _chip(sheet) == _chip(gpu) and name != gpu.name:
            fp32 = gpu.fp32_tflops / sheet.fp32_tflops
            return name, log_speed + half_and_half(fp32, gpu.bandwidth_gb_per_s / sheet.bandwidth_gb_per_s), log_sd
    return None


def beside_reference(model: TransferModel, instance: str) -> float:
    """Log speedup of a profiled instance over the reference on the benchmark's work."""
    rows = model.step.instances
    return math.log(rows[model.reference].benchmark_work_ms / rows[instance].benchmark_work_ms)


def _chip(gpu: Gpu) -> tuple[float | None, int]:
    return gpu.compute_capability, gpu.sm_count


def _relative(model: TransferModel, gpu: Gpu) -> str | None:
    """A GPU of the same compute capability with a point: the nearest in number of SMs."""
    same = [
        name
        for name in model.points
        # No other GPU's speed is inferred from a custom GPU.
        if name in model.gpus
        and name not in model.gpus.own
        and model.gpus[name].compute_capability == gpu.compute_capability
    ]
    return min(same, key=lambda name: abs(math.log(model.gpus[name].sm_count / gpu.sm_count)), default=None)


def sheet_log_speed(gpu: Gpu, other: Gpu, in_tf32: bool) -> float:
    """Log ratio of two GPUs' speeds from specs: half arithmetic, half bandwidth.

    TF32 counts for half of the arithmetic because networks gain far less from it than the peak suggests.
    """
    bandwidth = gpu.bandwidth_gb_per_s / other.bandwidth_gb_per_s
    fp32 = half_and_half(gpu.fp32_tflops / other.fp32_tflops, bandwidth)
    if not in_tf32:
        return fp32
    peaks = [one.tf32_tensor_dense_tflops or one.fp32_tflops for one in (gpu, other)]
    return (fp32 + half_and_half(peaks[0] / peaks[1], bandwidth)) / 2


def half_and_half(arithmetic: float, bandwidth: float) -> float:
    """Log ratio of two GPUs' speeds, half by their peak arithmetic and half by their bandwidth."""
    return (math.log(arithmetic) + math.log(bandwidth)) / 2
