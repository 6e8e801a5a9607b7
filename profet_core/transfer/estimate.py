"""Estimate latency on unprofiled GPUs from the step's latencies on profiled ones.

There are two methods, and an estimate's basis names the one used. Derived: the GPU ran the same networks in another
source of measurements (`model.derive`). Transferred: the step's work is transferred from each profiled instance, kind
by kind, and host time is added (`carry.py`). Neither is a measurement: intervals depend on an assumption that the
estimate's note names.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.catalog.gpus import Gpu
from profet_core.latency import Basis, Estimate, Reach, Relative, combined_sd
from profet_core.messages import Note
from profet_core.transfer.carry import AnchorSteps, KnownSteps, carry, known_steps
from profet_core.transfer.law import StepLaw, gpu_time_ms, host_share
from profet_core.transfer.model import DerivedLaw, TransferModel, derive
from profet_core.transfer.speed import targets_of
from profet_core.transfer.targets import Host, HostColumns

#: A GPU and its host.
Placed = tuple[Gpu, Host]


@dataclass(frozen=True)
class Transferred:
    """Steps on many GPUs by the analytical model; arrays of shape (targets, profiles).

    Attributes
    ----------
    anchor, instances : the recorded instance, and those that `weights` (targets, instances, profiles) are of.
    bases, notes : per target. relative_log_sd : of the ratio to the anchor's latency.
    """

    anchor: str
    instances: Sequence[str]
    bases: list[Basis]
    notes: Sequence[tuple[Note, ...]]
    latency_ms: FloatArray
    log_sd: FloatArray
    relative_log_sd: FloatArray
    free_ms: FloatArray
    launch_ms: FloatArray
    weights: FloatArray

    def rows(self, number: int | None = None) -> list[Estimate]:
        """An estimate per target, of one profile by its index; None: of all profiles."""
        arrays = self.latency_ms, self.log_sd, self.relative_log_sd, self.free_ms, self.launch_ms, self.weights
        columns = arrays if number is None else [array[..., number].tolist() for array in arrays]
        return [
            Estimate(
                latency_ms=latency_ms,
                log_sd=log_sd,
                basis=basis,
                notes=notes,
                relative=Relative(self.anchor, relative),
                reach=Reach(dict(zip(self.instances, weights, strict=True)), free_ms, launch_ms),
            )
            for basis, notes, latency_ms, log_sd, relative, free_ms, launch_ms, weights in zip(
                self.bases, self.notes, *columns, strict=True
            )
        ]

    def widened(self, log_sd: FloatArray) -> Transferred:
        """Add an independent error, also to the ratios."""
        log_sds = combined_sd(self.log_sd, log_sd), combined_sd(self.relative_log_sd, log_sd)
        return replace(self, log_sd=log_sds[0], relative_log_sd=log_sds[1])


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
    placed = list(wanted)
    laws = [derived_law(model, known.latencies, gpu, tf32) for gpu, _ in placed]
    found = {
        one: derive(law, known.latencies, one[0], tf32)
        for one, law in zip(placed, laws, strict=True)
        if law is not None
    }
    carried = [one for one in placed if one not in found]
    if carried:
        found |= zip(carried, transferred(model, known, carried, tf32).rows(), strict=True)
    return found


def derived_law(model: TransferModel, known: Container[str], gpu: Gpu, tf32: bool) -> DerivedLaw | None:
    """Law of a GPU that ran the same networks elsewhere; None without one, or if measured steps calibrate it."""
    law = None if model.calibrated_gpu(gpu, tf32) else model.derived.get(gpu.name)
    return law if law and all(name in known for name in law.instances) else None


def transferred(model: TransferModel, known: KnownSteps, wanted: Sequence[Placed], tf32: bool) -> Transferred:
    """Steps on GPUs in hosts, corrected by the model's residuals on steps measured there, if there are any."""
    targets, speeds = targets_of(model, tuple(wanted), tf32)
    there = carry(known, model.reference, targets)
    found = Transferred(
        anchor=known.anchor,
        instances=list(known.latencies),
        bases=[Basis.TRANSFERRED] * len(wanted),
        notes=[speed.notes for speed in speeds],
        latency_ms=there.latency_ms,
        log_sd=there.log_sd,
        # The weights depend on launches and speed, so no part of the known latencies' errors reliably cancels.
        relative_log_sd=combined_sd(there.log_sd, known.latencies[known.anchor].log_sd),
        free_ms=there.free_ms,
        launch_ms=there.launch_ms,
        weights=there.weights,
    )
    for row, (gpu, _) in enumerate(wanted if model.calibrated else ()):
        if calibrated := model.calibrated_gpu(gpu, tf32):
            parts = found.free_ms[row], found.launch_ms[row], found.latency_ms[row]
            factor = np.exp(calibrated.log_factors(known, *parts))
            for part in parts:
                part *= factor
            found.bases[row] = Basis.CALIBRATED
    return found


def other_host_log_sd(
    law: StepLaw, recorded: AnchorSteps, latency_ms: FloatArray, host: Host | HostColumns
) -> FloatArray:
    """Log standard deviation of a latency known on the same GPU in another host, or in many, (..., profiles).

    The host's speed of launches and copies is not measured.
    """
    fixed_ms = law.fixed_ms(recorded.parts, recorded.anchor, host)
    floor_ms = recorded.floor_ms
    if floor_ms is None:
        floor_ms = law.floor_ms(recorded.parts, recorded.anchor, recorded.latency_ms)
    free_ms = gpu_time_ms(latency_ms, fixed_ms) + fixed_ms
    return host.log_sd * host_share(free_ms, fixed_ms, host.launch * floor_ms)
