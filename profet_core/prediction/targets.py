"""Where a profile was recorded, which GPU and host each offer runs on, and the table of steps that stages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import NamedTuple, Self, TypeVar
from weakref import ref

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog import Catalog, Instance, gpu_model
from profet_core.catalog.gpus import Gpu, Host, host_named, is_laptops, is_no_gpu, is_part_of_a_gpu, no_less
from profet_core.errors import Code, InputError, Note
from profet_core.latency import Basis, Estimate, FloatArray, Values, combined_sd
from profet_core.layers.gpu_effects import basis_of, evidence_notes
from profet_core.layers.rates import calibrated_gpus, has_rates, rate_model_of
from profet_core.offers import OfferTable, is_limited_by_host, taken
from profet_core.prediction.models import Models

T = TypeVar("T")
_ADD_IT = "add it as a custom GPU with that name."
_NO_GPU = "an accelerator that is no GPU, and the models support GPUs only: record the step on a GPU."
_NO_WHOLE_GPU = "a GPU slice: record the step on a whole GPU."
_NO_CARD = f"a laptop GPU, which is slower than the card of that name: {_ADD_IT}"


class Anchor(Struct, frozen=True):
    """Instance or GPU on which profiles were recorded.

    Attributes
    ----------
    name : of the instance, or the GPU's full name.
    instance : the profiled instance whose models read the profiles.
    gpu : None if it is that instance's GPU; else the unprofiled GPU, whose profiles are mapped to `instance`.
    """

    name: str
    instance: str
    gpu: Gpu | None
    host: Host


def anchor_names(models: Models) -> tuple[str, ...]:
    """All anchors: profiled instances, then unprofiled GPUs with specs.

    GPUs with measured steps come first among the latter.
    """
    measured = calibrated_gpus(models)
    others = (name for name in models.transfer.gpus if name not in models.transfer.profiled_gpus)
    return (*models.instances, *sorted(others, key=lambda name: (name not in measured, name.lower())))


def find_anchor(models: Models, catalog: Catalog, name: str) -> Anchor:
    """Find the anchor by name: a catalog instance, or a GPU as named in specs or a profile.

    Raises
    ------
    InputError : the name is unknown.
    """
    if name in models.instances:
        return Anchor(name, name, None, models.transfer.profiled[name].host)
    transfer = models.transfer
    entry = catalog.get(name)
    if entry is None and not transfer.gpus.named(name) and (reason := _no_card(name)):
        raise InputError(f"The anchor can't be {name!r}, {reason}")
    try:
        gpu = transfer.gpus.find(name) if entry is None else transfer.gpus.find(entry.gpu, entry.gpu_memory_gib)
    except InputError as error:
        raise InputError(
            f"Unknown anchor {name!r}: give the GPU it was profiled on, such as T4, or an instance of the catalog. "
            f"{error}"
        ) from None
    host = host_named("" if entry is None else entry.host, gpu.compute_capability)
    same = transfer.profiled_gpus.get(gpu.name)
    # All spellings of a GPU map to one name.
    name = gpu.name if entry is None else name
    return Anchor(name, transfer.reference, gpu, host) if same is None else Anchor(name, same, None, host)


def anchor_gpu(models: Models, anchor: Anchor) -> Gpu:
    """Return an anchor's GPU."""
    return anchor.gpu or models.transfer.gpus[models.transfer.profiled[anchor.instance].gpu]


def recorded_on(models: Models, recorded: str | None) -> str | None:
    """Anchor of a profile's GPU: a profiled instance, or the full name of another GPU; None if unknown."""
    if recorded is None or unknown_gpu(models, recorded):
        return None
    try:
        gpu = models.transfer.gpus.find(recorded)
    except InputError:
        return None
    return models.transfer.profiled_gpus.get(gpu.name, gpu.name)


def unknown_gpu(models: Models, recorded: str) -> str:
    """Why no prediction can start from a profile's GPU, and what to do: one line; empty if one can."""
    if models.transfer.gpus.named(recorded):
        # If several GPUs share the model name, the user must choose.
        return ""
    says = f"The profile says it was recorded on {recorded}"
    if reason := _no_card(recorded):
        return f"{says}, {reason}"
    return f"{says}, whose specs are unknown: {_ADD_IT}"


