"""The stage for GPUs that the models have no profiles of: their steps follow from those on profiled GPUs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from profet_core.errors import Code, Note
from profet_core.latency import Basis, Estimate, FloatArray, combined_sd
from profet_core.prediction.table import ARRAYS, TUPLES, StepTable
from profet_core.prediction.targets import TransferPlan
from profet_core.transfer.model import transferred
from profet_core.transfer.steps import AnchorSteps, KnownSteps, known_steps, other_host_log_sd

if TYPE_CHECKING:
    from profet_core.prediction.models import Models


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
    there = transferred(known, plan.speeds, plan.calibrated)
    # The weights depend on launches and speed, so no part of the known latencies' errors reliably cancels in a ratio.
    log_sd, relative = there.log_sd, combined_sd(there.log_sd, known.latencies[known.anchor].log_sd)
    if recorded.mapped:
        log_sd, relative = combined_sd(log_sd, recorded.mapped.log_sd), combined_sd(relative, recorded.mapped.log_sd)
    else:
        log_sd = log_sd + recorded.unattributed_log_sd
    weights = np.zeros((len(plan.transferred), *table.weights.shape[1:]))
    weights[:, [table.sources.index(name) for name in known.latencies]] = there.weights
    return {
        "latency_ms": there.latency_ms,
        "log_sd": log_sd,
        "basis": plan.bases,
        "notes": plan.notes,
        "relative_to": [known.anchor] * len(plan.transferred),
        "relative_log_sd": relative,
        "weights": weights,
        "free_ms": there.free_ms,
        "launch_ms": there.launch_ms,
    }
