"""Step times on the catalogue's instances whose GPU nobody profiled, from what is known of the profiled ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.latency import LIMITED_BY_HOST, Basis, Interval, Reach, RelativeInterval, StepTime
from profet_core.networks.batch import ProfileBatch
from profet_core.operations.classes import load_operation_classes
from profet_core.prediction.refusals import unattributed_log_width
from profet_core.transfer.estimate import TransferEstimate, estimate_gpus, other_host_log_half_width
from profet_core.transfer.known import AnchorSteps, Latencies
from profet_core.transfer.step import step_parts

if TYPE_CHECKING:
    from profet_core.artifacts.models import Models
    from profet_core.transfer.model import TransferModel


def unprofiled_gpus(models: Models, catalog: Catalog) -> dict[str, Gpu]:
    """Instances of the catalogue that were not profiled but have a known GPU, and that GPU; derived ones first.

    Empty if these models have no transfer.
    """
    transfer = models.transfer
    if transfer is None:
        return {}
    found = {}
    for name, entry in catalog.items():
        if name not in models.instances:
            try:
                found[name] = transfer.gpus.find(entry.gpu, entry.gpu_memory_gib)
            except InputError:
                continue  # A price without a data sheet: shown in the catalogue only.
    return dict(sorted(found.items(), key=lambda item: transfer.basis_of(item[1])))


def basis_by_instance(models: Models, catalog: Catalog) -> dict[str, Basis]:
    """What a prediction for each instance of the catalogue rests on; absent where only a price is known."""
    found = dict.fromkeys(models.instances, Basis.MEASURED)
    if models.transfer is not None:
        found |= {name: models.transfer.basis_of(gpu) for name, gpu in unprofiled_gpus(models, catalog).items()}
    return found


def unprofiled_steps(
    transfer: TransferModel,
    batch: ProfileBatch,
    known: Mapping[str, Latencies],
    gpus: Mapping[str, Gpu],
    *,
    tf32: bool,
) -> Iterable[tuple[StepTime, ...]]:
    """For each profile one step time an instance of `gpus`, made when it is consumed.

    Parameters
    ----------
    known : profiled instance -> latencies as they are shown; the anchor is absent if its latency is not known.
    gpus : instance -> its GPU, at least one of what `unprofiled_gpus` gives.
    """
    recorded = AnchorSteps(batch.anchor, step_parts(load_operation_classes(), batch.inputs), batch.latency_ms)
    profiled = {row.gpu: name for name, row in transfer.step.instances.items()}
    others = {name: row for name, row in known.items() if name in transfer.instances and name != batch.anchor}
    new = {gpu.name: gpu for gpu in gpus.values() if gpu.name not in profiled}
    estimates = estimate_gpus(transfer, recorded, others, new.values(), tf32=tf32)
    widths = [unattributed_log_width(profile) for profile in batch.profiles]
    columns: list[Iterable[StepTime]] = []
    for instance, gpu in gpus.items():
        same = profiled.get(gpu.name)
        if same is None:
            columns.append(_estimated(instance, estimates[gpu.name], widths))
        elif same in known:
            host_half = other_host_log_half_width(transfer.step, recorded, known[same].latency_ms)
            columns.append(_same_gpu(instance, same, known[same], host_half))
        else:
            columns.append([_unknown(instance, same)] * len(batch.profiles))
    return zip(*columns, strict=True)


def _estimated(instance: str, estimate: TransferEstimate, widths: Sequence[float]) -> Iterable[StepTime]:
    """`widths` : by how much each interval is widened on either side, in the logarithm."""
    rows = zip(
        estimate.latencies.latency_ms.tolist(),
        estimate.latencies.log_half_width.tolist(),
        estimate.relative_log_half_width.tolist(),
        widths,
        _reaches(estimate),
        strict=True,
    )
    return (
        StepTime(
            instance=instance,
            latency_ms=latency_ms,
            basis=estimate.basis,
            # Known latencies are that much wider already, but for the anchor's own, which counts here too.
            interval=Interval.within_factor(latency_ms, math.exp(half)).widened(width),
            note=f"{LIMITED_BY_HOST}; {estimate.note}" if reach.limited_by_host else estimate.note,
            relative=RelativeInterval(estimate.relative_to, relative),
            reach=reach,
        )
        for latency_ms, half, relative, width, reach in rows
    )


def _reaches(estimate: TransferEstimate) -> Iterable[Reach]:
    weights = zip(*(values.tolist() for values in estimate.weights.values()), strict=True)
    rows = zip(weights, estimate.free_ms.tolist(), estimate.launch_ms.tolist(), strict=True)
    return (
        Reach(dict(zip(estimate.weights, powers, strict=True)), free_ms, launch_ms)
        for powers, free_ms, launch_ms in rows
    )


def _same_gpu(instance: str, same: str, latencies: Latencies, host_half: np.ndarray) -> Iterable[StepTime]:
    """An instance with the GPU of a profiled one takes its latency; its host may launch faster or slower."""
    rows = zip(latencies.latency_ms.tolist(), latencies.log_half_width.tolist(), host_half.tolist(), strict=True)
    return (
        StepTime(
            instance=instance,
            latency_ms=latency_ms,
            basis=Basis.DERIVED,
            interval=Interval.within_factor(latency_ms, math.exp(math.hypot(half, host))),
            note=_same_gpu_note(same),
            relative=RelativeInterval(same, host),
            reach=Reach({same: 1.0}, latency_ms),
        )
        for latency_ms, half, host in rows
    )


def _unknown(instance: str, same: str) -> StepTime:
    return StepTime(instance=instance, latency_ms=None, basis=Basis.DERIVED, note=_same_gpu_note(same))


def _same_gpu_note(instance: str) -> str:
    return f"latency of {instance}, which has the same GPU"