def _no_card(name: str) -> str:
    """Why a name is of no whole card, and what to do; empty if it isn't."""
    if is_no_gpu(name):
        return _NO_GPU
    if is_part_of_a_gpu(name):
        return _NO_WHOLE_GPU
    return _NO_CARD if is_laptops(name) else ""


def anchor_named(models: Models, catalog: Catalog, name: str) -> str | None:
    """Return the one of `anchor_names` that a name means: an instance stands for its GPU; None: nothing."""
    if name in anchor_names(models):
        return name
    try:
        anchor = find_anchor(models, catalog, name)
    except InputError:
        return None
    return anchor.instance if anchor.gpu is None else anchor.gpu.name


def anchor_in_text(models: Models, catalog: Catalog, text: str) -> str | None:
    """Return the one anchor that a text, such as a file's name, has a word for ("g3s", "V100"); else None."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", text) if re.search(r"[A-Za-z]\d", word)]
    instances = {name.partition(".")[0]: name for name in anchor_names(models) if name in catalog}
    anchors = {instances.get(word.lower()) or anchor_named(models, catalog, word) for word in words} - {None}
    return anchors.pop() if len(anchors) == 1 else None


class StepTarget(NamedTuple):
    """What a step runs on: any machine with this GPU and host, or one `instance` whose own steps are known.

    Such instances are the anchor and the profiled ones; "" stands for all others.
    """

    gpu: Gpu
    host: Host
    instance: str = ""


class StepTable(Struct, frozen=True, eq=False):
    """Steps on targets.

    Arrays have shape (targets,) for one profile and size, else (targets, profiles) or (targets, sizes). NaN stands for
    unknown.

    Attributes
    ----------
    targets : keys of the rows.
    latency_ms : milliseconds per training step.
    log_sd : standard deviation of the latency's logarithm; 0 for a measurement.
    basis, notes : of each target.
    relative_to, relative_log_sd : instance whose latency shares errors with the target's, "" for none, and the log
        standard deviation of the ratio of both.
    free_ms, launch_ms : parts of a latency by rates, which is their smooth maximum: without the host's limit, and what
        the host's launches bound it to; NaN if it has none.
    members : ensemble member -> its latencies.
    """

    targets: tuple[StepTarget, ...]
    latency_ms: FloatArray
    log_sd: FloatArray
    basis: tuple[Basis, ...]
    notes: tuple[tuple[Note, ...], ...]
    relative_to: tuple[str, ...]
    relative_log_sd: FloatArray
    free_ms: FloatArray
    launch_ms: FloatArray
    members: Mapping[str, FloatArray]

    @classmethod
    def unknown(cls, targets: tuple[StepTarget, ...], *columns: int) -> StepTable:
        """Make a table without latencies; `columns`: number of profiles or sizes."""
        rows, shape = len(targets), (len(targets), *columns)
        nothing = np.full(shape, np.nan)
        return cls(
            targets=targets,
            latency_ms=nothing,
            log_sd=nothing,
            basis=(Basis.MEASURED,) * rows,
            notes=((),) * rows,
            relative_to=("",) * rows,
            relative_log_sd=nothing,
            free_ms=nothing,
            launch_ms=nothing,
            members={},
        )

    @property
    def known(self) -> np.ndarray:
        """Whether a latency is known, boolean of the same shape."""
        return ~np.isnan(self.latency_ms)

    def rows(self, offers: Iterable[tuple[Instance, int]]) -> dict[str, int]:
        """Instance -> its row: one of its own, else the one of all with its GPU and host."""
        own = {target.instance: row for row, target in enumerate(self.targets) if target.instance}
        return {offer.name: own.get(offer.name, row) for offer, row in offers}

    def with_rows(
        self,
        at: Sequence[int],
        *,
        latency_ms: Values | None = None,
        log_sd: Values | None = None,
        basis: Sequence[Basis] | None = None,
        notes: Sequence[tuple[Note, ...]] | None = None,
        relative_to: Sequence[str] | None = None,
        relative_log_sd: Values | None = None,
        free_ms: Values | None = None,
        launch_ms: Values | None = None,
    ) -> Self:
        """Replace values of the rows `at`; of an array, the first axis is these rows. None: as they are."""
        return replace(
            self,
            latency_ms=_with(self.latency_ms, at, latency_ms),
            log_sd=_with(self.log_sd, at, log_sd),
            basis=_with_each(self.basis, at, basis),
            notes=_with_each(self.notes, at, notes),
            relative_to=_with_each(self.relative_to, at, relative_to),
            relative_log_sd=_with(self.relative_log_sd, at, relative_log_sd),
            free_ms=_with(self.free_ms, at, free_ms),
            launch_ms=_with(self.launch_ms, at, launch_ms),
        )

    def slowed(self, factor: float, log_sd: float) -> Self:
        """Return steps that take so many times as long, measured ones too, with that error more."""
        given = [Basis.SCALED if basis is Basis.GIVEN else basis for basis in self.basis]
        return replace(
            self,
            latency_ms=factor * self.latency_ms,
            free_ms=factor * self.free_ms,
            launch_ms=factor * self.launch_ms,
            log_sd=combined_sd(self.log_sd, log_sd),
            relative_log_sd=combined_sd(self.relative_log_sd, log_sd),
            basis=tuple(given),
            members={name: factor * values for name, values in self.members.items()},
        )

    def take(self, rows: Sequence[int]) -> Self:
        """Return a table of these rows, in this order; -1 stands for a row of which nothing is known."""
        return replace(
            self,
            targets=tuple(self.targets[row] for row in rows),
            latency_ms=taken(self.latency_ms, rows),
            log_sd=taken(self.log_sd, rows),
            basis=tuple(self.basis[row] for row in rows),
            notes=tuple(self.notes[row] for row in rows),
            relative_to=tuple(self.relative_to[row] for row in rows),
            relative_log_sd=taken(self.relative_log_sd, rows),
            free_ms=taken(self.free_ms, rows),
            launch_ms=taken(self.launch_ms, rows),
            members={name: taken(values, rows) for name, values in self.members.items()},
        )

    def column(self, number: int) -> Self:
        """Return the rows of one profile or size, by its index."""
        return replace(
            self,
            latency_ms=self.latency_ms[:, number],
            log_sd=self.log_sd[:, number],
            relative_log_sd=self.relative_log_sd[:, number],
            free_ms=self.free_ms[:, number],
            launch_ms=self.launch_ms[:, number],
            members={name: values[:, number] for name, values in self.members.items()},
        )

    def merged(self, other: Self, rows: np.ndarray) -> Self:
        """`other`'s values in the rows where a boolean array is True; both tables have the same targets."""
        at = np.flatnonzero(rows).tolist()
        if not at:
            return self
        wide = rows.reshape(-1, *(1,) * (self.latency_ms.ndim - 1))
        table = self.with_rows(
            at,
            latency_ms=other.latency_ms[at],
            log_sd=other.log_sd[at],
            basis=[other.basis[row] for row in at],
            notes=[other.notes[row] for row in at],
            relative_to=[other.relative_to[row] for row in at],
            relative_log_sd=other.relative_log_sd[at],
            free_ms=other.free_ms[at],
            launch_ms=other.launch_ms[at],
        )
        members = {
            name: np.where(wide, other.members.get(name, np.nan), self.members.get(name, np.nan))
            for name in {**self.members, **other.members}
        }
        return replace(table, members=members)


