"""Predictions from an unprofiled GPU, and by models of the user's own machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.artifacts.models import Method, Models, OwnLayer, OwnMachine, TrainingRange
from profet_core.catalog.gpus import Gpu
from profet_core.ensemble.members import ProfileBatch, StepInputs, known_part, without_unseen
from profet_core.features.classes import COPY_CLASS, IDLE_CLASS, OperationClasses, load_operation_classes
from profet_core.features.operations import UnknownOperations
from profet_core.latency import Basis, Estimate, StepTime, combined_sd, log_sd_of
from profet_core.messages import Code, Note
from profet_core.prediction.anchors import Anchor
from profet_core.prediction.checks import host_times_ms, unattributed_log_sd
from profet_core.prediction.members import Estimates, Similarity, class_estimates, class_latencies_ms, floors_ms
from profet_core.transfer.carry import AnchorSteps, AsRecorded, CarriedBack, ForeignSteps, carry_back
from profet_core.transfer.estimate import Placed, other_host_log_sd
from profet_core.transfer.law import BANDWIDTH, KINDS, kind_of_class, step_parts
from profet_core.transfer.model import TransferModel
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


@dataclass(frozen=True)
class OwnTarget:
    """Latencies on one instance from custom models.

    Attributes
    ----------
    estimates : of several targets; `row` is this one's. law_share : as in `LayerRecord`.
    machine : the target, if it is a custom machine; None: an instance of the base models.
    """

    estimates: Estimates
    row: int
    law_share: float
    machine: OwnMachine | None

    @property
    def own_ms(self) -> FloatArray:
        """Latencies from these models alone, (profiles,)."""
        latency_ms: FloatArray = self.estimates.latency_ms[self.row]
        return latency_ms

    def joined_ms(self, law_ms: FloatArray) -> FloatArray:
        """Latencies combined with the analytical model, (profiles,)."""
        return np.exp(self.law_share * np.log(law_ms) + (1 - self.law_share) * np.log(self.own_ms))

    def step(self, number: int, law: StepTime, other_host_log_sd: float = 0.0) -> StepTime:
        """Row of one profile, based on the analytical model's row, which alone determines scaling with size.

        Parameters
        ----------
        other_host_log_sd : uncertainty from a host other than the measured one.
        """
        if law.latency_ms is None:
            return law
        latency_ms = law.latency_ms**self.law_share * float(self.own_ms[number]) ** (1 - self.law_share)
        log_sds = self.estimates.log_sd
        found = replace(
            law.estimate.scaled(latency_ms / law.latency_ms),
            latency_ms=latency_ms,
            log_sd=None if log_sds is None else combined_sd(float(log_sds[self.row, number]), other_host_log_sd),
            basis=Basis.MEASURED,
            notes=(),
            relative=None,
        )
        return StepTime(law.instance, found)

    def member_ms(self, number: int) -> Mapping[str, float]:
        """Latency from each member."""
        return {name: float(values[self.row, number]) for name, values in self.estimates.member_ms.items()}


@dataclass(frozen=True)
class OwnAnswers:
    """Predictions of all custom models for profiles recorded on one anchor.

    Attributes
    ----------
    targets : by instance. anchor : the machine that the profiles were recorded on, if it is custom.
    anchor_range : range of that machine's training profiles.
    """

    targets: Mapping[str, OwnTarget]
    anchor: OwnMachine | None = None
    anchor_range: TrainingRange | None = None

    def by_gpu(self, transfer: TransferModel) -> dict[str, str]:
        """GPU's full name -> target with it; an instance of the base models comes before a custom machine."""
        profiled = {row.gpu: name for name, row in transfer.step.instances.items()}
        machines = {one.machine.gpu: name for name, one in self.targets.items() if one.machine}
        return {gpu: name for gpu, name in {**machines, **profiled}.items() if name in self.targets}

    def member_ms(
        self, instance: str, number: int, others: Mapping[str, Mapping[str, float]]
    ) -> Mapping[str, float] | None:
        """Latency on an instance from each member; `others`: members of the base models."""
        own = self.targets.get(instance)
        return others.get(instance) if own is None else own.member_ms(number)

    def similarity(self, number: int) -> Similarity | None:
        """Similarity of the profile to the measurements on the custom anchor."""
        if self.anchor is None:
            return None
        return next((one.estimates.similarity(number) for one in self.targets.values()), None)


