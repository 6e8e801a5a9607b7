"""The stage for profiled GPUs if the anchor is unprofiled: its profiles are mapped to profiled instances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.ensemble.classes import COPY_CLASS, IDLE_CLASS, OperationClasses, load_operation_classes
from profet_core.ensemble.members import ProfileBatch, StepInputs, known_part, without_unseen
from profet_core.latency import FloatArray, combined_sd, log_sd_of
from profet_core.prediction.checks import host_times_ms, unattributed_log_sd
from profet_core.prediction.members import Estimates, class_estimates, floors_ms
from profet_core.prediction.models import Method, Models
from profet_core.prediction.other_gpus import MappedAnchor, RecordedSteps
from profet_core.prediction.targets import Anchor
from profet_core.transfer.model import target_of
from profet_core.transfer.step_model import BANDWIDTH, KINDS, kind_of_class, step_parts
from profet_core.transfer.steps import AnchorSteps, AsRecorded, MappedSteps, UnprofiledSteps, map_to_profiled

# With each of the four instances held out as anchor, the analytical model and the learned models err on different
# steps. Their geometric mean with equal weights errs less than either (`profet validate --gpus`).

#: Weight of the analytical model in the geometric mean with the learned models.
ANALYTIC_SHARE = 0.5


def mapped_steps(
    models: Models, method: Method, batch: ProfileBatch, anchor: Anchor, gpu: Gpu, tf32: bool
) -> tuple[Estimates, RecordedSteps]:
    """Estimates on every profiled instance from steps of an unprofiled GPU, and the steps that other GPUs follow from.

    Parameters
    ----------
    batch : the profiles; its anchor is the profiled instance that they are mapped to.
    tf32 : the profiled steps ran in TF32.
    """
    transfer = models.transfer
    parts = step_parts(load_operation_classes(), batch.inputs, host_times_ms(batch.profiles))
    target, speed = target_of(transfer, gpu, anchor.host, tf32)
    back = map_to_profiled(transfer.step, transfer.reference, UnprofiledSteps(target, parts, batch.latency_ms))
    log_sd = combined_sd(transfer.anchor_spread.log_sd(speed.log_sd), back.doubt_log_sd)
    if batch.latency_ms is None:
        inferred = np.median([row.inferred_log_half_width for row in transfer.step.instances.values()])
        log_sd = combined_sd(log_sd, log_sd_of(inferred))
    unattributed = unattributed_log_sd(batch.profiles)
    log_sd = log_sd + unattributed
    estimates = _joined(models, method, batch, back, log_sd)
    reference = transfer.reference
    latency_ms = estimates.latency_ms[list(estimates.targets).index(reference)]
    return estimates, RecordedSteps(
        steps=AnchorSteps(reference, back.by_instance[reference].parts, latency_ms, back.floor_ms),
        unattributed_log_sd=unattributed,
        mapped=MappedAnchor(anchor.name, gpu.name, back.anchor_ms, batch.latency_ms is not None, log_sd),
    )


def _joined(models: Models, method: Method, batch: ProfileBatch, back: MappedSteps, log_sd: FloatArray) -> Estimates:
    """Combine analytical model and learned models into one estimate per profiled instance."""
    names = list(back.by_instance)
    classes, batches = load_operation_classes(), {}
    for name, there in back.by_instance.items():
        inputs = mapped_inputs(classes, batch.inputs, there)
        batches[name] = replace(batch, anchor=name, latency_ms=there.latency_ms, inputs=inputs)
    others = {name: [other for other in names if other != name] for name in names}
    estimates = {name: class_estimates(models, method, one, others[name]) for name, one in batches.items()}
    nearest, each = estimates[batch.anchor], {name: one.joined_ms for name, one in estimates.items()}
    floor_ms = floors_ms(models, names)
    lowest_ms = dict(zip(names, floor_ms, strict=True))
    rows = []
    for name, there in back.by_instance.items():
        member_ms = [rows_ms[others[other].index(name)] for other, rows_ms in each.items() if other != name]
        rows.append(combined_ms(there.latency_ms, np.maximum(member_ms, lowest_ms[name])))
    joined_ms = np.array(rows)
    return replace(
        nearest,
        targets=names,
        member_ms={},
        joined_ms=joined_ms,
        floor_ms=floor_ms,
        log_sd=np.broadcast_to(log_sd, joined_ms.shape),
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
    classes_ms, unknown_ms = without_unseen(classes_ms, unknown_ms, unseen)
    return replace(
        inputs, classes_ms=classes_ms, unknown_ms=unknown_ms, latency_ms=known_part(there.latency_ms, unknown_ms)
    )


def combined_ms(analytic_ms: FloatArray, models_ms: FloatArray) -> FloatArray:
    """Combine both latencies, (profiles,); `models_ms`: by the instance of the mapping, (instances, profiles)."""
    mean_log: FloatArray = np.log(models_ms).mean(axis=0)
    return np.exp(ANALYTIC_SHARE * np.log(analytic_ms) + (1 - ANALYTIC_SHARE) * mean_log)
