"""Estimate latency on unprofiled GPUs from the step's latencies on profiled ones.

There are two methods, and an estimate's basis names the one used. Derived: the GPU ran the same networks in another
source of measurements (`derived.py`). Transferred: the step's work is transferred from each profiled instance, kind by
kind, and host time is added (`carry.py`). Neither is a measurement: intervals depend on an assumption that the
estimate's note names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.catalog.gpus import Gpu
from profet_core.latency import Basis, Estimate, Reach, Relative, combined_sd
from profet_core.transfer.carry import AnchorSteps, KnownSteps, carry, known_steps
from profet_core.transfer.law import StepLaw, gpu_time_ms, host_share
from profet_core.transfer.model import TransferModel, derive
from profet_core.transfer.speed import targets_of
from profet_core.transfer.targets import Host

#: A GPU and its host.
Placed = tuple[Gpu, Host]


def estimate_gpus(
    model: TransferModel,
    recorded: AnchorSteps,
    others: Mapping[str, Estimate],
    wanted: Iterable[Placed],
    *,
    tf32: bool,
) -> dict[Placed, Estimate]:
    """Estimate latencies on unprofiled GPUs, by GPU and host.

    Parameters
    ----------
    recorded : on one of `model.instances`.
    others : other profiled instances -> latencies there, predicted or measured.
    tf32 : convolutions and products run in TF32 if the GPU has it, the frameworks' default.
    """
    known = known_steps(model.step, recorded, others)
    found: dict[Placed, Estimate] = {}
    carried: list[Placed] = []
    for placed in wanted:
        law = None if model.calibrated_gpu(placed[0], tf32) else model.derived.get(placed[0].name)
        if law and all(name in known.latencies for name in law.instances):
            found[placed] = derive(law, known.latencies, placed[0], tf32)
        else:
            carried.append(placed)
    return found | _transferred(model, known, carried, tf32)


def _transferred(
    model: TransferModel, known: KnownSteps, wanted: Sequence[Placed], tf32: bool
) -> dict[Placed, Estimate]:
    if not wanted:
        return {}
    targets, speeds = targets_of(model, tuple(wanted), tf32)
    found = carry(known, model.reference, targets)
    # The weights depend on launches and speed, so no part of the known latencies' errors reliably cancels.
    relative = combined_sd(found.log_sd, known.latencies[known.anchor].log_sd)
    rows = enumerate(zip(wanted, speeds, found.latency_ms, strict=True))
    return {
        placed: _calibrated(
            model,
            known,
            placed[0],
            Estimate(
                latency_ms=latency_ms,
                log_sd=found.log_sd[row],
                basis=Basis.TRANSFERRED,
                notes=speed.notes,
                relative=Relative(known.anchor, relative[row]),
                reach=Reach(
                    weights=dict(zip(known.latencies, found.weights[row], strict=True)),
                    free_ms=found.free_ms[row],
                    launch_ms=found.launch_ms[row],
                ),
            ),
            tf32,
        )
        for row, (placed, speed, latency_ms) in rows
    }


def _calibrated(model: TransferModel, known: KnownSteps, gpu: Gpu, row: Estimate, tf32: bool) -> Estimate:
    """Correct by the model's residuals on steps measured on the GPU, if there are any."""
    calibrated = model.calibrated_gpu(gpu, tf32)
    if calibrated is None or row.reach is None:
        return row
    log_factors = calibrated.log_factors(known, row.reach.free_ms, row.reach.launch_ms, row.latency_ms)
    return replace(row.scaled(np.exp(log_factors)), basis=Basis.CALIBRATED)


def other_host_log_sd(law: StepLaw, recorded: AnchorSteps, latency_ms: FloatArray, host: Host) -> FloatArray:
    """Log standard deviation of a latency known on the same GPU in another host, (profiles,).

    The host's speed of launches and copies is not measured.
    """
    fixed_ms = law.fixed_ms(recorded.parts, recorded.anchor, host)
    floor_ms = recorded.floor_ms
    if floor_ms is None:
        floor_ms = law.floor_ms(recorded.parts, recorded.anchor, recorded.latency_ms)
    free_ms = gpu_time_ms(latency_ms, fixed_ms) + fixed_ms
    return host.log_sd * host_share(free_ms, fixed_ms, host.launch * floor_ms)
