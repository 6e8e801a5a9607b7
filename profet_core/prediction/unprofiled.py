"""Step times on the catalogue's instances whose GPU nobody profiled, from what is known of the profiled ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profet_core.catalog import Catalog, gpu_model
from profet_core.catalog.gpus import Gpu, Gpus
from profet_core.errors import InputError
from profet_core.latency import LIMITED_BY_HOST, Basis, Interval, Reach, RelativeInterval, StepTime
from profet_core.networks.batch import ProfileBatch
from profet_core.operations.classes import load_operation_classes
from profet_core.prediction.host_time import host_times_ms
from profet_core.prediction.own_models import is_own_target
from profet_core.prediction.refusals import unattributed_log_width
from profet_core.profiles.record import Profile
from profet_core.transfer.estimate import Placed, TransferEstimate, estimate_gpus, other_host_log_half_width
from profet_core.transfer.hosts import host_named
from profet_core.transfer.known import AnchorSteps, Latencies
from profet_core.transfer.parts import step_parts

if TYPE_CHECKING:
    from profet_core.artifacts.models import Models
    from profet_core.transfer.model import TransferModel

#: Bases in the order of the rows.
_ORDER = (Basis.MEASURED, Basis.SHARPENED, Basis.DERIVED, Basis.TRANSFERRED)


def unprofiled_gpus(models: Models, catalog: Catalog) -> dict[str, Placed]:
    """Instances of the catalogue that were not profiled but have a known GPU: that GPU and the host; the surer bases
    first.

    Empty if these models have no transfer.
    """
    transfer = models.transfer
    if transfer is None:
        return {}
    # Many offers have one GPU.
    sheets: dict[tuple[str, float], Gpu | None] = {}
    found: dict[Basis, dict[str, Placed]] = {basis: {} for basis in _ORDER}
    by_basis: dict[tuple[str, float], dict[str, Placed]] = {}
    for name, entry in catalog.items():
        key = entry.gpu, entry.gpu_memory_gib
        if key not in sheets:
            gpu = sheets[key] = _data_sheet(transfer.gpus, *key)
            if gpu is not None:
                by_basis[key] = found[_basis(models, transfer, gpu)]
        gpu = sheets[key]
        # A price without a data sheet is shown in the catalogue only.
        if gpu is not None and name not in models.ranges:
            by_basis[key][name] = gpu, host_named(entry.host)
    return {name: placed for rows in found.values() for name, placed in rows.items()}


def _data_sheet(gpus: Gpus, name: str, memory_gib: float) -> Gpu | None:
    try:
        return gpus.find(name, memory_gib)
    except InputError:
        return None


def _basis(models: Models, transfer: TransferModel, gpu: Gpu) -> Basis:
    """What stands behind a latency on the GPU: measured where an instance with the very same one was profiled."""
    if gpu.name in _profiled(transfer) or is_own_target(models, gpu):
        return Basis.MEASURED
    return transfer.basis_of(gpu)


def _profiled(transfer: TransferModel) -> dict[str, str]:
    """GPU by its full name -> the instance that was profiled with it."""
    return {row.gpu: name for name, row in transfer.step.instances.items()}


def basis_by_instance(models: Models, catalog: Catalog) -> dict[str, Basis]:
    """What a prediction for each instance of the catalogue rests on; absent where only a price is known."""
    found = dict.fromkeys(models.instances, Basis.MEASURED)
    if models.transfer is not None:
        placed = unprofiled_gpus(models, catalog)
        found |= {name: _basis(models, models.transfer, gpu) for name, (gpu, _) in placed.items()}
    return found


@dataclass(frozen=True)
class UnprofiledAnchor:
    """The anchor's GPU, where nobody profiled it.

    Attributes
    ----------
    anchor : its name. latencies : of the steps on the GPU itself.
    log_half_width : doubt about all that is told of other GPUs from its profiles, half a 90% interval, (profiles,).
    ran_in_tf32 : the steps, where the GPU has it.
    """

    anchor: str
    gpu: Gpu
    latencies: Latencies
    log_half_width: np.ndarray
    ran_in_tf32: bool

    @property
    def note(self) -> str:
        """What a row that is told from its profiles rests on."""
        return f"from a profile of {self.gpu.name}, which the models have no profiles of"


def recorded_steps(batch: ProfileBatch) -> AnchorSteps:
    """A batch as the transfer takes it."""
    parts = step_parts(load_operation_classes(), batch.inputs, host_times_ms(batch.profiles))
    return AnchorSteps(batch.anchor, parts, batch.latency_ms)


def unprofiled_steps(
    transfer: TransferModel,
    recorded: AnchorSteps,
    profiles: Sequence[Profile],
    known: Mapping[str, Latencies],
    placed: Mapping[str, Placed],
    *,
    tf32: bool,
    own: UnprofiledAnchor | None = None,
) -> Iterable[tuple[StepTime, ...]]:
    """For each profile one step time an instance of `placed`, made when it is consumed.

    Parameters
    ----------
    recorded : the steps on a profiled instance. known : other profiled instances -> latencies as they are shown; the
        anchor's own is in `recorded`, where it is given. own : the GPU that the steps were recorded on, if nobody
        profiled it.
    placed : instance -> its GPU and host, at least one of what `unprofiled_gpus` gives.
    """
    if not placed:
        yield from [()] * len(profiles)
        return
    profiled = _profiled(transfer)
    others = {name: row for name, row in known.items() if name in transfer.instances and name != recorded.anchor}
    latencies, more = dict(known), {}
    if own is None and recorded.latency_ms is not None:
        latencies[recorded.anchor] = Latencies.measured(recorded.latency_ms)
    elif own is None:
        latencies[recorded.anchor] = _own_latencies(transfer, recorded)
        more[recorded.anchor] = "estimated from the profile, as none was given"
    # Offers are many, GPUs and hosts are few: each pair is estimated once, and its offers share what was found.
    distinct = dict.fromkeys(placed.values())
    same = {one: _same_as(one[0], profiled, latencies, own, more, tf32) for one in distinct}
    estimates = estimate_gpus(transfer, recorded, others, [one for one in distinct if same[one] is None], tf32=tf32)
    # The doubt about an unprofiled anchor's profiles holds it already.
    widths = [0.0 if own is not None else unattributed_log_width(profile) for profile in profiles]
    siblings = {gpu_model(name): name for name in profiled}
    columns: dict[Placed, Iterable[StepTime]] = {}
    for one, there in same.items():
        gpu, host = one
        if there is None:
            columns[one] = _estimated(estimates[one], widths, _sibling_note(gpu, siblings), own)
        else:
            host_half = other_host_log_half_width(transfer.step, recorded, there.latencies.latency_ms, host)
            columns[one] = _same_gpu(there, host_half)
    for rows in zip(*columns.values(), strict=True):
        by_placed = dict(zip(columns, rows, strict=True))
        yield tuple(by_placed[one].on(instance) for instance, one in placed.items())


@dataclass(frozen=True)
class _SameGpu:
    """An instance or the anchor with the same GPU, its latencies there, and what they rest on."""

    name: str
    latencies: Latencies
    basis: Basis
    more: str = ""

    @property
    def note(self) -> str:
        """What a row says that takes these latencies."""
        told = f"latency of {self.name}, which has the same GPU"
        return f"{told}; {self.more}" if self.more else told


def _same_as(
    gpu: Gpu,
    profiled: Mapping[str, str],
    known: Mapping[str, Latencies],
    own: UnprofiledAnchor | None,
    more: Mapping[str, str],
    tf32: bool,
) -> _SameGpu | None:
    """Where the very same GPU's latencies are known from, in the precision that is asked for, if they are."""
    same_precision = own is not None and (gpu.tf32_tensor_dense_tflops is None or own.ran_in_tf32 is tf32)
    if own is not None and gpu.name == own.gpu.name and same_precision:
        # No models learned from this GPU, given as its latency may be.
        said = "estimated from the profile, as none was given" if own.latencies.log_half_width.any() else ""
        return _SameGpu(own.anchor, own.latencies, Basis.CARRIED_BACK, said)
    name = profiled.get(gpu.name)
    if name is None:
        return None
    found = known[name]
    if own is None:
        return _SameGpu(name, found, Basis.MEASURED, more.get(name, ""))
    half = np.hypot(found.log_half_width, own.log_half_width)
    return _SameGpu(name, Latencies(found.latency_ms, half), Basis.CARRIED_BACK, own.note)


