"""Latency on unprofiled GPUs, from what is known of the step on GPUs that were.

Two ways, and an estimate's basis names the one it took. Derived: the GPU ran the same networks in another source of
measurements (`derived.py`). Transferred: the step's work is carried over from each profiled instance, kind by kind, and
what its host takes is added (`carry.py`). Neither is a measurement: intervals rest on an assumption that the estimate's
note names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.catalog.gpus import Gpu
from profet_core.latency import HOST_BOUND_SHARE, NORMAL_90, Basis
from profet_core.transfer.carry import Carried, carry
from profet_core.transfer.derived import DerivedLaw, derive, relative_half_width
from profet_core.transfer.hosts import Host
from profet_core.transfer.known import AnchorSteps, KnownSteps, Latencies, known_steps
from profet_core.transfer.model import TransferModel
from profet_core.transfer.speed import targets_of
from profet_core.transfer.step import StepLaw, gpu_time_ms
from profet_core.transfer.targets import Speed

#: A GPU and its host.
Placed = tuple[Gpu, Host]


@dataclass(frozen=True)
class TransferEstimate:
    """Latencies of many steps on an unprofiled GPU, with a 90% interval under the assumption in `note`.

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
    relative_log_half_width: FloatArray
    weights: Mapping[str, FloatArray]
    free_ms: FloatArray
    launch_ms: FloatArray

    @property
    def limited_by_host(self) -> np.ndarray:
        """Steps that a GPU twice as fast would hardly make faster, (profiles,) of True and False."""
        return self.launch_ms >= HOST_BOUND_SHARE * self.free_ms


def estimate_gpus(
    model: TransferModel,
    recorded: AnchorSteps,
    others: Mapping[str, Latencies],
    wanted: Iterable[Placed],
    *,
    tf32: bool,
) -> dict[Placed, TransferEstimate]:
    """Latencies on GPUs that were not profiled, by GPU and host.

    Parameters
    ----------
    recorded : on one of `model.instances`.
    others : other profiled instances -> latencies there, predicted or measured.
    tf32 : convolutions and products run in TF32 where the GPU has it, as frameworks do unasked.
    """
    known = known_steps(model.step, recorded, others)
    found: dict[Placed, TransferEstimate] = {}
    carried: list[Placed] = []
    for placed in wanted:
        law = None if model.sharpened_gpu(placed[0], tf32) else model.derived.get(placed[0].name)
        if law and all(name in known.latencies for name in law.instances):
            found[placed] = _derived(law, known, placed[0], tf32)
        else:
            carried.append(placed)
    return found | _transferred(model, known, carried, tf32)


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


def _transferred(
    model: TransferModel, known: KnownSteps, wanted: Sequence[Placed], tf32: bool
) -> dict[Placed, TransferEstimate]:
    if not wanted:
        return {}
    targets, speeds = targets_of(model, tuple(wanted), tf32)
    found = carry(known, model.reference, targets)
    # The weights move with launches and speed: no part of the known latencies' errors is sure to cancel.
    relative = np.hypot(found.log_half_width, known.latencies[known.anchor].log_half_width)
    rows = zip(wanted, speeds, found.latency_ms, relative, strict=True)
    estimates = {
        placed: _estimate(known, found, place, speed, latency_ms, half)
        for place, (placed, speed, latency_ms, half) in enumerate(rows)
    }
    return {placed: _sharpened(model, known, placed[0], row, tf32) for placed, row in estimates.items()}


def _sharpened(
    model: TransferModel, known: KnownSteps, gpu: Gpu, row: TransferEstimate, tf32: bool
) -> TransferEstimate:
    """Corrected by what the law left of the steps that were measured on the GPU, if any were."""
    sharpened = model.sharpened_gpu(gpu, tf32)
    if sharpened is None:
        return row
    latency_ms = row.latencies.latency_ms
    factors = np.exp(sharpened.log_factors(known, row.free_ms, row.launch_ms, latency_ms))
    return replace(
        row,
        latencies=Latencies(latency_ms * factors, row.latencies.log_half_width),
        basis=Basis.SHARPENED,
        free_ms=row.free_ms * factors,
        launch_ms=row.launch_ms * factors,
    )


def _estimate(
    known: KnownSteps, found: Carried, place: int, speed: Speed, latency_ms: FloatArray, relative: FloatArray
) -> TransferEstimate:
    return TransferEstimate(
        latencies=Latencies(latency_ms, found.log_half_width[place]),
        basis=Basis.TRANSFERRED,
        note=speed.note,
        relative_to=known.anchor,
        relative_log_half_width=relative,
        weights=dict(zip(known.latencies, found.weights[place], strict=True)),
        free_ms=found.free_ms[place],
        launch_ms=found.launch_ms[place],
    )


def other_host_log_half_width(law: StepLaw, recorded: AnchorSteps, latency_ms: FloatArray, host: Host) -> FloatArray:
    """Doubt about a latency that is known on the same GPU in another host, (profiles,).

    Half the width of a 90% interval in the logarithm: the host launches and copies at a speed that nobody measured.
    """
    fixed_ms = law.fixed_ms(recorded.parts, recorded.anchor, host)
    floor_ms = recorded.floor_ms
    if floor_ms is None:
        floor_ms = law.floor_ms(recorded.parts, recorded.anchor, recorded.latency_ms)
    beside_ms = np.maximum(fixed_ms, host.launch * floor_ms)
    gpu_ms = gpu_time_ms(latency_ms, fixed_ms)
    return NORMAL_90 * host.log_sd * (1 - gpu_ms / (gpu_ms + beside_ms))
