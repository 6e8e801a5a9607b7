"""What steps on a GPU say of its rates, and what the speed of each GPU is based on.

A GPU's costs by kind are normal around those of its specs and generation. Steps move them as the fit on published
steps does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import numpy as np

from profet_core.catalog.gpus import Gpu, Host, host_named
from profet_core.errors import Code, Note
from profet_core.latency import SMOOTH_MAX_POWER, Basis, FloatArray, smooth_max
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of
from profet_core.layers.rates import (
    ELEMENTS,
    FLOPS,
    KINDS,
    ONCE,
    PRODUCTS,
    Framework,
    GpuEffects,
    Mode,
    RateModel,
    UserEffects,
    case_key,
    case_of,
    has_rates,
    rate_model_of,
)
from profet_core.prediction.models import Models


class KnownStep(NamedTuple):
    """A step on a GPU.

    Attributes
    ----------
    network : its name: errors of steps of one network are alike.
    log_sd : error of the rates on networks like it, in the logarithm.
    log_ratio : what is known of the network elsewhere, as `MeasuredRatios.corrections` has it.
    """

    network: str
    counts: Counts
    batch_size: int
    mode: Mode
    host: Host
    latency_ms: float
    log_sd: float
    log_ratio: float = 0.0


def known_step(
    model: RateModel,
    network: str,
    counts: Counts,
    batch_size: int,
    mode: Mode,
    machine: tuple[Gpu, Host],
    latency_ms: float,
) -> KnownStep:
    """Return a step with what is known of its network on other GPUs; `network` : as `MeasuredRatios` calls it."""
    generation = machine[0].compute_capability or 0.0
    ratios, shares = model.known.corrections(network, [generation], [mode], batch_size, counts.pixels)
    log_sd = model.log_sds[case_key(case_of(counts), mode, batch_size)] * math.sqrt(shares.item())
    return KnownStep(network, counts, batch_size, mode, machine[1], latency_ms, log_sd, ratios.item())


class Prior(NamedTuple):
    """Standard deviations of logarithms of a GPU's costs before any step of it.

    Attributes
    ----------
    speed : of all kinds of work.
    part : of its compute, and of its bandwidth, besides.
    kind, group : of a kind of work, and of kinds that a program's kernels make slower together.
    launch : of launches.
    """

    speed: float
    part: float
    kind: float
    group: float
    launch: float


#: Of a speed that is stated: chosen on published GPUs of which one step of ResNet-50 is taken as known.
STATED = Prior(0.2, 0.15, 0.1, 0.0, 0.3)
#: Of steps that one program measured, which has kernels of its own: chosen on PROFET's four GPUs, each in turn as a
#: new one (`profet validate --cells`).
MEASURED = Prior(0.9, 0.3, 0.2, 0.3, 0.3)
#: Of steps of one network, the correlation; and of a step alone, the standard deviation.
_SAME_NETWORK, _STEP_LOG_SD = 0.7, 0.05
#: Half a step each time: of launches and work the larger one counts.
_ITERATIONS, _PART = 25, 0.5
#: Networks by which the uncertainty of a GPU's speed is judged, at 224 pixels and this batch size.
_TYPICAL, _TYPICAL_BATCH = ("resnet50", "vgg16", "mobilenet_v2"), 64
_IS_PRODUCT = np.isin(KINDS, PRODUCTS)
_PARTS = np.array([np.isin(KINDS, FLOPS) & ~_IS_PRODUCT, np.isin(KINDS, (*ELEMENTS, *ONCE))], float)
_IS_DEPTHWISE = np.array([kind.startswith("depthwise") for kind in KINDS])
_GROUPS = np.array([*(_PARTS * ~_IS_DEPTHWISE), *np.eye(len(KINDS))[_IS_DEPTHWISE | (_PARTS.sum(axis=0) == 0)]])


def effects_by_specs(model: RateModel, gpu: Gpu) -> GpuEffects:
    """Effects of a GPU none of whose steps are known: those of its generation."""
    log_costs = model.generations.get(gpu.compute_capability, np.zeros(len(KINDS)))
    return GpuEffects(log_costs, model.unknown_gpu_log_sd, 0)


def effects_by_steps(
    model: RateModel, gpu: Gpu, steps: Sequence[KnownStep], prior: Prior, framework: Framework | None = None
) -> GpuEffects:
    """Effects of a GPU by what is known of it and by steps on it.

    Parameters
    ----------
    framework : that ran the steps, if it is known; its costs become the GPU's.
    """
    before, launched = model.gpus.get(gpu.name), 0.0
    if before is None or isinstance(before, UserEffects):
        before = effects_by_specs(model, gpu)
    log_costs = before.log_costs
    if framework is not None:
        log_costs = log_costs + framework.log_costs - model.average.log_costs
        launched = framework.log_launch - model.average.log_launch
    there = model.with_gpus({gpu.name: GpuEffects(log_costs, before.log_sd, 0, log_launch=launched)})
    covariance, away = _covariance(prior), np.zeros(len(KINDS) + 1)
    log_sds, networks = np.array([step.log_sd for step in steps]), np.array([step.network for step in steps])
    noise = np.outer(log_sds, log_sds) * np.where(networks[:, None] == networks, _SAME_NETWORK, 0.0)
    noise[np.diag_indices(len(steps))] = log_sds**2 + _STEP_LOG_SD**2
    measured = np.log([step.latency_ms for step in steps])
    parts = [there.parts_ms(step.counts, step.batch_size, (gpu, step.host), step.mode) for step in steps]
    factors = np.exp([step.log_ratio for step in steps])
    work_ms, launch_ms, start_ms = (np.array(part, float) for part in zip(*parts, strict=True))
    work_ms, launch_ms, start_ms = work_ms * factors[:, None], launch_ms * factors, start_ms * factors
    log_ms, slopes = _log_steps(work_ms, launch_ms, start_ms, away)
    expected = slopes @ covariance @ slopes.T + noise
    # Steps that the prior makes unlikely are still the user's: it gives way.
    covariance *= max(float((measured - log_ms) @ np.linalg.solve(expected, measured - log_ms)) / len(steps), 1.0)
    for _ in range(_ITERATIONS):
        log_ms, slopes = _log_steps(work_ms, launch_ms, start_ms, away)
        gain = covariance @ slopes.T @ np.linalg.inv(slopes @ covariance @ slopes.T + noise)
        away += _PART * (gain @ (measured - log_ms + slopes @ away) - away)
    left = covariance - gain @ slopes @ covariance
    effects = GpuEffects(log_costs + away[:-1], 1.0, len(steps), log_launch=launched + float(away[-1]))
    log_sd = _speed_log_sd(model.with_gpus({gpu.name: effects}), gpu, steps[0].mode, left)
    return GpuEffects(effects.log_costs, log_sd, len(steps), gpu.name, effects.log_launch)


def _covariance(prior: Prior) -> FloatArray:
    """Of the logarithms of costs and of launches, (kinds + 1, kinds + 1); products run at their own peak everywhere."""
    everywhere = (~_IS_PRODUCT).astype(float)
    covariance = np.zeros((len(KINDS) + 1, len(KINDS) + 1))
    covariance[:-1, :-1] = prior.speed**2 * np.outer(everywhere, everywhere) + prior.kind**2 * np.diag(everywhere)
    covariance[:-1, :-1] += prior.part**2 * _PARTS.T @ _PARTS + prior.group**2 * _GROUPS.T @ _GROUPS
    covariance[:-1, :-1] *= np.outer(everywhere, everywhere)
    covariance[-1, -1] = prior.launch**2
    return covariance


def _log_steps(
    work_ms: FloatArray, launch_ms: FloatArray, start_ms: FloatArray, away: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Logarithms of steps, (steps,), and their slopes by those of costs and launches, (steps, kinds + 1)."""
    kinds_ms, launches_ms = work_ms * np.exp(away[:-1]), launch_ms * np.exp(away[-1])
    all_ms = kinds_ms.sum(axis=1)
    joined_ms = smooth_max(all_ms, launches_ms)
    step_ms, power = joined_ms + start_ms, SMOOTH_MAX_POWER - 1
    of_kinds = kinds_ms * ((all_ms / joined_ms) ** power / step_ms)[:, None]
    of_launches = launches_ms * (launches_ms / joined_ms) ** power / step_ms
    return np.log(step_ms), np.column_stack([of_kinds, of_launches])


