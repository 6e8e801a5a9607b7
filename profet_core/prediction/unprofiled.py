"""Step times on the catalog's instances with an unprofiled GPU, from what is known of the profiled ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
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


@dataclass(frozen=True)
class PlacedOffers:
    """Offers by what runs them: many offers have the same GPU in the same host.

    Attributes
    ----------
    by_instance : instance -> its GPU and host, in the order of a prediction's rows.
    """

    by_instance: Mapping[str, Placed]

    @cached_property
    def distinct(self) -> tuple[Placed, ...]:
        """Every GPU in every host, once."""
        return tuple(dict.fromkeys(self.by_instance.values()))

    @cached_property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """Each instance, and the number of its GPU and host in `distinct`."""
        number = {one: at for at, one in enumerate(self.distinct)}
        return tuple((instance, number[one]) for instance, one in self.by_instance.items())

    def among(self, instances: Mapping[str, None]) -> PlacedOffers:
        """Those of some instances."""
        if self.by_instance.keys() <= instances.keys():
            return self
        return PlacedOffers({name: one for name, one in self.by_instance.items() if name in instances})


def unprofiled_gpus(models: Models, catalog: Catalog) -> PlacedOffers:
    """Instances of the catalog that were not profiled but have a known GPU: that GPU and the host; the surer bases
    first.

    Empty if these models have no transfer. Names are looked up once for a catalog.
    """
    return catalog.resolved(models, lambda: PlacedOffers(MappingProxyType(_placed(models, catalog))))


def _placed(models: Models, catalog: Catalog) -> dict[str, Placed]:
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
        # A price without specs is shown in the catalog only.
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
    """What a prediction for each instance of the catalog rests on; absent where only a price is known."""
    found = dict.fromkeys(models.instances, Basis.MEASURED)
    if models.transfer is not None:
        placed = unprofiled_gpus(models, catalog).by_instance
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


@dataclass(frozen=True)
class UnprofiledSteps:
    """Steps on instances whose GPU was not profiled, estimated for each GPU and host.

    Attributes
    ----------
    offers : the instances. estimates : one for each of `offers.distinct`, in that order.
    widths : by how much intervals are widened on either side, in the logarithm, (profiles,).
    doubt : about everything that is told from these profiles, half a 90% interval in the logarithm, (profiles,).
    """

    offers: PlacedOffers
    estimates: Sequence[_GpuEstimate]
    widths: np.ndarray
    doubt: np.ndarray

    def of(self, number: int) -> list[StepTime]:
        """One profile's step on every GPU and host; `instance` is still open."""
        width, doubt = self.widths.item(number), self.doubt.item(number)
        return [one.step(number, width, doubt) for one in self.estimates]


@dataclass(frozen=True, slots=True)
class _GpuEstimate:
    """Steps on one GPU and host.

    Attributes
    ----------
    note : of every row. is_own : the latencies are known from the same GPU, and hold all doubt already.
    """

    found: TransferEstimate
    note: str
    is_own: bool

    def step(self, number: int, width: float, doubt: float) -> StepTime:
        """One profile's, with what comes to its interval."""
        found = self.found
        latency_ms = found.latencies.latency_ms.item(number)
        half = found.latencies.log_half_width.item(number)
        relative = found.relative_log_half_width.item(number)
        if self.is_own:
            width = 0.0
        elif doubt:
            half, relative = math.hypot(half, doubt), math.hypot(relative, doubt)
        weights = {name: powers.item(number) for name, powers in found.weights.items()}
        reach = Reach(weights, found.free_ms.item(number), found.launch_ms.item(number))
        return StepTime(
            instance="",
            latency_ms=latency_ms,
            basis=found.basis,
            # Known latencies are that much wider already, but for the anchor's own, which counts here too.
            interval=Interval.within_factor(latency_ms, math.exp(half)).widened(width),
            note=f"{LIMITED_BY_HOST}; {self.note}" if reach.limited_by_host else self.note,
            relative=RelativeInterval(found.relative_to, relative),
            reach=reach,
        )


