"""Estimate latency on unprofiled GPUs from the step's latencies on profiled ones.

There are two methods, and an estimate's basis names the one used. Derived: the GPU ran the same networks in another
source of measurements (`model.derive`). Transferred: the step's work is transferred from each profiled instance, kind
by kind, and host time is added (`steps.py`). Neither is a measurement: intervals depend on an assumption that the
estimate's note names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.errors import Note
from profet_core.latency import Basis, Estimate, FloatArray, LatencyParts, Relative, combined_sd, smooth_max
from profet_core.transfer.model import CalibratedGpu, TransferModel
from profet_core.transfer.speed import target_of
from profet_core.transfer.step_model import StepModel, gpu_time_ms, host_share
from profet_core.transfer.steps import (
    AnchorSteps,
    KnownSteps,
    StepsThere,
    TargetSpeeds,
    known_steps,
    target_speeds,
    transfer_at,
)
from profet_core.transfer.targets import Host, HostColumns

#: A GPU and its host.
GpuOnHost = tuple[Gpu, Host]


@dataclass(frozen=True)
class OtherGpus:
    """GPUs in hosts that steps of one anchor are transferred to, with all that no step changes.

    Attributes
    ----------
    speeds : of them.
    bases, notes : of each.
    calibrated : index -> its calibration with measured steps.
    """

    speeds: TargetSpeeds
    bases: Sequence[Basis]
    notes: Sequence[tuple[Note, ...]]
    calibrated: Mapping[int, CalibratedGpu]


def other_gpus(
    model: TransferModel, anchor: str, names: tuple[str, ...], pairs: Sequence[GpuOnHost], tf32: bool
) -> OtherGpus:
    """GPUs in hosts, for steps recorded on `anchor` and known on `names`, all profiled instances."""
    rows = [target_of(model, gpu, host, tf32) for gpu, host in pairs]
    calibrated = [model.calibrated_gpu(gpu, tf32) for gpu, _ in pairs]
    return OtherGpus(
        speeds=target_speeds(model.step, anchor, names, model.reference, [target for target, _ in rows]),
        bases=[Basis.TRANSFERRED if one is None else Basis.CALIBRATED for one in calibrated],
        notes=[speed.notes for _, speed in rows],
        calibrated={at: one for at, one in enumerate(calibrated) if one is not None},
    )


def estimate_gpus(
    model: TransferModel,
    recorded: AnchorSteps,
    others: Mapping[str, Estimate],
    wanted: Iterable[GpuOnHost],
    *,
    tf32: bool,
) -> dict[GpuOnHost, Estimate]:
    """Estimate latencies on unprofiled GPUs, by GPU and host.

    Parameters
    ----------
    recorded : on one of `model.instances`.
    others : other profiled instances -> latencies there, predicted or measured.
    tf32 : convolutions and products run in TF32 if the GPU has it, the frameworks' default.
    """
    known = known_steps(model.step, recorded, others)
    pairs = list(wanted)
    gpus = other_gpus(model, known.anchor, tuple(known.latencies), pairs, tf32)
    steps = transferred(known, gpus)
    return {
        one: Estimate(
            latency_ms=steps.latency_ms[at],
            log_sd=steps.log_sd[at],
            basis=gpus.bases[at],
            notes=gpus.notes[at],
            relative=Relative(known.anchor, relative_log_sd(known, steps)[at]),
            parts=LatencyParts(steps.free_ms[at], steps.launch_ms[at]),
        )
        for at, one in enumerate(pairs)
    }


def transferred(known: KnownSteps, gpus: OtherGpus) -> StepsThere:
    """Steps on other GPUs, corrected by the model's residuals on steps measured there, if there are any."""
    there = transfer_at(known, gpus.speeds)
    for at, calibrated in gpus.calibrated.items():
        parts = there.free_ms[at], there.launch_ms[at]
        factor = np.exp(calibrated.log_factors(known, *parts, smooth_max(*parts)))
        for part in parts:
            part *= factor
    return there


def relative_log_sd(known: KnownSteps, there: StepsThere) -> FloatArray:
    """Log standard deviation of the ratio to the anchor's latency, (targets, profiles).

    The weights depend on launches and speed, so no part of the known latencies' errors reliably cancels.
    """
    found: FloatArray = combined_sd(there.log_sd, known.latencies[known.anchor].log_sd)
    return found


def other_host_log_sd(
    step_model: StepModel, recorded: AnchorSteps, latency_ms: FloatArray, host: Host | HostColumns
) -> FloatArray:
    """Log standard deviation of a latency known on the same GPU in another host, or in many, (..., profiles).

    The host's speed of launches and copies is not measured.
    """
    fixed_ms = step_model.fixed_ms(recorded.parts, recorded.anchor, host)
    floor_ms = recorded.floor_ms
    if floor_ms is None:
        floor_ms = step_model.floor_ms(recorded.parts, recorded.anchor, recorded.latency_ms)
    free_ms = gpu_time_ms(latency_ms, fixed_ms) + fixed_ms
    return host.log_sd * host_share(free_ms, fixed_ms, host.launch * floor_ms)