def _speed_log_sd(model: RateModel, gpu: Gpu, mode: Mode, covariance: FloatArray) -> float:
    """Uncertainty of a GPU's speed: of steps of typical networks, root mean square."""
    host = host_named("", gpu.compute_capability)
    parts = [model.parts_ms(counts, _TYPICAL_BATCH, (gpu, host), mode) for counts in _typical_counts()]
    work_ms, launch_ms, start_ms = (np.array(part, float) for part in zip(*parts, strict=True))
    _, slopes = _log_steps(work_ms, launch_ms, start_ms, np.zeros(len(KINDS) + 1))
    return float(np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes).mean()))


@cache
def _typical_counts() -> tuple[Counts, ...]:
    return tuple(counts_of(name, 224) for name in _TYPICAL)


class Source(StrEnum):
    """What the speed of a GPU is based on."""

    PROFILED = "profiled"
    MEASURED = "steps measured by a user"
    STATED = "stated by a user"
    PUBLISHED = "published steps"
    GENERATION = "published steps of its generation"
    SPECS = "specs only"


def source_of(models: Models, gpu: Gpu) -> Source:
    """Say what the speed of a GPU is based on."""
    if gpu.name in models.transfer.profiled_gpus:
        return Source.PROFILED
    if not has_rates(models):
        return Source.SPECS
    gpus = rate_model_of(models).gpus
    effects = gpus.get(gpu.name)
    if isinstance(effects, UserEffects):
        return Source.MEASURED if effects.instance else Source.STATED
    if effects is not None and effects.rows:
        return Source.PUBLISHED
    specs, generation = models.transfer.gpus, gpu.compute_capability
    is_known = any(
        row.rows and name in specs and specs[name].compute_capability == generation for name, row in gpus.items()
    )
    return Source.GENERATION if is_known else Source.SPECS