def _with(values: FloatArray, at: Sequence[int], new: Values | None) -> FloatArray:
    if new is None:
        return values
    changed = values.copy()
    changed[at] = new
    return changed


def _with_each(values: tuple[T, ...], at: Sequence[int], new: Sequence[T] | None) -> tuple[T, ...]:
    if new is None:
        return values
    changed = list(values)
    for row, value in zip(at, new, strict=True):
        changed[row] = value
    return tuple(changed)


def offer_table(table: StepTable, offers: Sequence[tuple[Instance, int]]) -> OfferTable:
    """Join steps of one profile and size with offers: each offer with its row of the table."""
    rows = list(table.rows(offers).values())
    return OfferTable(
        offers=tuple(offer for offer, _ in offers),
        latency_ms=table.latency_ms[rows],
        log_sd=table.log_sd[rows],
        basis=tuple(table.basis[row] for row in rows),
        notes=tuple(table.notes[row] for row in rows),
        least_ms=np.zeros(len(rows)),
        limited_by_host=is_limited_by_host(table.free_ms[rows], table.launch_ms[rows]),
        relative_to=tuple(table.relative_to[row] for row in rows),
        relative_log_sd=table.relative_log_sd[rows],
        gpus=np.ones(len(rows), int),
        scaling_log_sd=np.zeros(len(rows)),
        members={name: values[rows] for name, values in table.members.items()},
    )