def _sibling_note(gpu: Gpu, siblings: Mapping[str, str]) -> str:
    """What tells a GPU from the profiled one of the same model, if there is one; `siblings`: model -> full name."""
    sibling = siblings.get(gpu.model)
    return "" if sibling is None else f"{gpu.name}, not the {sibling} that was profiled"


def _estimated(
    estimate: TransferEstimate, widths: Sequence[float], more: str, own: UnprofiledAnchor | None
) -> Iterable[StepTime]:
    """A GPU's rows, whose `instance` is still open.

    Parameters
    ----------
    widths : by how much each interval is widened on either side, in the logarithm. more : comes to the note.
    own : the steps' own GPU, whose doubt every interval holds.
    """
    note = "; ".join(part for part in (estimate.note, more) if part)
    doubt = 0.0 if own is None else own.log_half_width
    rows = zip(
        estimate.latencies.latency_ms.tolist(),
        np.hypot(estimate.latencies.log_half_width, doubt).tolist(),
        np.hypot(estimate.relative_log_half_width, doubt).tolist(),
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


def _same_gpu(there: _SameGpu, host_half: np.ndarray) -> Iterable[StepTime]:
    """An instance with the very GPU of another one takes its latency; its host may launch faster or slower."""
    latencies = there.latencies
    rows = zip(latencies.latency_ms.tolist(), latencies.log_half_width.tolist(), host_half.tolist(), strict=True)
    return (
        StepTime(
            instance="",
            latency_ms=latency_ms,
            basis=there.basis,
            interval=Interval.within_factor(latency_ms, math.exp(math.hypot(half, host))),
            note=there.note,
            relative=RelativeInterval(there.name, host),
            reach=Reach({there.name: 1.0}, latency_ms),
        )
        for latency_ms, half, host in rows
    )
