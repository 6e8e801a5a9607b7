"""The stage for GPUs that the models have no profiles of: their steps follow from those on profiled GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from profet_core.catalog import gpu_model
from profet_core.errors import Code, Note
from profet_core.latency import Basis, Estimate, FloatArray, combined_sd
from profet_core.prediction.anchors import Anchor
from profet_core.prediction.table import ARRAYS, TUPLES, StepTable, Target
from profet_core.transfer.estimate import (
    OtherGpus,
    other_gpus,
    other_host_log_sd,
    relative_log_sd,
    transferred,
)
from profet_core.transfer.steps import AnchorSteps, KnownSteps, known_steps
from profet_core.transfer.targets import HostColumns

if TYPE_CHECKING:
    from profet_core.prediction.models import Models


@dataclass(frozen=True)
class TransferPlan:
    """How rows of a table follow from known instances, the same for every step of an anchor in a precision.

    Attributes
    ----------
    known : profiled instance -> its row.
    same_gpu : row -> the profiled instance with the same GPU, or the anchor. hosts : of these rows.
    transferred, others, notes : all other rows, and their GPUs.
    """

    tf32: bool
    known: Mapping[str, int]
    same_gpu: Mapping[int, str]
    hosts: HostColumns
    transferred: Sequence[int]
    others: OtherGpus
    notes: Sequence[tuple[Note, ...]]


def transfer_plan(
    models: Models, anchor: Anchor, targets: Sequence[Target], *, tf32: bool, ran_in_tf32: bool
) -> TransferPlan:
    """How the GPUs among `targets` that have no models follow from steps recorded on an anchor.

    Parameters
    ----------
    tf32 : the requested precision on GPUs that have it. ran_in_tf32 : that of the recorded steps.
    """
    transfer, by_model = models.transfer, {gpu_model(name): name for name in models.transfer.profiled_gpus}
    known = {target.instance: row for row, target in enumerate(targets) if target.instance in models.ranges}
    names = (*(name for name in known if name != anchor.instance), anchor.instance)
    same_gpu: dict[int, str] = {}
    left: dict[int, tuple[Note, ...]] = {}
    for row, (gpu, _, instance) in enumerate(targets):
        if instance == anchor.name or (instance in known and (anchor.gpu or instance != anchor.instance)):
            continue
        alike = gpu.tf32_tensor_dense_tflops is None or ran_in_tf32 is tf32
        if anchor.gpu is not None and gpu.name == anchor.gpu.name and alike:
            same_gpu[row] = anchor.name
        elif gpu.name in transfer.profiled_gpus:
            same_gpu[row] = transfer.profiled_gpus[gpu.name]
        else:
            # What differs from the profiled GPU of the same model.
            sibling = by_model.get(transfer.gpus.models.get(gpu.name) or gpu.model)
            left[row] = () if sibling is None else (Note(Code.NOT_THE_PROFILED, gpu=gpu.name, profiled=sibling),)
    others = other_gpus(transfer, anchor.instance, names, [targets[row][:2] for row in left], tf32)
    return TransferPlan(
        tf32=tf32,
        known=known,
        same_gpu=same_gpu,
        hosts=HostColumns.of(targets[row].host for row in same_gpu),
        transferred=list(left),
        others=others,
        notes=[(*one, *more) for one, more in zip(others.notes, left.values(), strict=True)],
    )


@dataclass(frozen=True)
class RecordedSteps:
    """Recorded steps that other GPUs follow from.

    Attributes
    ----------
    steps : on a profiled instance: the anchor, or where an unprofiled one's steps were mapped to.
    unattributed_log_sd : uncertainty from GPU time without an operation, (profiles,).
    mapped : latencies on the anchor's GPU and the uncertainty of all that follows from them, if it is unprofiled.
    """

    steps: AnchorSteps
    unattributed_log_sd: FloatArray
    mapped: MappedAnchor | None = None

    @property
    def notes(self) -> tuple[Note, ...]:
        """On latencies of profiled instances."""
        return (self.mapped.note,) if self.mapped else ()


@dataclass(frozen=True)
class MappedAnchor:
    """Steps on an unprofiled GPU.

    Attributes
    ----------
    anchor, gpu : their names.
    latency_ms : there, (profiles,), measured or inferred from the profile.
    log_sd : of everything that follows from them, (profiles,), which includes unattributed time.
    """

    anchor: str
    gpu: str
    latency_ms: FloatArray
    measured: bool
    log_sd: FloatArray

    @property
    def note(self) -> Note:
        """Basis of what follows from it."""
        return Note(Code.UNPROFILED_ANCHOR, gpu=self.gpu)


def on_other_gpus(models: Models, table: StepTable, recorded: RecordedSteps, plan: TransferPlan) -> StepTable:
    """Fill the rows of `plan` from those of profiled instances."""
    step_model, steps, mapped = models.transfer.step, recorded.steps, recorded.mapped
    if steps.floor_ms is None:
        steps = replace(steps, floor_ms=step_model.floor_ms(steps.parts, steps.anchor, steps.latency_ms))
    others = {
        name: Estimate(
            latency_ms=table.latency_ms[row],
            # Mapped steps share one uncertainty, which is added last.
            log_sd=np.zeros(table.latency_ms.shape[1]) if mapped else np.nan_to_num(table.log_sd[row]),
        )
        for name, row in plan.known.items()
        if name != steps.anchor
    }
    known = known_steps(step_model, steps, others)
    found = [
        _on_same_gpus(table, known, steps, mapped, plan),
        _transferred(table, known, recorded, plan),
    ]
    rows = [*plan.same_gpu, *plan.transferred]
    values: dict[str, Any] = {name: np.concatenate([block[name] for block in found]) for name in ARRAYS}
    values |= {name: [value for block in found for value in block[name]] for name in TUPLES}
    return table.with_rows(rows, **values)


#: Values of some rows of a table, by name.
Rows: TypeAlias = dict[str, Any]


def _on_same_gpus(
    table: StepTable, known: KnownSteps, steps: AnchorSteps, mapped: MappedAnchor | None, plan: TransferPlan
) -> Rows:
    """Latencies of the same GPU in another host: those of a profiled instance, or of the unprofiled anchor."""
    names, shape = list(plan.same_gpu.values()), (len(plan.same_gpu), table.latency_ms.shape[1])
    found: dict[str, tuple[FloatArray, FloatArray, tuple[Note, ...]]] = {}
    for name in dict.fromkeys(names):
        notes: tuple[Note, ...] = (Note(Code.SAME_GPU, instance=name),)
        if mapped and name == mapped.anchor:
            # No models were trained on this GPU, even if its latency is given.
            log_sd = np.zeros(mapped.latency_ms.shape) if mapped.measured else mapped.log_sd
            found[name] = mapped.latency_ms, log_sd, notes if mapped.measured else (*notes, Note(Code.FROM_PROFILE))
        elif mapped:
            found[name] = known.latencies[name].latency_ms, mapped.log_sd, (*notes, mapped.note)
        else:
            inferred = name == known.anchor and steps.latency_ms is None
            one = known.latencies[name]
            found[name] = one.latency_ms, one.log_sd, (*notes, Note(Code.FROM_PROFILE)) if inferred else notes
    latency_ms, log_sd = (np.array([found[name][part] for name in names]).reshape(shape) for part in (0, 1))
    host_log_sd = other_host_log_sd(known.step_model, steps, latency_ms, plan.hosts)
    weights = np.zeros((len(names), *table.weights.shape[1:]))
    weights[np.arange(len(names)), [table.sources.index(name) for name in names]] = 1.0
    return {
        "latency_ms": latency_ms,
        "log_sd": combined_sd(log_sd, host_log_sd),
        "basis": [Basis.MAPPED if mapped else Basis.MEASURED] * len(names),
        "notes": [found[name][2] for name in names],
        "relative_to": names,
        "relative_log_sd": host_log_sd,
        "weights": weights,
        "free_ms": latency_ms,
        "launch_ms": np.zeros(shape),
    }


def _transferred(table: StepTable, known: KnownSteps, recorded: RecordedSteps, plan: TransferPlan) -> Rows:
    """Latencies on all others, by the analytical model."""
    there = transferred(known, plan.others)
    log_sd, relative = there.log_sd, relative_log_sd(known, there)
    if recorded.mapped:
        log_sd, relative = combined_sd(log_sd, recorded.mapped.log_sd), combined_sd(relative, recorded.mapped.log_sd)
    else:
        log_sd = log_sd + recorded.unattributed_log_sd
    weights = np.zeros((len(plan.transferred), *table.weights.shape[1:]))
    weights[:, [table.sources.index(name) for name in known.latencies]] = there.weights
    return {
        "latency_ms": there.latency_ms,
        "log_sd": log_sd,
        "basis": plan.others.bases,
        "notes": plan.notes,
        "relative_to": [known.anchor] * len(plan.transferred),
        "relative_log_sd": relative,
        "weights": weights,
        "free_ms": there.free_ms,
        "launch_ms": there.launch_ms,
    }