def evidence_notes(models: Models, gpu: Gpu, *, tf32: bool) -> tuple[Note, ...]:
    """Note what the speed of an unprofiled GPU is based on.

    Parameters
    ----------
    tf32 : the requested precision is TF32 on GPUs that have it.
    """
    source = source_of(models, gpu)
    effects = users_effects(models, gpu)
    if effects is not None and effects.instance:
        return (Note(Code.MEASURED_STEPS, steps=effects.steps_words, networks=effects.networks),)
    if effects is not None:
        return (Note(Code.CUSTOM_SPECS, text=effects.statement),)
    if source is Source.PUBLISHED:
        evidence = Note(Code.PUBLISHED, gpu=gpu.name)
    else:
        evidence = Note(Code.GENERATION if source is Source.GENERATION else Code.SPECS_ONLY)
    in_tf32 = tf32 and gpu.tf32_tensor_dense_tflops is not None
    return (Note(Code.BASED_ON, precision="TF32" if in_tf32 else "FP32", evidence=evidence),)


def basis_of(models: Models, gpu: Gpu) -> Basis:
    """Basis of a latency on an unprofiled GPU: steps measured on it, or none."""
    effects = users_effects(models, gpu)
    return Basis.CALIBRATED if effects is not None and effects.instance else Basis.TRANSFERRED


def users_effects(models: Models, gpu: Gpu) -> UserEffects | None:
    """Return what a user states or measured of a GPU."""
    return rate_model_of(models).users_effects(gpu.name) if has_rates(models) else None
