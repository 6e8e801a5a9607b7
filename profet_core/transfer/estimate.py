"""Latency on GPUs that nobody profiled, from what is known of the step on GPUs that were.

Two ways, and an estimate's basis names the one it took. Derived: the GPU ran the same networks in another source of
measurements (`derived.py`). Transferred: the step's GPU time is carried over from each profiled instance by one
constant, the ratio of a benchmark network's GPU times, or of data sheets; copy, start and the launch floor stay as they
are (`step.py`). Neither is a measurement: intervals rest on an assumption that the estimate's note names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.latency import NORMAL_90, Basis
from profet_core.transfer.derived import DerivedLaw, derive, relative_half_width
from profet_core.transfer.known import AnchorSteps, KnownSteps, Latencies, known_steps
from profet_core.transfer.model import TransferModel
from profet_core.transfer.speed import Speed, known_speed, mix_log_sd
from profet_core.transfer.step import StepLaw, gpu_time_ms

LEAST_FREE_SHARE = 0.02
#: Hosts of the measured instances launch at speeds this far apart (g4dn against p3), in the logarithm; that of a GPU's
#: instance is not known.
HOST_LOG_SD = 0.26


@dataclass(frozen=True, slots=True)
class KernelWeights:
    """How known latencies are weighed in the geometric mean of what each gives for the GPU.

    weight = free share ** free_share_power * exp(-nearness * |log speed|): by the share of the step that launches don't
    hide, and by an exponential kernel over the distance of the two GPUs' speeds. Not inverse variances: the setting was
    chosen by leaving one GPU out among any three (`python -m profet_lab.transfer.weights`); over all settings tried
    there the mean error moves by less than 2 points. Without T4 or V100 the choice would be power 0: GPUs judged by the
    choice made without them err by 10.2 % instead of 10.0 %.
    """

    free_share_power: float = 1.0
    nearness: float = 2.0


WEIGHTS = KernelWeights()


@dataclass(frozen=True)
class TransferEstimate:
    """Latencies of many steps on a GPU that nobody profiled, with a 90 % interval under the assumption in `note`.

    Attributes
    ----------
    basis : derived or transferred.
    relative_to, relative_log_half_width : a profiled instance, and half the interval of log(latency / latency there),
        (profiles,), where errors of the known latencies cancel as far as they are shared: for asking which of the two
        is cheaper.
    weights : profiled instance -> power of its latency, (profiles,). free_ms, launch_ms : as `Reach` has them.
    """

    latencies: Latencies
    basis: Basis
    note: str
    relative_to: str
    relative_log_half_width: np.ndarray
    weights: Mapping[str, np.ndarray]
    free_ms: np.ndarray
    launch_ms: np.ndarray


def estimate_gpus(
    model: TransferModel,
    recorded: AnchorSteps,
    others: Mapping[str, Latencies],
    gpus: Iterable[Gpu],
    *,
    tf32: bool,
) -> dict[str, TransferEstimate]:
    """Latencies on GPUs that were not profiled, by their full names.

    Parameters
    ----------
    recorded : on one of `model.instances`.
    others : other profiled instances -> latencies there, predicted or measured.
    tf32 : convolutions and products run in TF32 where the GPU has it, as frameworks do unasked.
    """
    known = known_steps(model.step, recorded, others)
    return {gpu.name: _estimate(model, known, gpu, tf32) for gpu in gpus}


def _estimate(model: TransferModel, known: KnownSteps, gpu: Gpu, tf32: bool) -> TransferEstimate:
    law = model.derived.get(gpu.name)
    if law and all(name in known.latencies for name in law.instances):
        return _derived(law, known, gpu, tf32)
    return _transferred(model, known, gpu, tf32)


def _derived(law: DerivedLaw, known: KnownSteps, gpu: Gpu, tf32: bool) -> TransferEstimate:
    found = derive(law, known.latencies)
    half, relative = found.log_half_width, relative_half_width(law, known.latencies)
    if tf32 != law.tf32 and gpu.tf32_tensor_dense_tflops:
        half, relative = (np.hypot(one, NORMAL_90 * law.other_precision_log_sd) for one in (half, relative))
    return TransferEstimate(
        latencies=Latencies(found.latency_ms, half),
        basis=Basis.DERIVED,
        note=law.note(gpu, tf32),
        relative_to=law.base,
        relative_log_half_width=relative,
        weights={name: np.full(found.latency_ms.shape, power) for name, power in law.powers.items()},
        free_ms=found.latency_ms,
        launch_ms=np.zeros(found.latency_ms.shape),
    )


def _transferred(model: TransferModel, known: KnownSteps, gpu: Gpu, tf32: bool) -> TransferEstimate:
    speed = known_speed(model, gpu, tf32)
    away = known.parts.compute_share - model.step.instances[known.anchor].benchmark_compute_share
    log_speed = _log_speeds(model, speed)
    found = transfer(known, log_speed, speed.log_half_width, mix_log_sd(model, gpu, tf32, away))
    # The weights move with launches and speed: no part of the known latencies' errors is sure to cancel.
    relative = np.hypot(found.log_half_width, known.latencies[known.anchor].log_half_width)
    return TransferEstimate(
        latencies=found,
        basis=Basis.TRANSFERRED,
        note=speed.note,
        relative_to=known.anchor,
        relative_log_half_width=relative,
        weights=dict(zip(known.latencies, _normalised_weights(known, log_speed, WEIGHTS), strict=True)),
        free_ms=carried_gpu_ms(known, log_speed) + known.fixed_ms,
        launch_ms=known.floor_ms,
    )


def _log_speeds(model: TransferModel, speed: Speed) -> dict[str, float]:
    """How many times faster a GPU is than each profiled instance's, in the logarithm."""
    reference_ms = model.step.instances[model.reference].benchmark_gpu_ms
    return {
        name: speed.log_speed + math.log(row.benchmark_gpu_ms / reference_ms)
        for name, row in model.step.instances.items()
    }