#: Bases in the order of an answer's rows.
_ORDER = (Basis.MEASURED, Basis.CALIBRATED, Basis.TRANSFERRED)


class RowPlan(Struct, frozen=True):
    """Where the rows of a table come from, the same for every step of an anchor in a precision.

    Attributes
    ----------
    profiled : profiled instance -> its row.
    same_gpu : row -> instance with the same GPU in another host: a profiled one, or the anchor.
    estimated : all other rows but the anchor's own, by the rates of their GPUs.
    bases, notes : of the latter.
    """

    profiled: Mapping[str, int]
    same_gpu: Mapping[int, str]
    estimated: Sequence[int]
    bases: Sequence[Basis]
    notes: Sequence[tuple[Note, ...]]

    def filled(self, table: StepTable, anchor: Anchor, here: Estimate, *, is_measured: bool) -> StepTable:
        """Fill the rows of the same GPU in other hosts, and what the estimated ones follow from.

        Parameters
        ----------
        here : steps on the anchor, measured or inferred from the profiles.
        """
        names, inferred = list(self.same_gpu.values()), () if is_measured else (Note(Code.FROM_PROFILE),)
        log_sds = np.nan_to_num(table.log_sd)
        steps = {name: (table.latency_ms[row], log_sds[row]) for name, row in self.profiled.items()}
        notes = {name: (Note(Code.SAME_GPU, instance=name),) for name in names}
        for name in {anchor.name, anchor.instance}:
            steps[name] = here.latency_ms, 0 * here.log_sd if is_measured else here.log_sd
            notes[name] = *notes.get(name, ()), *inferred
        basis, shape = Basis.MEASURED if anchor.gpu is None else Basis.MAPPED, (len(names), *table.latency_ms.shape[1:])
        table = table.with_rows(
            [*self.same_gpu],
            latency_ms=np.array([steps[name][0] for name in names]).reshape(shape),
            log_sd=np.array([steps[name][1] for name in names]).reshape(shape),
            basis=[basis] * len(names),
            notes=[notes[name] for name in names],
            relative_to=names,
        )
        relative_to = [anchor.name] * len(self.estimated)
        return table.with_rows(self.estimated, basis=self.bases, notes=self.notes, relative_to=relative_to)


def row_plan(models: Models, anchor: Anchor, targets: Sequence[StepTarget], *, tf32: bool) -> RowPlan:
    """Where the rows of `targets` come from, for steps recorded on an anchor.

    Parameters
    ----------
    tf32 : the requested precision on GPUs that have it.
    """
    transfer, by_model = models.transfer, {gpu_model(name): name for name in models.transfer.profiled_gpus}
    profiled = {target.instance: row for row, target in enumerate(targets) if target.instance in models.ranges}
    anchor_name = anchor_gpu(models, anchor).name
    same_gpu: dict[int, str] = {}
    estimated: dict[int, tuple[Basis, tuple[Note, ...]]] = {}
    for row, (gpu, _, instance) in enumerate(targets):
        like = transfer.profiled_gpus.get(gpu.name)
        if instance == anchor.name or (anchor.gpu is None and instance in profiled and instance != anchor.instance):
            continue
        if gpu.name == anchor_name:
            same_gpu[row] = anchor.instance if anchor.gpu is None else anchor.name
        elif like is not None and anchor.gpu is None:
            same_gpu[row] = like
        elif like is not None:
            estimated[row] = Basis.MAPPED, (Note(Code.UNPROFILED_ANCHOR, gpu=anchor_name),)
        else:
            # What differs from the profiled GPU of the same model.
            sibling = by_model.get(transfer.gpus.models.get(gpu.name) or gpu.model)
            more = [] if sibling is None else [Note(Code.NOT_THE_PROFILED, gpu=gpu.name, profiled=sibling)]
            estimated[row] = basis_of(models, gpu), (*evidence_notes(models, gpu, tf32=tf32), *more)
    return RowPlan(
        profiled=profiled,
        same_gpu=same_gpu,
        estimated=list(estimated),
        bases=[basis for basis, _ in estimated.values()],
        notes=[notes for _, notes in estimated.values()],
    )