def own_answers(
    models: Models, method: Method, batch: ProfileBatch, anchor: Anchor, *, ran_in_tf32: bool, tf32: bool
) -> OwnAnswers:
    """Run the custom models on all profiles; none for the documented ensemble, which stays unchanged.

    Parameters
    ----------
    batch : the profiles and their latency; its anchor may differ.
    ran_in_tf32 : the profiled steps, if their GPU has it. tf32 : the requested precision.
    """
    found = OwnAnswers({})
    for layer in models.own_layers if method.kind == "classes" else ():
        name = _read_by(models, layer, anchor, ran_in_tf32)
        if name is None:
            continue
        machines, share = layer.machines, layer.record.law_share
        wanted = [one for one in layer.targets(name) if _in_precision(models, machines.get(one), tf32)]
        if not wanted:
            continue
        own = ProfileBatch(batch.profiles, name, batch.latency_ms)
        estimates = class_estimates(layer.models, layer.models.method("default"), own, wanted)
        custom = {one: OwnTarget(estimates, row, share, machines.get(one)) for row, one in enumerate(wanted)}
        here = machines.get(name)
        found = OwnAnswers(
            {**custom, **found.targets},
            found.anchor or here,
            found.anchor_range or (layer.models.ranges[name] if here else None),
        )
    return found


def with_own_models(custom: OwnAnswers, found: ForeignEstimates) -> ForeignEstimates:
    """Replace estimates on profiled instances by those of custom models, for profiles of an unprofiled GPU.

    Other GPUs are transferred from these latencies.
    """
    names = list(found.estimates.targets)
    rows_ms = [
        custom.targets[name].joined_ms(law_ms) if name in custom.targets else law_ms
        for name, law_ms in zip(names, found.estimates.latency_ms, strict=True)
    ]
    known = {name: Estimate.exact(row_ms) for name, row_ms in zip(names, rows_ms, strict=True)}
    recorded = replace(found.recorded, latency_ms=known[found.recorded.anchor].latency_ms)
    return replace(found, known=known, recorded=recorded) if custom.targets else found


def own_rows(
    models: Models,
    custom: OwnAnswers,
    number: int,
    rows: Iterable[StepTime],
    recorded: AnchorSteps,
    placed: Mapping[str, Placed],
) -> Iterable[StepTime]:
    """Rows of one profile: the analytical model's, replaced where custom models predict the target.

    Parameters
    ----------
    recorded, placed : as `unprofiled_steps` takes them.
    """
    transfer = models.transfer
    if not custom.targets or transfer is None:
        return rows
    by_gpu, rows = custom.by_gpu(transfer), list(rows)
    law_of = {row.instance: row for row in rows}

    def row_of(law: StepTime) -> StepTime:
        gpu, host = placed.get(law.instance, (None, None))
        there = custom.targets.get(law.instance)
        if there is not None and (there.machine is None or (gpu is not None and gpu.name == there.machine.gpu)):
            return there.step(number, law)
        name = None if gpu is None else by_gpu.get(gpu.name)
        if name is None or host is None:
            return law
        same = custom.targets[name]
        doubt = float(other_host_log_sd(transfer.step, recorded, same.own_ms, host)[number])
        custom_there = same.step(number, law_of.get(name, law), doubt)
        return StepTime(law.instance, replace(custom_there.estimate, notes=(Note(Code.SAME_GPU, instance=name),)))

    return map(row_of, rows)


def is_own_target(models: Models, gpu: Gpu, tf32: bool = True) -> bool:
    """Whether custom models cover a machine with this GPU in this precision."""
    return any(
        machine.gpu == gpu.name
        and _in_precision(models, machine, tf32)
        and any(machine.instance in layer.targets(anchor) for anchor in layer.models.instances)
        for layer in models.own_layers
        for machine in layer.record.machines
    )


def _read_by(models: Models, layer: OwnLayer, anchor: Anchor, ran_in_tf32: bool) -> str | None:
    """Instance of a layer whose models read profiles of the anchor."""
    machines: Sequence[OwnMachine] = [one for one in layer.record.machines if _in_precision(models, one, ran_in_tf32)]
    for one in machines:
        if one.instance == anchor.name or (anchor.gpu is not None and one.gpu == anchor.gpu.name):
            return one.instance
    measured = anchor.gpu is None and anchor.instance not in layer.machines
    return anchor.instance if measured and anchor.instance in layer.models.instances else None


def _in_precision(models: Models, machine: OwnMachine | None, tf32: bool) -> bool:
    """Whether a machine's steps ran in the requested precision; a GPU without TF32 has one precision."""
    if machine is None or models.transfer is None:
        return True
    gpu = models.transfer.gpus.get(machine.gpu)
    has_tf32 = gpu is not None and gpu.tf32_tensor_dense_tflops is not None
    return machine.tf32 == (tf32 and has_tf32)
