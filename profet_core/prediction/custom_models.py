"""The stage for machines that the user measured: models trained on their steps, blended with the analytical model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.artifacts.models import Method, Models, OwnLayer, OwnMachine, TrainingRange
from profet_core.ensemble.members import ProfileBatch
from profet_core.latency import Basis, combined_sd
from profet_core.messages import Code, Note
from profet_core.prediction.anchors import Anchor
from profet_core.prediction.members import Estimates, Similarity, class_estimates
from profet_core.prediction.other_gpus import RecordedSteps, TransferPlan
from profet_core.prediction.table import StepTable
from profet_core.transfer.estimate import other_host_log_sd


@dataclass(frozen=True)
class CustomTarget:
    """Latencies on one instance by custom models.

    Attributes
    ----------
    estimates : of several targets; `row` is this one's.
    analytic_share : weight of the analytical model in the geometric mean with these models, 0 to 1.
    machine : the target, if it is a custom machine; None for a profiled instance.
    """

    estimates: Estimates
    row: int
    analytic_share: float
    machine: OwnMachine | None

    @property
    def latency_ms(self) -> FloatArray:
        """Latencies by these models alone, (profiles,)."""
        latency_ms: FloatArray = self.estimates.latency_ms[self.row]
        return latency_ms

    def in_row(self, table: StepTable, row: int) -> StepTable:
        """Blend a row of the analytical model, which alone determines scaling with size, with these models."""
        analytic_ms, log_sds = table.latency_ms[row], self.estimates.log_sd
        latency_ms = analytic_ms**self.analytic_share * self.latency_ms ** (1 - self.analytic_share)
        factor = latency_ms / analytic_ms
        members = {}
        for name, values in self.estimates.member_ms.items():
            members[name] = table.members.get(name, np.full(table.latency_ms.shape, np.nan)).copy()
            members[name][row] = values[self.row]
        return replace(table, members={**table.members, **members}).with_rows(
            [row],
            latency_ms=latency_ms,
            log_sd=np.nan if log_sds is None else log_sds[self.row],
            basis=[Basis.MEASURED],
            notes=[()],
            relative_to=[""],
            free_ms=table.free_ms[row] * factor,
            launch_ms=table.launch_ms[row] * factor,
        )


@dataclass(frozen=True)
class CustomSteps:
    """Steps by all custom models that read profiles recorded on one anchor.

    Attributes
    ----------
    targets : by instance.
    anchor : the machine that the profiles were recorded on, if it is custom.
    anchor_range : range of that machine's training profiles.
    """

    targets: Mapping[str, CustomTarget]
    anchor: OwnMachine | None = None
    anchor_range: TrainingRange | None = None

    def similarity(self, number: int) -> Similarity | None:
        """Similarity of a profile to the measurements on the custom anchor."""
        if self.anchor is None:
            return None
        return next((one.estimates.similarity(number) for one in self.targets.values()), None)


def custom_steps(
    models: Models, method: Method, batch: ProfileBatch, anchor: Anchor, *, ran_in_tf32: bool, tf32: bool
) -> CustomSteps:
    """Run the custom models on all profiles; none for the documented ensemble, which stays unchanged.

    Parameters
    ----------
    batch : the profiles and their latency; its anchor may differ.
    ran_in_tf32 : the profiled steps, if their GPU has it. tf32 : the requested precision.
    """
    found = CustomSteps({})
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
        targets = {one: CustomTarget(estimates, row, share, machines.get(one)) for row, one in enumerate(wanted)}
        here = machines.get(name)
        found = CustomSteps(
            {**targets, **found.targets},
            found.anchor or here,
            found.anchor_range or (layer.models.ranges[name] if here else None),
        )
    return found


def on_profiled_instances(table: StepTable, custom: CustomSteps, plan: TransferPlan) -> StepTable:
    """Blend the rows of profiled instances that custom models predict."""
    for name, target in custom.targets.items():
        if target.machine is None and name in plan.known:
            table = target.in_row(table, plan.known[name])
    return table


def on_custom_machines(
    models: Models, table: StepTable, custom: CustomSteps, recorded: RecordedSteps, plan: TransferPlan
) -> StepTable:
    """Blend the rows of custom machines, and give their latency to other machines with the same GPU."""
    rows = {**plan.known}
    for row, target in enumerate(table.targets):
        measured = custom.targets.get(target.instance)
        if measured and measured.machine and measured.machine.gpu == target.gpu.name:
            table, rows[target.instance] = measured.in_row(table, row), row
    by_gpu = {one.machine.gpu: name for name, one in custom.targets.items() if one.machine}
    by_gpu |= {gpu: name for gpu, name in models.transfer.profiled_gpus.items() if name in custom.targets}
    for row in (*plan.same_gpu, *plan.derived, *plan.transferred) if by_gpu else ():
        gpu, host, instance = table.targets[row]
        name = by_gpu.get(gpu.name)
        if name is None or instance in rows:
            continue
        if name not in rows:
            # The machine is no offer.
            table, source = custom.targets[name].in_row(table, row), row
        else:
            source = rows[name]
        doubt = other_host_log_sd(models.transfer.step, recorded.steps, custom.targets[name].latency_ms, host)
        table = table.with_rows(
            [row],
            latency_ms=table.latency_ms[source],
            log_sd=combined_sd(table.log_sd[source], doubt),
            basis=[Basis.MEASURED],
            notes=[(Note(Code.SAME_GPU, instance=name),)],
            relative_to=[""],
            weights=table.weights[source],
            free_ms=table.free_ms[source],
            launch_ms=table.launch_ms[source],
        )
    return table


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
    if machine is None:
        return True
    gpu = models.transfer.gpus.get(machine.gpu)
    has_tf32 = gpu is not None and gpu.tf32_tensor_dense_tflops is not None
    return machine.tf32 == (tf32 and has_tf32)
