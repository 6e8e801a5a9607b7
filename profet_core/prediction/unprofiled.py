"""Step latencies on instances with unprofiled GPUs, from profiled ones."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from profet_core.catalog import Catalog, gpu_model
from profet_core.catalog.gpus import Gpu, Gpus
from profet_core.ensemble.members import ProfileBatch
from profet_core.errors import InputError
from profet_core.features.classes import load_operation_classes
from profet_core.latency import Basis, Estimate, Reach, Relative
from profet_core.messages import Code, Note
from profet_core.prediction.checks import host_times_ms, unattributed_log_sd
from profet_core.profiles.record import Profile
from profet_core.transfer.carry import AnchorSteps, known_steps
from profet_core.transfer.estimate import Placed, Transferred, derived_law, other_host_log_sd, transferred
from profet_core.transfer.law import step_parts
from profet_core.transfer.model import DerivedLaw, derive
from profet_core.transfer.targets import HostColumns, host_named

if TYPE_CHECKING:
    from profet_core.artifacts.models import Models
    from profet_core.transfer.model import TransferModel

#: Bases in the order of the rows.
_ORDER = (Basis.MEASURED, Basis.CALIBRATED, Basis.DERIVED, Basis.TRANSFERRED)


@dataclass(frozen=True)
class PlacedOffers:
    """Offers by GPU and host, which many offers share.

    Attributes
    ----------
    by_instance : instance -> its GPU and host, in the order of a prediction's rows.
    """

    by_instance: Mapping[str, Placed]

    def plan(self, transfer: TransferModel, known: tuple[str, ...], tf32: bool, own: UnprofiledAnchor | None) -> _Plan:
        """How each of `distinct` is estimated from `known` instances; the same for most predictions, so kept."""
        key = id(transfer), known, tf32, own and (own.gpu, own.ran_in_tf32)
        if key not in self._plans:
            self._plans[key] = _plan(transfer, self.distinct, known, tf32, own)
        return self._plans[key]

    @cached_property
    def _plans(self) -> dict[Hashable, _Plan]:
        return {}

    @cached_property
    def distinct(self) -> tuple[Placed, ...]:
        """All distinct pairs of GPU and host."""
        return tuple(dict.fromkeys(self.by_instance.values()))

    @cached_property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """Each instance, and the index of its GPU and host in `distinct`."""
        number = {one: at for at, one in enumerate(self.distinct)}
        return tuple((instance, number[one]) for instance, one in self.by_instance.items())

    def among(self, instances: Mapping[str, None]) -> PlacedOffers:
        """A subset of instances."""
        if self.by_instance.keys() <= instances.keys():
            return self
        return PlacedOffers({name: one for name, one in self.by_instance.items() if name in instances})


def unprofiled_gpus(models: Models, catalog: Catalog) -> PlacedOffers:
    """GPU and host of catalog instances that were not profiled but have a known GPU, most certain bases first.

    Empty if these models have no transfer model. Names are resolved once per catalog.
    """
    return catalog.resolved(models, lambda: PlacedOffers(MappingProxyType(_placed(models, catalog))))


def _placed(models: Models, catalog: Catalog) -> dict[str, Placed]:
    transfer = models.transfer
    if transfer is None:
        return {}
    # Many offers share one GPU.
    sheets: dict[tuple[str, float], Gpu | None] = {}
    found: dict[Basis, dict[str, Placed]] = {basis: {} for basis in _ORDER}
    by_basis: dict[tuple[str, float], dict[str, Placed]] = {}
    for name, entry in catalog.items():
        key = entry.gpu, entry.gpu_memory_gib
        if key not in sheets:
            gpu = sheets[key] = _data_sheet(transfer.gpus, *key)
            if gpu is not None:
                by_basis[key] = found[_basis(transfer, gpu)]
        gpu = sheets[key]
        # A price without specs appears in the catalog only.
        if gpu is not None and name not in models.ranges:
            by_basis[key][name] = gpu, host_named(entry.host, gpu.compute_capability)
    return {name: placed for rows in found.values() for name, placed in rows.items()}


def _data_sheet(gpus: Gpus, name: str, memory_gib: float) -> Gpu | None:
    try:
        return gpus.find(name, memory_gib)
    except InputError:
        return None


def _basis(transfer: TransferModel, gpu: Gpu) -> Basis:
    """Basis of a latency on the GPU: measured if an instance with the same GPU was profiled."""
    if gpu.name in _profiled(transfer):
        return Basis.MEASURED
    return transfer.basis_of(gpu)


def _profiled(transfer: TransferModel) -> dict[str, str]:
    """Full GPU name -> the instance that was profiled with it."""
    return {row.gpu: name for name, row in transfer.step.instances.items()}


def basis_by_instance(models: Models, catalog: Catalog) -> dict[str, Basis]:
    """Basis of the prediction for each catalog instance; absent if only a price is known."""
    found = dict.fromkeys(models.instances, Basis.MEASURED)
    if models.transfer is not None:
        placed = unprofiled_gpus(models, catalog).by_instance
        found |= {name: _basis(models.transfer, gpu) for name, (gpu, _) in placed.items()}
    return found


@dataclass(frozen=True)
class UnprofiledAnchor:
    """The anchor's GPU, if it is unprofiled.

    Attributes
    ----------
    anchor : its name. latencies : of the steps on the GPU itself.
    log_sd : uncertainty of everything inferred for other GPUs from its profiles, (profiles,).
    ran_in_tf32 : the steps, if the GPU has it.
    """

    anchor: str
    gpu: Gpu
    latencies: Estimate
    log_sd: np.ndarray
    ran_in_tf32: bool

    @property
    def note(self) -> Note:
        """Basis of a row that is inferred from its profiles."""
        return Note(Code.UNPROFILED_ANCHOR, gpu=self.gpu.name)


def recorded_steps(batch: ProfileBatch) -> AnchorSteps:
    """Convert a batch to the transfer model's input."""
    parts = step_parts(load_operation_classes(), batch.inputs, host_times_ms(batch.profiles))
    return AnchorSteps(batch.anchor, parts, batch.latency_ms)