class Layout(Struct, frozen=True):
    """Rows of the table of one anchor, and the offers that each stands for.

    Attributes
    ----------
    targets : keys of the table: the anchor if it is an offer, the other profiled instances, all others.
    offers : each instance with a price, and the row of its target, in the order of an answer's rows.
    places : anchor or profiled instance -> its row.
    plan : where the rows come from.
    no_slower : whether a row is no slower than another one, (rows, rows), and `fixed` : rows whose own models or
        measurement say how long a step takes.
    """

    targets: tuple[StepTarget, ...]
    offers: tuple[tuple[Instance, int], ...]
    places: Mapping[str, int]
    plan: RowPlan
    no_slower: np.ndarray
    fixed: np.ndarray

    def in_order(self, table: StepTable) -> StepTable:
        """Return the table of one profile where no GPU is slower than one with no more of anything.

        Rates keep that order; steps that follow from other models than their neighbors' may not.
        """
        known_ms = np.where(table.known, table.latency_ms, np.nan)
        ordered_ms = in_order(known_ms, self.no_slower, self.fixed)
        factor = np.where(table.known, ordered_ms / known_ms, 1.0)
        return replace(
            table,
            latency_ms=np.where(factor == 1, table.latency_ms, ordered_ms),
            free_ms=table.free_ms * factor,
            launch_ms=table.launch_ms * factor,
        )


def in_order(latency_ms: FloatArray, no_slower: np.ndarray, fixed: np.ndarray) -> FloatArray:
    """Latencies in the order that the data sheets ask for; NaN where unknown.

    no_slower : whether a row is no slower than another one, (..., rows, rows).
    fixed : rows that stay as they are, (..., rows).
    """
    at_most = np.where(no_slower & fixed[..., None, :], latency_ms[..., None, :], np.inf)
    ordered_ms = np.where(fixed, latency_ms, np.fmin(latency_ms, np.fmin.reduce(at_most, axis=-1, initial=np.inf)))
    at_least = np.where(no_slower, ordered_ms[..., :, None], -np.inf)
    highest_ms = np.fmax.reduce(at_least, axis=-2, initial=-np.inf)
    raised_ms: FloatArray = np.where(fixed, ordered_ms, np.fmax(ordered_ms, highest_ms))
    return raised_ms


def _no_slower(models: Models, targets: Sequence[StepTarget], fixed: np.ndarray) -> np.ndarray:
    """Whether each row is no slower than another one: it has no less of everything, and a host not surely slower.

    What a user says of a GPU counts, whatever others' order.
    """
    gpus = list(dict.fromkeys(target.gpu for target in targets))
    rates = rate_model_of(models) if has_rates(models) else None
    shipped = np.array([rates is None or rates.users_effects(gpu.name) is None for gpu in gpus])
    better = no_less(gpus) & shipped & shipped[:, None]
    places = [gpus.index(target.gpu) for target in targets]
    launches = np.log([target.host.launch for target in targets])
    log_sd = np.array([target.host.log_sd for target in targets])
    slower_host = launches[:, None] - launches[None] > np.hypot(log_sd[:, None], log_sd[None])
    is_better: np.ndarray = better[np.ix_(places, places)]
    # What was measured counts whatever its host.
    allowed: np.ndarray = is_better & (~slower_host | fixed[:, None] | fixed[None])
    return allowed


