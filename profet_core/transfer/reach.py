"""Latency on a GPU that nobody profiled, from what is known of the step on GPUs that were.

Two ways, and an answer names the one it took. "derived": the GPU ran the same networks in another source of
measurements (`derived.py`). "transferred": the step's GPU time is carried over from each profiled instance by one
constant, the ratio of a benchmark network's GPU times, or of data sheets; copy, start and the launch floor stay as they
are (`transfer_step.py`). Neither is a measurement: intervals rest on an assumption that `ReachedLatency.note` names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.latency import Basis, Interval, RelativeInterval
from profet_core.networks.intervals import NORMAL_90
from profet_core.profiles.record import Profile
from profet_core.transfer.derived import derive, relative_half_width
from profet_core.transfer.model import TransferModel
from profet_core.transfer.speed import Speed, known_speed, mix_log_sd
from profet_core.transfer.step import StepLaw, StepParts, parts_of_profiles
from profet_core.units import positive_number

#: A known latency counts by the share of it that launches don't hide, to this power, and less the farther its GPU's
#: speed is from the target's. Chosen by leaving one GPU out among any three (`python -m profet_lab.transfer.weights`);
#: over all settings tried there the mean error moves by less than 2 points. Without T4 or V100
#: the choice would be power 0: GPUs judged by the choice made without them err by 10.2 % instead of 10.0 %.
FREE_SHARE_POWER = 1.0
NEARNESS = 2.0
LEAST_FREE_SHARE = 0.02
#: Hosts of the measured instances launch at speeds this far apart (g4dn against p3), in the logarithm; that of a GPU's
#: instance is not known.
HOST_LOG_SD = 0.26


@dataclass(frozen=True, slots=True)
class KnownLatency:
    """A latency on a profiled instance: given, measured or predicted; without an interval it counts as exact."""

    latency_ms: float
    interval: Interval | None = None

    @property
    def log_half_width(self) -> float:
        """Half the interval's width in the logarithm."""
        return 0.0 if self.interval is None else self.interval.log_half_width


@dataclass(frozen=True, slots=True)
class ReachedLatency:
    """A latency on a GPU nobody profiled, milliseconds a step, with a 90 % interval under the assumption in `note`.

    Attributes
    ----------
    basis : derived or transferred.
    relative : the same interval of log(latency / latency on a profiled instance), where errors of the known latencies
        cancel as far as they are shared: for asking which of the two is cheaper.
    """

    gpu: str
    latency_ms: float
    interval: Interval
    basis: Basis
    note: str
    relative: RelativeInterval


@dataclass(frozen=True)
class Voices:
    """What is known of many steps of one anchor; arrays of shape (profiles,).

    Attributes
    ----------
    latency_ms : profiled instance -> latency. log_half_width : likewise; half its interval's width in the logarithm.
    floor_ms : launch floor. fixed_ms : copy and start.
    """

    anchor: str
    parts: StepParts
    latency_ms: Mapping[str, np.ndarray]
    log_half_width: Mapping[str, np.ndarray]
    floor_ms: np.ndarray
    fixed_ms: np.ndarray


@dataclass(frozen=True)
class Reached:
    """Latencies of many steps on one GPU, as `ReachedLatency` has them of one; arrays of shape (profiles,)."""

    latency_ms: np.ndarray
    log_half_width: np.ndarray
    basis: Basis
    note: str
    relative_to: str
    relative_log_half_width: np.ndarray

    def of(self, row: int) -> tuple[float, Interval]:
        """Latency of one step, milliseconds, and its interval."""
        latency_ms = float(self.latency_ms[row])
        return latency_ms, Interval.within_factor(latency_ms, math.exp(float(self.log_half_width[row])))