@dataclass(frozen=True)
class UnprofiledSteps:
    """Steps on each of `offers.distinct`, by its index: known one by one, or transferred together.

    Attributes
    ----------
    carried : indices of `transferred`, if there is any.
    """

    known: Mapping[int, Estimate]
    carried: Sequence[int] = ()
    transferred: Transferred | None = None

    def of(self, number: int) -> dict[int, Estimate]:
        """Steps of one profile on every GPU and host."""
        found = {at: one.at(number) for at, one in self.known.items()}
        if self.transferred is not None:
            found |= zip(self.carried, self.transferred.rows(number), strict=True)
        return found


def unprofiled_steps(
    transfer: TransferModel,
    recorded: AnchorSteps,
    profiles: Sequence[Profile],
    known: Mapping[str, Estimate],
    offers: PlacedOffers,
    *,
    tf32: bool,
    own: UnprofiledAnchor | None = None,
) -> UnprofiledSteps:
    """Steps on each GPU and host of `offers`.

    Parameters
    ----------
    recorded : the steps on a profiled instance. known : other profiled instances -> latencies as shown; a given anchor
        latency is in `recorded`. own : the GPU that the steps were recorded on, if it is unprofiled.
    """
    if not offers.by_instance:
        return UnprofiledSteps({})
    others = {name: row for name, row in known.items() if name in transfer.instances and name != recorded.anchor}
    if recorded.floor_ms is None:
        floor_ms = transfer.step.floor_ms(recorded.parts, recorded.anchor, recorded.latency_ms)
        recorded = replace(recorded, floor_ms=floor_ms)
    steps = known_steps(transfer.step, recorded, others)
    latencies = dict(known)
    if own is None:
        latencies[recorded.anchor] = steps.latencies[recorded.anchor]
        if recorded.latency_ms is None:
            latencies[recorded.anchor] = latencies[recorded.anchor].noted(Note(Code.FROM_PROFILE))
    plan = offers.plan(transfer, tuple(steps.latencies), tf32, own)
    # The uncertainty of an unprofiled anchor's profiles already includes unattributed time.
    more = unattributed_log_sd(profiles) if own is None else own.log_sd
    found: dict[int, Estimate] = {}
    if plan.same:
        same = {name: _same_gpu(name, latencies, own) for name in dict.fromkeys(plan.same.values())}
        there_ms = np.array([same[name].latency_ms for name in plan.same.values()])
        log_sds = other_host_log_sd(transfer.step, recorded, there_ms, plan.same_hosts)
        rows = zip(plan.same.items(), log_sds, strict=True)
        found = {at: same[name].widened(log_sd) for (at, name), log_sd in rows}
    for at, (law, gpu, notes) in plan.derived.items():
        there = derive(law, steps.latencies, gpu, tf32)
        there = replace(there, notes=(*there.notes, *notes))
        # Known latencies already include unattributed time, except the anchor's own, which counts here too.
        found[at] = replace(there, log_sd=there.log_sd + more) if own is None else there.widened(more)
    if not plan.carried:
        return UnprofiledSteps(found)
    others_there = transferred(transfer, steps, plan.placed, tf32)
    noted = [(*one, *added) for one, added in zip(others_there.notes, plan.notes, strict=True)]
    log_sd = others_there.log_sd + more if own is None else others_there.log_sd
    others_there = replace(others_there, notes=noted, log_sd=log_sd)
    return UnprofiledSteps(found, plan.carried, others_there if own is None else others_there.widened(more))


