"""Predictions from an unprofiled GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.artifacts.models import Method, Models
from profet_core.catalog.gpus import Gpu
from profet_core.ensemble.members import ProfileBatch, StepInputs, known_part, without_unseen
from profet_core.features.classes import COPY_CLASS, IDLE_CLASS, OperationClasses, load_operation_classes
from profet_core.features.operations import UnknownOperations
from profet_core.latency import Estimate, combined_sd, log_sd_of
from profet_core.prediction.checks import host_times_ms, unattributed_log_sd
from profet_core.prediction.members import Estimates, class_estimates, class_latencies_ms, floors_ms
from profet_core.transfer.carry import AnchorSteps, AsRecorded, CarriedBack, ForeignSteps, carry_back
from profet_core.transfer.law import BANDWIDTH, KINDS, kind_of_class, step_parts
from profet_core.transfer.speed import target_of
from profet_core.transfer.targets import Host

# With each of the four instances held out as anchor, the analytical model and the learned models err on different
# steps. Their geometric mean with equal weights errs less than either (`profet validate --transfer`).

#: Weight of the analytical model in the geometric mean with the learned models.
LAW_SHARE = 0.5


@dataclass(frozen=True)
class CarriedBatch(ProfileBatch):
    """Profiles mapped to another instance, which is the batch's anchor.

    Attributes
    ----------
    carried : their class times there. operations : those without a class.
    """

    carried: StepInputs
    operations: Sequence[UnknownOperations]

    @cached_property
    def inputs(self) -> StepInputs:
        """Class times on that instance."""
        return self.carried

    @property
    def unknown(self) -> Sequence[UnknownOperations]:
        """Operations without a class, per profile."""
        return self.operations


@dataclass(frozen=True)
class ForeignEstimates:
    """Estimates on every profiled instance from profiles of an unprofiled GPU.

    Attributes
    ----------
    estimates : latencies on each of them. own_ms : on the GPU itself, (profiles,), measured or inferred from the
        profile.
    recorded : the steps mapped to the reference instance, from which other GPUs are transferred.
    known : profiled instance -> latencies that other GPUs are transferred from, exact: they share one uncertainty.
    log_sd : log standard deviation of everything inferred from these profiles, (profiles,).
    """

    estimates: Estimates
    own_ms: FloatArray
    recorded: AnchorSteps
    known: Mapping[str, Estimate]
    log_sd: FloatArray


def foreign_estimates(
    models: Models, method: Method, batch: ProfileBatch, gpu: Gpu, host: Host, *, tf32: bool
) -> ForeignEstimates:
    """Estimates from profiles recorded on `gpu` in `host`.

    Parameters
    ----------
    batch : the profiles; its anchor is the reference instance. tf32 : the profiled steps ran in TF32.
    """
    transfer = models.transfer
    assert transfer is not None
    parts = step_parts(load_operation_classes(), batch.inputs, host_times_ms(batch.profiles))
    target, speed = target_of(transfer, gpu, host, tf32)
    back = carry_back(transfer.step, transfer.reference, ForeignSteps(target, parts, batch.latency_ms))
    log_sd = combined_sd(transfer.anchor_spread.log_sd(speed.log_sd), back.doubt_log_sd)
    if batch.latency_ms is None:
        own_half = np.median([row.own_log_half_width for row in transfer.step.instances.values()])
        log_sd = combined_sd(log_sd, log_sd_of(own_half))
    log_sd = log_sd + unattributed_log_sd(batch.profiles)
    estimates = _joined(models, method, batch, back, log_sd)
    reference = transfer.reference
    return ForeignEstimates(
        estimates=estimates,
        own_ms=back.own_ms,
        recorded=AnchorSteps(
            anchor=reference,
            parts=back.by_instance[reference].parts,
            latency_ms=estimates.latency_ms[list(estimates.targets).index(reference)],
            floor_ms=back.floor_ms,
        ),
        known={name: Estimate.exact(row) for name, row in zip(estimates.targets, estimates.latency_ms, strict=True)},
        log_sd=log_sd,
    )


def _joined(models: Models, method: Method, batch: ProfileBatch, back: CarriedBack, log_sd: FloatArray) -> Estimates:
    """Combine analytical model and learned models into one estimate per profiled instance."""
    names = list(back.by_instance)
    batches = {name: _carried_batch(batch, name, there) for name, there in back.by_instance.items()}
    others = {name: [other for other in names if other != name] for name in names}
    nearest = class_estimates(models, method, batches[batch.anchor], others[batch.anchor])
    each = {
        name: nearest.joined_ms if name == batch.anchor else class_latencies_ms(models, method, one, others[name])
        for name, one in batches.items()
    }
    floor_ms = floors_ms(models, names)
    lowest_ms = dict(zip(names, floor_ms, strict=True))
    rows = []
    for name, there in back.by_instance.items():
        member_ms = [rows_ms[others[other].index(name)] for other, rows_ms in each.items() if other != name]
        rows.append(law_and_models(there.latency_ms, np.maximum(member_ms, lowest_ms[name])))
    joined_ms = np.array(rows)
    return replace(
        nearest,
        targets=names,
        member_ms={},
        joined_ms=joined_ms,
        floor_ms=floor_ms,
        log_sd=np.broadcast_to(log_sd, joined_ms.shape),
    )


def _carried_batch(batch: ProfileBatch, name: str, there: AsRecorded) -> CarriedBatch:
    carried = carried_inputs(load_operation_classes(), batch.inputs, there)
    return CarriedBatch(batch.profiles, name, there.latency_ms, carried, batch.unknown)


def carried_inputs(
    classes: OperationClasses, inputs: StepInputs, there: AsRecorded, unseen: np.ndarray | None = None
) -> StepInputs:
    """Network inputs of profiles mapped to another instance.

    Parameters
    ----------
    unseen : as `members.step_inputs` takes it.
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


def law_and_models(law_ms: FloatArray, models_ms: FloatArray) -> FloatArray:
    """Combine both latencies, (profiles,); `models_ms`: by the instance of the mapping, (instances, profiles)."""
    mean_log: FloatArray = np.log(models_ms).mean(axis=0)
    return np.exp(LAW_SHARE * np.log(law_ms) + (1 - LAW_SHARE) * mean_log)
