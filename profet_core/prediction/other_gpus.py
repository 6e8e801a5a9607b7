"""The stages for unprofiled GPUs: steps there follow from profiled ones, and profiles of one are mapped to these."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.ensemble.classes import COPY_CLASS, IDLE_CLASS, OperationClasses, load_operation_classes
from profet_core.ensemble.members import ProfileBatch, StepInputs, known_part
from profet_core.errors import Code, Note
from profet_core.latency import Basis, Estimate, FloatArray, combined_sd, log_sd_of, smooth_max
from profet_core.prediction.checks import host_times_ms, unattributed_log_sd
from profet_core.prediction.members import Estimates, class_estimates, floored
from profet_core.prediction.models import Method, Models
from profet_core.prediction.table import StepTable
from profet_core.prediction.targets import Anchor, TransferPlan
from profet_core.transfer.model import CalibratedGpu, target_of
from profet_core.transfer.step_model import BANDWIDTH, KINDS, floor_of, kind_of_class, step_parts
from profet_core.transfer.steps import (
    AnchorSteps,
    AsRecorded,
    KnownSteps,
    StepsThere,
    TargetSpeeds,
    UnprofiledSteps,
    known_steps,
    map_to_profiled,
    other_host_log_sd,
    transfer_at,
)


class RecordedSteps(Struct, frozen=True):
    """Recorded steps that other GPUs follow from.

    Attributes
    ----------
    steps : on a profiled instance: the anchor, or where an unprofiled one's steps were mapped to.
    log_sd : uncertainty of all that follows from them, (profiles,): GPU time without an operation, and the mapping.
    anchor : the anchor if its GPU is unprofiled, else empty.
    anchor_ms : latencies there, (profiles,), measured or inferred from the profiles.
    measured : whether they were measured.
    notes : on all that follows from an unprofiled anchor.
    """

    steps: AnchorSteps
    log_sd: FloatArray
    anchor: str = ""
    anchor_ms: FloatArray | None = None
    measured: bool = True
    notes: tuple[Note, ...] = ()


def on_other_gpus(models: Models, table: StepTable, recorded: RecordedSteps, plan: TransferPlan) -> StepTable:
    """Fill the rows of `plan` from those of profiled instances."""
    step_model, steps = models.transfer.step, recorded.steps
    others = {
        name: Estimate(
            latency_ms=table.latency_ms[row],
            # Mapped steps share one uncertainty, which is added last.
            log_sd=np.zeros(table.latency_ms.shape[1]) if recorded.anchor else np.nan_to_num(table.log_sd[row]),
        )
        for name, row in plan.known.items()
        if name != steps.anchor
    }
    known = known_steps(step_model, steps, others)
    return _transferred(_on_same_gpus(table, known, recorded, plan), known, recorded, plan)


def _on_same_gpus(table: StepTable, known: KnownSteps, recorded: RecordedSteps, plan: TransferPlan) -> StepTable:
    """Latencies of the same GPU in another host: those of a profiled instance, or of the unprofiled anchor."""
    names, shape = list(plan.same_gpu.values()), (len(plan.same_gpu), table.latency_ms.shape[1])
    found: dict[str, tuple[FloatArray, FloatArray, tuple[Note, ...]]] = {}
    more: tuple[Note, ...]
    for name in dict.fromkeys(names):
        # No models were trained on an unprofiled anchor, even if its latency is given.
        if recorded.anchor_ms is not None and name == recorded.anchor:
            log_sd = np.zeros(recorded.anchor_ms.shape) if recorded.measured else recorded.log_sd
            latency_ms, more = recorded.anchor_ms, () if recorded.measured else (Note(Code.FROM_PROFILE),)
        elif recorded.anchor:
            latency_ms, log_sd, more = known.latencies[name].latency_ms, recorded.log_sd, recorded.notes
        else:
            latency_ms, log_sd = known.latencies[name].latency_ms, known.latencies[name].log_sd
            inferred = name == known.anchor and recorded.steps.latency_ms is None
            more = (Note(Code.FROM_PROFILE),) if inferred else ()
        found[name] = latency_ms, log_sd, (plan.same_notes[name], *more)
    latency_ms, log_sd = (np.array([found[name][part] for name in names]).reshape(shape) for part in (0, 1))
    host_log_sd = other_host_log_sd(known.step_model, recorded.steps, latency_ms, plan.hosts)
    weights = np.zeros((len(names), *table.weights.shape[1:]))
    weights[np.arange(len(names)), [table.sources.index(name) for name in names]] = 1.0
    return table.with_rows(
        [*plan.same_gpu],
        latency_ms=latency_ms,
        log_sd=combined_sd(log_sd, host_log_sd),
        basis=[Basis.MAPPED if recorded.anchor else Basis.MEASURED] * len(names),
        notes=[found[name][2] for name in names],
        relative_to=names,
        relative_log_sd=host_log_sd,
        weights=weights,
        free_ms=latency_ms,
        launch_ms=0.0,
    )


def _transferred(table: StepTable, known: KnownSteps, recorded: RecordedSteps, plan: TransferPlan) -> StepTable:
    """Latencies on all others, by the analytical model."""
    there = transferred(known, plan.speeds, plan.calibrated)
    # The weights depend on launches and speed, so no part of the known latencies' errors reliably cancels in a ratio.
    log_sd, relative = there.log_sd, combined_sd(there.log_sd, known.latencies[known.anchor].log_sd)
    if recorded.anchor:
        log_sd, relative = combined_sd(log_sd, recorded.log_sd), combined_sd(relative, recorded.log_sd)
    else:
        log_sd = log_sd + recorded.log_sd
    weights = np.zeros((len(plan.transferred), *table.weights.shape[1:]))
    weights[:, [table.sources.index(name) for name in known.latencies]] = there.weights
    return table.with_rows(
        plan.transferred,
        latency_ms=there.latency_ms,
        log_sd=log_sd,
        basis=plan.bases,
        notes=plan.notes,
        relative_to=[known.anchor] * len(plan.transferred),
        relative_log_sd=relative,
        weights=weights,
        free_ms=there.free_ms,
        launch_ms=there.launch_ms,
    )


def transferred(known: KnownSteps, speeds: TargetSpeeds, calibrated: Mapping[int, CalibratedGpu]) -> StepsThere:
    """Steps on other GPUs.

    Parameters
    ----------
    calibrated : index of a target -> its GPU's calibration, whose residuals correct the steps there.
    """
    there = transfer_at(known, speeds)
    for at, gpu in calibrated.items():
        parts = there.free_ms[at], there.launch_ms[at]
        factor = np.exp(gpu.log_factors(known, *parts, smooth_max(*parts)))
        for part in parts:
            part *= factor
    return there


# With each of the four instances held out as anchor, the analytical model and the learned models err on different
# steps. Their geometric mean with equal weights errs less than either (`profet validate --gpus`).

#: Weight of the analytical model in the geometric mean with the learned models.
ANALYTIC_SHARE = 0.5


def profiled_steps(
    models: Models, method: Method, batch: ProfileBatch, anchor: Anchor, tf32: bool
) -> tuple[Estimates, RecordedSteps]:
    """Estimates of the default method on the other profiled instances, and the steps that other GPUs follow from.

    Steps of an unprofiled anchor are mapped to all profiled instances.

    Parameters
    ----------
    batch : the profiles; its anchor is the profiled instance whose models read them.
    tf32 : the steps of an unprofiled anchor ran in TF32.
    """
    transfer, gpu = models.transfer, anchor.gpu
    parts = step_parts(load_operation_classes(), batch.inputs, host_times_ms(batch.profiles))
    if gpu is None:
        others = [name for name in models.instances if name != batch.anchor]
        steps = AnchorSteps(
            batch.anchor,
            parts,
            batch.latency_ms,
            floor_of(transfer.step, transfer.readers[batch.anchor], batch.anchor, parts, batch.latency_ms),
        )
        return class_estimates(models, method, batch, others), RecordedSteps(steps, unattributed_log_sd(batch.profiles))
    target, speed = target_of(transfer, gpu, anchor.host, tf32)
    back = map_to_profiled(transfer.step, transfer.reference, UnprofiledSteps(target, parts, batch.latency_ms))
    log_sd = combined_sd(transfer.anchor_spread.log_sd(speed.log_sd), back.doubt_log_sd)
    if batch.latency_ms is None:
        inferred = np.median([row.inferred_log_half_width for row in transfer.step.instances.values()])
        log_sd = combined_sd(log_sd, log_sd_of(inferred))
    log_sd = log_sd + unattributed_log_sd(batch.profiles)
    estimates = _joined(models, method, batch, back.by_instance, log_sd)
    reference = transfer.reference
    latency_ms = estimates.latency_ms[list(estimates.targets).index(reference)]
    return estimates, RecordedSteps(
        steps=AnchorSteps(reference, back.by_instance[reference].parts, latency_ms, back.floor_ms),
        log_sd=log_sd,
        anchor=anchor.name,
        anchor_ms=back.anchor_ms,
        measured=batch.latency_ms is not None,
        notes=(Note(Code.UNPROFILED_ANCHOR, gpu=gpu.name),),
    )


def _joined(
    models: Models, method: Method, batch: ProfileBatch, mapped: Mapping[str, AsRecorded], log_sd: FloatArray
) -> Estimates:
    """Combine analytical model and learned models into one estimate per profiled instance."""
    names = list(mapped)
    classes, batches = load_operation_classes(), {}
    for name, there in mapped.items():
        inputs = mapped_inputs(classes, batch.inputs, there)
        batches[name] = replace(batch, anchor=name, latency_ms=there.latency_ms, inputs=inputs)
    others = {name: [other for other in names if other != name] for name in names}
    estimates = {name: class_estimates(models, method, one, others[name]) for name, one in batches.items()}
    rows = []
    for name, there in mapped.items():
        by_models = [estimates[one].latency_ms[others[one].index(name)] for one in others[name]]
        rows.append(combined_ms(there.latency_ms, np.array(by_models)))
    latency_ms, at_floor = floored(models, names, np.array(rows))
    return replace(
        estimates[batch.anchor],
        targets=names,
        member_ms={},
        latency_ms=latency_ms,
        at_floor=at_floor,
        log_sd=np.broadcast_to(log_sd, latency_ms.shape),
    )


def mapped_inputs(
    classes: OperationClasses, inputs: StepInputs, there: AsRecorded, unseen: np.ndarray | None = None
) -> StepInputs:
    """Network inputs of profiles mapped to another instance.

    Parameters
    ----------
    unseen : as `ensemble.members.step_inputs` takes it.
    """
    device = tuple(classes.device)
    classes_ms = inputs.classes_ms.copy()
    classes_ms[:, : len(device)] *= there.kind_factors[[KINDS.index(kind_of_class(name)) for name in device]]
    classes_ms[:, device.index(COPY_CLASS)] = there.parts.copy_ms
    classes_ms[:, device.index(IDLE_CLASS)] = there.parts.idle_ms
    unknown_ms = inputs.unknown_ms * there.kind_factors[KINDS.index(BANDWIDTH)]
    classes_ms, unknown_ms, known_ms = known_part(classes_ms, unknown_ms, there.latency_ms, unseen)
    return replace(inputs, classes_ms=classes_ms, unknown_ms=unknown_ms, latency_ms=known_ms)


def combined_ms(analytic_ms: FloatArray, models_ms: FloatArray) -> FloatArray:
    """Combine both latencies, (profiles,); `models_ms`: by the instance of the mapping, (instances, profiles)."""
    mean_log: FloatArray = np.log(models_ms).mean(axis=0)
    return np.exp(ANALYTIC_SHARE * np.log(analytic_ms) + (1 - ANALYTIC_SHARE) * mean_log)