def reach(
    model: TransferModel,
    profile: Profile,
    anchor: str,
    known: Mapping[str, KnownLatency],
    gpus: Sequence[Gpu],
    *,
    latency_ms: float | None = None,
    tf32: bool = True,
) -> list[ReachedLatency]:
    """Step latency of one profiled network on GPUs that were not profiled, one answer a GPU in their order.

    Parameters
    ----------
    profile : recorded on `anchor`, which is one of `model.instances`.
    known : profiled instance -> its latency, predicted or measured; the anchor's row is replaced by `latency_ms`, and
        others than profiled instances are left out.
    latency_ms : measured on the anchor; None: the profile tells it.
    tf32 : convolutions and products run in TF32 where the GPU has it, as frameworks do unasked.

    Raises
    ------
    InputError : unknown anchor, a GPU that was profiled, or a number that can't be.
    """
    if latency_ms is not None:
        positive_number("The anchor's latency", latency_ms)
    for name, row in known.items():
        positive_number(f"The latency on {name}", row.latency_ms)
    found = reach_many(
        model,
        [profile],
        anchor,
        {name: np.array([row.latency_ms], float) for name, row in known.items()},
        {name: np.array([row.log_half_width]) for name, row in known.items()},
        gpus,
        anchor_ms=None if latency_ms is None else np.array([latency_ms], float),
        tf32=tf32,
    )
    answers = []
    for gpu in gpus:
        reached = found[gpu.name]
        value_ms, interval = reached.of(0)
        answers.append(
            ReachedLatency(
                gpu.name,
                value_ms,
                interval,
                reached.basis,
                reached.note,
                RelativeInterval(reached.relative_to, float(reached.relative_log_half_width[0])),
            )
        )
    return answers


def reach_many(
    model: TransferModel,
    profiles: Sequence[Profile],
    anchor: str,
    known_ms: Mapping[str, np.ndarray],
    log_half_width: Mapping[str, np.ndarray],
    gpus: Sequence[Gpu],
    *,
    anchor_ms: np.ndarray | None = None,
    tf32: bool = True,
) -> dict[str, Reached]:
    """`reach` for many profiles of one anchor at once, by the GPUs' full names.

    Parameters
    ----------
    known_ms, log_half_width : profiled instance -> latency and half its interval's width in the logarithm, (profiles,).
    anchor_ms : measured on the anchor, (profiles,).
    """
    others = [name for name in known_ms if name in model.instances and name != anchor]
    voices = gather(
        model.step,
        anchor,
        parts_of_profiles(profiles, anchor_ms),
        {name: known_ms[name] for name in others},
        {name: log_half_width[name] for name in others},
        anchor_ms,
    )
    return {gpu.name: _reached(model, voices, gpu, tf32) for gpu in gpus}


def gather(
    law: StepLaw,
    anchor: str,
    parts: StepParts,
    latency_ms: Mapping[str, np.ndarray],
    log_half_width: Mapping[str, np.ndarray],
    anchor_ms: np.ndarray | None,
) -> Voices:
    """All that is known of many steps. `latency_ms`, `log_half_width`: other instances -> (profiles,)."""
    if anchor not in law.instances:
        raise InputError(f"Unknown anchor {anchor!r}: choose one of {', '.join(law.instances)}.")
    own = law.own_latency_ms(parts, anchor) if anchor_ms is None else anchor_ms
    own_half = law.instances[anchor].own_log_half_width if anchor_ms is None else 0.0
    return Voices(
        anchor=anchor,
        parts=parts,
        latency_ms={**latency_ms, anchor: own},
        log_half_width={**log_half_width, anchor: np.full(own.shape, own_half)},
        floor_ms=law.floor_ms(parts, anchor, anchor_ms),
        fixed_ms=law.fixed_ms(parts),
    )