class OfferTargets:
    """Targets of a catalog's offers; names are resolved once.

    Attributes
    ----------
    by_instance : unprofiled instance of the catalog with a known GPU -> its target, most certain bases first.
    """

    def __init__(self, models: Models, catalog: Catalog) -> None:
        self._models, self._catalog = models, catalog
        self.by_instance: Mapping[str, StepTarget] = _unprofiled(models, catalog)
        self._layouts: dict[tuple[str, bool], Layout] = {}

    def layout(self, anchor: Anchor, *, tf32: bool = True) -> Layout:
        """Rows of the table of steps recorded on an anchor; `tf32` as `row_plan` takes it."""
        key = anchor.name, tf32
        if key not in self._layouts:
            self._layouts[key] = self._layout(anchor, tf32)
        return self._layouts[key]

    def _layout(self, anchor: Anchor, tf32: bool) -> Layout:
        transfer = self._models.transfer
        # Each instance with its target, and its place in an answer; the first of a name counts.
        rows = [(0, StepTarget(anchor_gpu(self._models, anchor), anchor.host, anchor.name), anchor.name)]
        for name in self._models.instances:
            profiled = transfer.profiled[name]
            target = StepTarget(transfer.gpus[profiled.gpu], profiled.host, name)
            # Of an anchor with a profiled GPU, that GPU's profiled instance is known from the anchor.
            rows.append((2 if anchor.gpu is None and name == anchor.instance else 1, target, name))
        rows += [(3, target, name) for name, target in self.by_instance.items()]
        by_name: dict[str, StepTarget] = {}
        for place, target, name in sorted(rows, key=itemgetter(0)):
            if place > 0 or name in self._catalog:
                by_name.setdefault(name, target)
        places = {target: row for row, target in enumerate(dict.fromkeys(by_name.values()))}
        plan = row_plan(self._models, anchor, tuple(places), tf32=tf32)
        fixed = np.array([row not in plan.estimated for row in range(len(places))])
        return Layout(
            targets=tuple(places),
            no_slower=_no_slower(self._models, tuple(places), fixed),
            fixed=fixed,
            offers=tuple(
                (self._catalog[name], places[target]) for name, target in by_name.items() if name in self._catalog
            ),
            places={target.instance: row for target, row in places.items() if target.instance},
            plan=plan,
        )


def offer_targets(models: Models, catalog: Catalog) -> OfferTargets:
    """Targets of the catalog's offers for these models, kept for the models that the catalog was last used with."""
    kept = catalog.resolved
    if kept is None or kept[0]() is not models:
        kept = catalog.resolved = ref(models), OfferTargets(models, catalog)
    targets: OfferTargets = kept[1]
    return targets


def _unprofiled(models: Models, catalog: Catalog) -> dict[str, StepTarget]:
    """Unprofiled instance with a known GPU -> its target, most certain bases first."""
    gpus = models.transfer.gpus
    # Many offers share one GPU.
    sheets: dict[tuple[str, float], Gpu | None] = {}
    ordered: list[tuple[int, str, StepTarget]] = []
    for name, entry in catalog.items():
        key = entry.gpu, entry.gpu_memory_gib
        if key not in sheets:
            sheets[key] = None
            with suppress(InputError):
                sheets[key] = gpus.find(*key)
        gpu = sheets[key]
        # A price without specs appears in the catalog only.
        if gpu is not None and name not in models.ranges:
            target = StepTarget(gpu, host_named(entry.host, gpu.compute_capability))
            ordered.append((_ORDER.index(_basis(models, gpu)), name, target))
    return {name: target for _, name, target in sorted(ordered, key=itemgetter(0))}


def _basis(models: Models, gpu: Gpu) -> Basis:
    """Basis of a latency on the GPU: measured if an instance with the same GPU was profiled."""
    return Basis.MEASURED if gpu.name in models.transfer.profiled_gpus else basis_of(models, gpu)


def basis_by_instance(models: Models, catalog: Catalog) -> dict[str, Basis]:
    """Basis of the prediction for each catalog instance; absent if only a price is known."""
    offered = offer_targets(models, catalog).by_instance
    measured = dict.fromkeys(models.instances, Basis.MEASURED)
    return measured | {name: _basis(models, target.gpu) for name, target in offered.items()}
