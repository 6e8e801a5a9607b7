"""Step times on the catalogue's instances whose GPU nobody profiled, from what is known of the profiled ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from profet_core.catalog import Catalog, gpu_model
from profet_core.catalog.gpus import Gpu, Gpus
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

#: Bases in the order of the rows.
_ORDER = (Basis.MEASURED, Basis.DERIVED, Basis.TRANSFERRED)


def unprofiled_gpus(models: Models, catalog: Catalog) -> dict[str, Gpu]:
    """Instances of the catalogue that were not profiled but have a known GPU, and that GPU; the surer bases first.

    Empty if these models have no transfer.
    """
    transfer = models.transfer
    if transfer is None:
        return {}
    # Many offers have one GPU.
    sheets: dict[tuple[str, float], Gpu | None] = {}
    found = {}
    for name, entry in catalog.items():
        key = entry.gpu, entry.gpu_memory_gib
        if key not in sheets:
            sheets[key] = _data_sheet(transfer.gpus, *key)
        gpu = sheets[key]
        # A price without a data sheet is shown in the catalogue only.
        if gpu is not None and name not in models.instances:
            found[name] = gpu
    rank = {gpu.name: _ORDER.index(_basis(transfer, gpu)) for gpu in sheets.values() if gpu is not None}
    return dict(sorted(found.items(), key=lambda item: rank[item[1].name]))


def _data_sheet(gpus: Gpus, name: str, memory_gib: float) -> Gpu | None:
    try:
        return gpus.find(name, memory_gib)
    except InputError:
        return None


def _basis(transfer: TransferModel, gpu: Gpu) -> Basis:
    """What stands behind a latency on the GPU: measured where an instance with the very same one was profiled."""
    return Basis.MEASURED if gpu.name in _profiled(transfer) else transfer.basis_of(gpu)


def _profiled(transfer: TransferModel) -> dict[str, str]:
    """GPU by its full name -> the instance that was profiled with it."""
    return {row.gpu: name for name, row in transfer.step.instances.items()}


def basis_by_instance(models: Models, catalog: Catalog) -> dict[str, Basis]:
    """What a prediction for each instance of the catalogue rests on; absent where only a price is known."""
    found = dict.fromkeys(models.instances, Basis.MEASURED)
    if models.transfer is not None:
        found |= {name: _basis(models.transfer, gpu) for name, gpu in unprofiled_gpus(models, catalog).items()}
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
    known : profiled instance -> latencies as they are shown; the anchor's own is in `batch`, where it is given.
    gpus : instance -> its GPU, at least one of what `unprofiled_gpus` gives.
    """
    recorded = AnchorSteps(batch.anchor, step_parts(load_operation_classes(), batch.inputs), batch.latency_ms)
    profiled = _profiled(transfer)
    others = {name: row for name, row in known.items() if name in transfer.instances and name != batch.anchor}
    if batch.latency_ms is not None:
        known = {**known, batch.anchor: Latencies.measured(batch.latency_ms)}
    # Offers are many, GPUs are few: each is estimated once, and its offers share what was found.
    distinct = {gpu.name: gpu for gpu in gpus.values()}
    new = [gpu for name, gpu in distinct.items() if name not in profiled]
    estimates = estimate_gpus(transfer, recorded, others, new, tf32=tf32)
    widths = [unattributed_log_width(profile) for profile in batch.profiles]
    columns: dict[str, Iterable[StepTime]] = {}
    for name, gpu in distinct.items():
        same = profiled.get(name)
        if same is None:
            columns[name] = _estimated(estimates[name], widths, _sibling_note(gpu, profiled))
            continue
        latencies, note = known.get(same), _same_gpu_note(same)
        if latencies is None:
            # The anchor's own, which nobody gave: by the profile itself.
            latencies, note = _own_latencies(transfer, recorded), f"{note}; by the profile, as none was given"
        host_half = other_host_log_half_width(transfer.step, recorded, latencies.latency_ms)
        columns[name] = _same_gpu(same, latencies, host_half, note)
    for rows in zip(*columns.values(), strict=True):
        by_gpu = dict(zip(columns, rows, strict=True))
        yield tuple(_of_instance(instance, by_gpu[gpu.name]) for instance, gpu in gpus.items())


def _of_instance(instance: str, row: StepTime) -> StepTime:
    return StepTime(
        instance=instance,
        latency_ms=row.latency_ms,
        basis=row.basis,
        interval=row.interval,
        note=row.note,
        relative=row.relative,
        reach=row.reach,
    )


def _sibling_note(gpu: Gpu, profiled: Iterable[str]) -> str:
    """What tells a GPU from the profiled one of the same model; empty if there is none."""
    sibling = next((name for name in profiled if gpu_model(name) == gpu.model), None)
    return "" if sibling is None else f"{gpu.name}, not the {sibling} that was profiled"


def _estimated(estimate: TransferEstimate, widths: Sequence[float], more: str) -> Iterable[StepTime]:
    """A GPU's rows, whose `instance` is still open.

    Parameters
    ----------
    widths : by how much each interval is widened on either side, in the logarithm. more : comes to the note.
    """
    note = "; ".join(part for part in (estimate.note, more) if part)
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
            instance="",
            latency_ms=latency_ms,
            basis=estimate.basis,
            # Known latencies are that much wider already, but for the anchor's own, which counts here too.
            interval=Interval.within_factor(latency_ms, math.exp(half)).widened(width),
            note=f"{LIMITED_BY_HOST}; {note}" if reach.limited_by_host else note,
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


def _own_latencies(transfer: TransferModel, recorded: AnchorSteps) -> Latencies:
    """Latencies on the anchor itself, from what its profiles show."""
    own_ms = transfer.step.own_latency_ms(recorded.parts, recorded.anchor)
    return Latencies(own_ms, np.full(own_ms.shape, transfer.step.instances[recorded.anchor].own_log_half_width))


def _same_gpu(same: str, latencies: Latencies, host_half: np.ndarray, note: str) -> Iterable[StepTime]:
    """An instance with the very GPU of a profiled one takes its latency; its host may launch faster or slower."""
    rows = zip(latencies.latency_ms.tolist(), latencies.log_half_width.tolist(), host_half.tolist(), strict=True)
    return (
        StepTime(
            instance="",
            latency_ms=latency_ms,
            basis=Basis.MEASURED,
            interval=Interval.within_factor(latency_ms, math.exp(math.hypot(half, host))),
            note=note,
            relative=RelativeInterval(same, host),
            reach=Reach({same: 1.0}, latency_ms),
        )
        for latency_ms, half, host in rows
    )


def _same_gpu_note(instance: str) -> str:
    return f"latency of {instance}, which has the same GPU"
