"""Which GPU and host each offer of a catalog runs on, and the targets of a prediction's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from profet_core.catalog import Catalog, Instance
from profet_core.catalog.gpus import Gpu, Gpus
from profet_core.errors import InputError
from profet_core.latency import Basis
from profet_core.prediction.anchors import Anchor, anchor_gpu
from profet_core.prediction.other_gpus import TransferPlan, transfer_plan
from profet_core.prediction.table import StepTable, Target
from profet_core.transfer.rates import no_less
from profet_core.transfer.targets import host_named

if TYPE_CHECKING:
    from profet_core.prediction.models import Models

#: Bases in the order of an answer's rows.
_ORDER = (Basis.MEASURED, Basis.CALIBRATED, Basis.DERIVED, Basis.TRANSFERRED)


@dataclass(frozen=True)
class Layout:
    """Rows of the table of one anchor, and the offers that each stands for.

    Attributes
    ----------
    targets : keys of the table: the anchor if it is an offer, the other profiled instances, all others.
    sources : profiled instances, and the anchor if its GPU is unprofiled.
    offers : each instance with a price, and the row of its target, in the order of an answer's rows.
    places : anchor or profiled instance -> its row.
    plan : how GPUs without profiles follow from those with.
    no_slower : whether a row is no slower than another one, (rows, rows), and `fixed` : rows whose own models or
        measurement say how long a step takes.
    """

    targets: tuple[Target, ...]
    sources: tuple[str, ...]
    offers: tuple[tuple[Instance, int], ...]
    places: Mapping[str, int]
    plan: TransferPlan
    no_slower: np.ndarray
    fixed: np.ndarray

    def in_order(self, table: StepTable) -> StepTable:
        """The table of one profile where no GPU is slower than one with no more of anything.

        Rates keep that order; steps that follow from other models than their neighbors' may not.
        """
        known_ms = np.where(table.known, table.latency_ms, np.nan)
        at_most = np.where(self.no_slower & self.fixed[None], known_ms[None], np.inf)
        ordered_ms = np.where(self.fixed, known_ms, np.fmin(known_ms, np.nanmin(at_most, axis=1, initial=np.inf)))
        at_least = np.where(self.no_slower, ordered_ms[:, None], -np.inf)
        ordered_ms = np.where(self.fixed, ordered_ms, np.fmax(ordered_ms, np.nanmax(at_least, axis=0, initial=-np.inf)))
        factor = np.where(table.known, ordered_ms / known_ms, 1.0)
        return replace(
            table,
            latency_ms=np.where(factor == 1, table.latency_ms, ordered_ms),
            free_ms=table.free_ms * factor,
            launch_ms=table.launch_ms * factor,
        )


def _no_slower(targets: Sequence[Target], fixed: np.ndarray) -> np.ndarray:
    """Whether each row is no slower than another one: it has no less of everything, and a host not surely slower."""
    gpus = list(dict.fromkeys(target.gpu for target in targets))
    better = np.array([[no_less(one, other) for other in gpus] for one in gpus])
    places = [gpus.index(target.gpu) for target in targets]
    launches = np.log([target.host.launch for target in targets])
    log_sd = np.array([target.host.log_sd for target in targets])
    slower_host = launches[:, None] - launches[None] > np.hypot(log_sd[:, None], log_sd[None])
    found: np.ndarray = better[np.ix_(places, places)]
    # What was measured counts whatever its host.
    allowed: np.ndarray = found & (~slower_host | fixed[:, None] | fixed[None])
    return allowed


class OfferTargets:
    """Targets of a catalog's offers; names are resolved once.

    Attributes
    ----------
    by_instance : unprofiled instance of the catalog with a known GPU -> its target, most certain bases first.
    """

    def __init__(self, models: Models, catalog: Catalog) -> None:
        self._models, self._catalog = models, catalog
        self.by_instance: Mapping[str, Target] = _unprofiled(models, catalog)
        self._layouts: dict[tuple[str, bool, bool], Layout] = {}

    def layout(self, anchor: Anchor, *, tf32: bool = True, ran_in_tf32: bool = True) -> Layout:
        """Rows of the table of steps recorded on an anchor; precisions as `transfer_plan` takes them."""
        key = anchor.name, tf32, ran_in_tf32
        if key not in self._layouts:
            self._layouts[key] = self._layout(anchor, tf32, ran_in_tf32)
        return self._layouts[key]

    def _layout(self, anchor: Anchor, tf32: bool, ran_in_tf32: bool) -> Layout:
        transfer = self._models.transfer
        profiled = {
            name: Target(transfer.gpus[transfer.step.instances[name].gpu], transfer.step.hosts[name], name)
            for name in self._models.instances
        }
        own = Target(transfer.gpus[anchor_gpu(self._models, anchor)], anchor.host, anchor.name)
        first = {anchor.name: own} if anchor.name in self._catalog else {}
        # Of an anchor with a profiled GPU, that GPU's profiled instance is known from the anchor.
        last = {anchor.instance: profiled[anchor.instance]} if anchor.gpu is None else {}
        others = {**last, **self.by_instance}
        by_name = {**profiled, **others, **first}
        order = dict.fromkeys([*first, *(name for name in profiled if name not in others), *others])
        places = {target: row for row, target in enumerate(dict.fromkeys(by_name[name] for name in order))}
        plan = transfer_plan(self._models, anchor, tuple(places), tf32=tf32, ran_in_tf32=ran_in_tf32)
        fixed = np.array([bool(target.instance) or row in plan.same_gpu for row, target in enumerate(places)])
        return Layout(
            targets=tuple(places),
            no_slower=_no_slower(tuple(places), fixed),
            fixed=fixed,
            sources=(*transfer.instances, *(() if anchor.gpu is None else (anchor.name,))),
            offers=tuple((self._catalog[name], places[by_name[name]]) for name in order if name in self._catalog),
            places={target.instance: row for target, row in places.items() if target.instance},
            plan=plan,
        )


def offer_targets(models: Models, catalog: Catalog) -> OfferTargets:
    """Targets of the catalog's offers for these models."""
    return catalog.resolved(models, lambda: OfferTargets(models, catalog))