def unprofiled_steps(
    transfer: TransferModel,
    recorded: AnchorSteps,
    profiles: Sequence[Profile],
    known: Mapping[str, Latencies],
    offers: PlacedOffers,
    *,
    tf32: bool,
    own: UnprofiledAnchor | None = None,
) -> UnprofiledSteps:
    """Steps on each GPU and host of `offers`.

    Parameters
    ----------
    recorded : the steps on a profiled instance. known : other profiled instances -> latencies as they are shown; the
        anchor's own is in `recorded`, where it is given. own : the GPU that the steps were recorded on, if nobody
        profiled it.
    """
    count = len(profiles)
    # The doubt about an unprofiled anchor's profiles holds it already.
    widths = np.zeros(count) if own is not None else np.array([unattributed_log_width(one) for one in profiles])
    doubt = np.zeros(count) if own is None else own.log_half_width
    if not offers.by_instance:
        return UnprofiledSteps(offers, (), widths, doubt)
    profiled = _profiled(transfer)
    others = {name: row for name, row in known.items() if name in transfer.instances and name != recorded.anchor}
    latencies, more = dict(known), {}
    if own is None and recorded.latency_ms is not None:
        latencies[recorded.anchor] = Latencies.measured(recorded.latency_ms)
    elif own is None:
        latencies[recorded.anchor] = _own_latencies(transfer, recorded)
        more[recorded.anchor] = "estimated from the profile, as none was given"
    if recorded.floor_ms is None:
        floor_ms = transfer.step.floor_ms(recorded.parts, recorded.anchor, recorded.latency_ms)
        recorded = replace(recorded, floor_ms=floor_ms)
    same = [_same_as(one[0], profiled, latencies, own, more, tf32) for one in offers.distinct]
    wanted = [one for one, there in zip(offers.distinct, same, strict=True) if there is None]
    estimates = estimate_gpus(transfer, recorded, others, wanted, tf32=tf32)
    siblings = {gpu_model(name): name for name in profiled}
    found = []
    for (gpu, host), there in zip(offers.distinct, same, strict=True):
        if there is None:
            estimate = estimates[gpu, host]
            note = "; ".join(part for part in (estimate.note, _sibling_note(transfer.gpus, gpu, siblings)) if part)
            found.append(_GpuEstimate(estimate, note, is_own=False))
        else:
            host_half = other_host_log_half_width(transfer.step, recorded, there.latencies.latency_ms, host)
            estimate = there.estimate(host_half)
            found.append(_GpuEstimate(estimate, estimate.note, is_own=True))
    return UnprofiledSteps(offers, found, widths, doubt)


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

    def estimate(self, host_half: np.ndarray) -> TransferEstimate:
        """The same latencies in another host, which may launch faster or slower: `host_half`, (profiles,)."""
        latency_ms = self.latencies.latency_ms
        return TransferEstimate(
            latencies=Latencies(latency_ms, np.hypot(self.latencies.log_half_width, host_half)),
            basis=self.basis,
            note=self.note,
            relative_to=self.name,
            relative_log_half_width=host_half,
            weights={self.name: np.ones(latency_ms.shape)},
            free_ms=latency_ms,
            launch_ms=np.zeros(latency_ms.shape),
        )


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


def _sibling_note(gpus: Gpus, gpu: Gpu, siblings: Mapping[str, str]) -> str:
    """What tells a GPU from the profiled one of the same model, if there is one; `siblings`: model -> full name."""
    sibling = siblings.get(gpus.models.get(gpu.name) or gpu.model)
    return "" if sibling is None else f"{gpu.name}, not the {sibling} that was profiled"


def _own_latencies(transfer: TransferModel, recorded: AnchorSteps) -> Latencies:
    """Latencies on the anchor itself, from what its profiles show."""
    own_ms = transfer.step.own_latency_ms(recorded.parts, recorded.anchor)
    return Latencies(own_ms, np.full(own_ms.shape, transfer.step.instances[recorded.anchor].own_log_half_width))