def transfer(
    known: KnownSteps,
    log_speed: Mapping[str, float],
    log_half_width: float,
    mix_log_sd: np.ndarray | float,
    *,
    weights: KernelWeights = WEIGHTS,
) -> Latencies:
    """Latencies on a GPU: the weighted geometric mean of GPU times carried over, then copy, start and launches.

    Parameters
    ----------
    log_speed : instance -> logarithm of how many times faster the GPU is than the instance's.
    log_half_width : 90 % half width, but for what follows.
    mix_log_sd : spread from the mix of operations, (profiles,); it weighs as much as GPU time does. The intervals of
        the known latencies and the doubt about the host are added here.
    """
    weight = _normalised_weights(known, log_speed, weights)
    gpu_ms = carried_gpu_ms(known, log_speed, weights)
    latency_ms = np.maximum(gpu_ms + known.fixed_ms, known.floor_ms)
    host_share = _host_share(gpu_ms, known.fixed_ms, known.floor_ms)
    known_half = (weight * [row.log_half_width for row in known.latencies.values()]).sum(axis=0)
    assumed = np.hypot(HOST_LOG_SD * host_share, mix_log_sd * (1 - host_share))
    return Latencies(latency_ms, np.sqrt(log_half_width**2 + known_half**2 + (NORMAL_90 * assumed) ** 2))


def carried_gpu_ms(known: KnownSteps, log_speed: Mapping[str, float], weights: KernelWeights = WEIGHTS) -> np.ndarray:
    """GPU time, (profiles,): the weighted geometric mean of those that are known, each carried over."""
    weight = _normalised_weights(known, log_speed, weights)
    logs = [
        np.log(gpu_time_ms(row.latency_ms, known.fixed_ms)) - log_speed[name] for name, row in known.latencies.items()
    ]
    return np.exp((weight * logs).sum(axis=0))


def _normalised_weights(known: KnownSteps, log_speed: Mapping[str, float], weights: KernelWeights) -> np.ndarray:
    """(instances, profiles)."""
    found = []
    for name, row in known.latencies.items():
        free = np.clip(1 - known.floor_ms / row.latency_ms, LEAST_FREE_SHARE, 1)
        found.append(free**weights.free_share_power * math.exp(-weights.nearness * abs(log_speed[name])))
    return np.array(found) / np.sum(found, axis=0)


def other_host_log_half_width(law: StepLaw, recorded: AnchorSteps, latency_ms: np.ndarray) -> np.ndarray:
    """Doubt about a latency that is known on the same GPU in another instance, (profiles,).

    Half the width of a 90 % interval in the logarithm: the host launches and copies at a speed that nobody measured.
    """
    fixed_ms = law.fixed_ms(recorded.parts)
    floor_ms = law.floor_ms(recorded.parts, recorded.anchor, recorded.latency_ms)
    return NORMAL_90 * HOST_LOG_SD * _host_share(gpu_time_ms(latency_ms, fixed_ms), fixed_ms, floor_ms)


def _host_share(gpu_ms: np.ndarray, fixed_ms: np.ndarray, floor_ms: np.ndarray) -> np.ndarray:
    return 1 - gpu_ms / (gpu_ms + np.maximum(fixed_ms, floor_ms))