def transfer(
    law: StepLaw,
    voices: Voices,
    log_speed: Mapping[str, float],
    log_half_width: float,
    mix_log_sd: np.ndarray | float,
    *,
    free_share_power: float = FREE_SHARE_POWER,
    nearness: float = NEARNESS,
) -> tuple[np.ndarray, np.ndarray]:
    """Latency on a GPU, milliseconds, and half its interval's width in the logarithm; both (profiles,).

    Parameters
    ----------
    log_speed : instance -> logarithm of how many times faster the GPU is than the instance's.
    log_half_width : 90 % half width, but for what follows.
    mix_log_sd : spread from the mix of operations, (profiles,); it weighs as much as GPU time does. The intervals of
        the known latencies and the doubt about the host are added here.
    """
    logs, weights, halves = [], [], []
    for name, latency_ms in voices.latency_ms.items():
        free = np.clip(1 - voices.floor_ms / latency_ms, LEAST_FREE_SHARE, 1)
        weights.append(free**free_share_power * math.exp(-nearness * abs(log_speed[name])))
        logs.append(np.log(law.gpu_ms(latency_ms, voices.fixed_ms)) - log_speed[name])
        halves.append(voices.log_half_width[name])
    weight = np.array(weights) / np.sum(weights, axis=0)
    gpu_ms = np.exp((weight * logs).sum(axis=0))
    latency_ms = np.maximum(gpu_ms + voices.fixed_ms, voices.floor_ms)
    host_share = _host_share(gpu_ms, voices.fixed_ms, voices.floor_ms)
    known_half = (weight * halves).sum(axis=0)
    assumed = np.hypot(HOST_LOG_SD * host_share, mix_log_sd * (1 - host_share))
    half = np.sqrt(log_half_width**2 + known_half**2 + (NORMAL_90 * assumed) ** 2)
    return latency_ms, half


def other_host_log_half_width(
    law: StepLaw, parts: StepParts, anchor: str, anchor_ms: np.ndarray | None, latency_ms: np.ndarray
) -> np.ndarray:
    """Doubt about a latency that is known on the same GPU in another instance, (profiles,).

    Half the width of a 90 % interval in the logarithm: the host launches and copies at a speed that nobody measured.
    """
    fixed_ms = law.fixed_ms(parts)
    gpu_ms = law.gpu_ms(latency_ms, fixed_ms)
    return NORMAL_90 * HOST_LOG_SD * _host_share(gpu_ms, fixed_ms, law.floor_ms(parts, anchor, anchor_ms))


def _host_share(gpu_ms: np.ndarray, fixed_ms: np.ndarray, floor_ms: np.ndarray) -> np.ndarray:
    return 1 - gpu_ms / (gpu_ms + np.maximum(fixed_ms, floor_ms))


def _reached(model: TransferModel, voices: Voices, gpu: Gpu, tf32: bool) -> Reached:
    measured = next((name for name, row in model.step.instances.items() if row.gpu == gpu.name), None)
    if measured:
        raise InputError(f"{gpu.name} was profiled: ask for {measured} itself.")
    law = model.derived.get(gpu.name)
    if law and all(name in voices.latency_ms for name in law.instances):
        value, half = derive(law, voices.latency_ms, voices.log_half_width)
        relative_to, relative = law.base, relative_half_width(law, voices.log_half_width)
        note, basis = law.note(gpu, tf32), Basis.DERIVED
        if tf32 != law.tf32 and gpu.tf32_tensor_dense_tflops:
            half, relative = (np.hypot(one, NORMAL_90 * law.other_precision_log_sd) for one in (half, relative))
    else:
        speed = known_speed(model, gpu, tf32)
        value, half = transfer_to(model, voices, gpu, speed, tf32)
        # The weights move with launches and speed: no part of the known latencies' errors is sure to cancel.
        relative_to, relative = voices.anchor, np.hypot(half, voices.log_half_width[voices.anchor])
        note, basis = speed.note, Basis.TRANSFERRED
    return Reached(value, half, basis, note, relative_to, relative)


def transfer_to(
    model: TransferModel, voices: Voices, gpu: Gpu, speed: Speed, tf32: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`transfer` with the speed of a GPU beside the reference's, and the shipped spread."""
    reference_ms = model.step.instances[model.reference].benchmark_gpu_ms
    log_speed = {
        name: speed.log_speed + math.log(row.benchmark_gpu_ms / reference_ms)
        for name, row in model.step.instances.items()
    }
    away = voices.parts.compute_share - model.step.instances[voices.anchor].benchmark_compute_share
    mix = mix_log_sd(model, gpu, tf32, away)
    return transfer(model.step, voices, log_speed, speed.log_half_width, mix)