@dataclass(frozen=True)
class _Plan:
    """How each GPU and host of `PlacedOffers.distinct` is estimated, by its index.

    Attributes
    ----------
    same : known instance, or the anchor, with the same GPU. same_hosts : its hosts as columns.
    derived : law of the GPU, and notes. carried, placed, notes : of all others.
    """

    transfer: TransferModel
    same: Mapping[int, str]
    same_hosts: HostColumns
    derived: Mapping[int, tuple[DerivedLaw, Gpu, tuple[Note, ...]]]
    carried: Sequence[int]
    placed: tuple[Placed, ...]
    notes: Sequence[tuple[Note, ...]]


def _plan(
    transfer: TransferModel,
    placed: Sequence[Placed],
    known: Container[str],
    tf32: bool,
    own: UnprofiledAnchor | None,
) -> _Plan:
    profiled = _profiled(transfer)
    siblings = {gpu_model(name): name for name in profiled}
    same: dict[int, str] = {}
    derived: dict[int, tuple[DerivedLaw, Gpu, tuple[Note, ...]]] = {}
    carried: list[int] = []
    for at, (gpu, _) in enumerate(placed):
        if own is not None and gpu.name == own.gpu.name and _runs_alike(own, gpu, tf32):
            same[at] = own.anchor
        elif gpu.name in profiled:
            same[at] = profiled[gpu.name]
        elif law := derived_law(transfer, known, gpu, tf32):
            derived[at] = law, gpu, _sibling_notes(transfer.gpus, gpu, siblings)
        else:
            carried.append(at)
    return _Plan(
        transfer,
        same,
        HostColumns.of(placed[at][1] for at in same),
        derived,
        carried,
        tuple(placed[at] for at in carried),
        [_sibling_notes(transfer.gpus, placed[at][0], siblings) for at in carried],
    )


def _runs_alike(own: UnprofiledAnchor, gpu: Gpu, tf32: bool) -> bool:
    """Whether the anchor's steps ran in the requested precision."""
    return gpu.tf32_tensor_dense_tflops is None or own.ran_in_tf32 is tf32


def _same_gpu(name: str, known: Mapping[str, Estimate], own: UnprofiledAnchor | None) -> Estimate:
    """Latencies of the same GPU in another host: those of a profiled instance, or of the unprofiled anchor."""
    if own is not None and name == own.anchor:
        # No models were trained on this GPU, even if its latency is given.
        found, basis = own.latencies, Basis.CARRIED_BACK
        if found.log_sd.any():
            found = found.noted(Note(Code.FROM_PROFILE))
    else:
        found, basis = known[name], Basis.MEASURED
        if own is not None:
            found, basis = found.widened(own.log_sd).noted(own.note), Basis.CARRIED_BACK
    nothing = np.zeros(found.latency_ms.shape)
    return replace(
        found.noted(Note(Code.SAME_GPU, instance=name)),
        basis=basis,
        relative=Relative(name, nothing),
        reach=Reach({name: nothing + 1.0}, found.latency_ms, nothing),
    )


def _sibling_notes(gpus: Gpus, gpu: Gpu, siblings: Mapping[str, str]) -> tuple[Note, ...]:
    """Differences from the profiled GPU of the same model, if there is one; `siblings`: model -> full name."""
    sibling = siblings.get(gpus.models.get(gpu.name) or gpu.model)
    return () if sibling is None else (Note(Code.NOT_THE_PROFILED, gpu=gpu.name, profiled=sibling),)