def _unprofiled(models: Models, catalog: Catalog) -> dict[str, Target]:
    gpus = models.transfer.gpus
    # Many offers share one GPU.
    sheets: dict[tuple[str, float], Gpu | None] = {}
    by_basis: dict[Basis, dict[str, Target]] = {basis: {} for basis in _ORDER}
    found: dict[tuple[str, float], dict[str, Target]] = {}
    for name, entry in catalog.items():
        key = entry.gpu, entry.gpu_memory_gib
        if key not in sheets:
            gpu = sheets[key] = _data_sheet(gpus, *key)
            if gpu is not None:
                found[key] = by_basis[_basis(models, gpu)]
        gpu = sheets[key]
        # A price without specs appears in the catalog only.
        if gpu is not None and name not in models.ranges:
            host = host_named(entry.host, gpu.compute_capability)
            found[key][name] = Target(gpu, host)
    return {name: target for rows in by_basis.values() for name, target in rows.items()}


def _data_sheet(gpus: Gpus, name: str, memory_gib: float) -> Gpu | None:
    try:
        return gpus.find(name, memory_gib)
    except InputError:
        return None


def _basis(models: Models, gpu: Gpu) -> Basis:
    """Basis of a latency on the GPU: measured if an instance with the same GPU was profiled."""
    return Basis.MEASURED if gpu.name in models.transfer.profiled_gpus else models.transfer.basis_of(gpu)


def basis_by_instance(models: Models, catalog: Catalog) -> dict[str, Basis]:
    """Basis of the prediction for each catalog instance; absent if only a price is known."""
    offered = offer_targets(models, catalog).by_instance
    found = dict.fromkeys(models.instances, Basis.MEASURED)
    return found | {name: _basis(models, target.gpu) for name, target in offered.items()}
