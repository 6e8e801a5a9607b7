"""Predictions of custom models, which replace the analytical model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.artifacts.models import Models, OwnLayer
from profet_core.artifacts.own_layers import OwnMachine
from profet_core.artifacts.training_range import TrainingRange
from profet_core.catalog.gpus import Gpu
from profet_core.latency import Basis, Estimate, StepTime, combined_sd
from profet_core.messages import Code, Note
from profet_core.networks.batch import ProfileBatch
from profet_core.prediction.anchors import Anchor
from profet_core.prediction.by_class import class_estimates
from profet_core.prediction.estimates import Estimates, Likeness
from profet_core.prediction.foreign import ForeignEstimates
from profet_core.transfer.estimate import Placed, other_host_log_sd
from profet_core.transfer.known import AnchorSteps
from profet_core.transfer.model import TransferModel


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
        return replace(
            law.scaled(latency_ms / law.latency_ms),
            latency_ms=latency_ms,
            log_sd=None if log_sds is None else combined_sd(float(log_sds[self.row, number]), other_host_log_sd),
            basis=Basis.MEASURED,
            notes=(),
            relative=None,
        )

    def member_ms(self, number: int) -> Mapping[str, float]:
        """Latency from each member."""
        return {name: float(values[self.row, number]) for name, values in self.estimates.member_ms.items()}


@dataclass(frozen=True)
class OwnTold:
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

    def likeness(self, number: int) -> Likeness | None:
        """Similarity of the profile to the measurements on the custom anchor."""
        if self.anchor is None:
            return None
        return next((one.estimates.likeness[number] for one in self.targets.values()), None)


NOTHING_TOLD = OwnTold({})


def own_told(models: Models, batch: ProfileBatch, anchor: Anchor, *, ran_in_tf32: bool, tf32: bool) -> OwnTold:
    """Run the custom models on all profiles.

    Parameters
    ----------
    batch : the profiles and their latency; its anchor may differ.
    ran_in_tf32 : the profiled steps, if their GPU has it. tf32 : the requested precision.
    """
    found = NOTHING_TOLD
    for layer in models.own_layers:
        name = _read_by(models, layer, anchor, ran_in_tf32)
        if name is None:
            continue
        machines, share = layer.machines, layer.record.law_share
        wanted = [one for one in layer.targets(name) if _in_precision(models, machines.get(one), tf32)]
        if not wanted:
            continue
        own = ProfileBatch(batch.profiles, name, batch.latency_ms)
        estimates = class_estimates(layer.models, layer.models.method("default"), own, wanted)
        told = {one: OwnTarget(estimates, row, share, machines.get(one)) for row, one in enumerate(wanted)}
        here = machines.get(name)
        found = OwnTold(
            {**told, **found.targets},
            found.anchor or here,
            found.anchor_range or (layer.models.ranges[name] if here else None),
        )
    return found


def with_own_models(told: OwnTold, found: ForeignEstimates) -> ForeignEstimates:
    """Replace estimates on profiled instances by those of custom models, for profiles of an unprofiled GPU.

    Other GPUs are transferred from these latencies.
    """
    names = list(found.estimates.targets)
    rows_ms = [
        told.targets[name].joined_ms(law_ms) if name in told.targets else law_ms
        for name, law_ms in zip(names, found.estimates.latency_ms, strict=True)
    ]
    known = {name: Estimate.exact(row_ms) for name, row_ms in zip(names, rows_ms, strict=True)}
    recorded = replace(found.recorded, latency_ms=known[found.recorded.anchor].latency_ms)
    return replace(found, known=known, recorded=recorded) if told.targets else found


def own_rows(
    models: Models,
    told: OwnTold,
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
    if not told.targets or transfer is None:
        return rows
    by_gpu, rows = told.by_gpu(transfer), list(rows)
    law_of = {row.instance: row for row in rows}

    def row_of(law: StepTime) -> StepTime:
        gpu, host = placed.get(law.instance, (None, None))
        there = told.targets.get(law.instance)
        if there is not None and (there.machine is None or (gpu is not None and gpu.name == there.machine.gpu)):
            return there.step(number, law)
        name = None if gpu is None else by_gpu.get(gpu.name)
        if name is None or host is None:
            return law
        same = told.targets[name]
        doubt = float(other_host_log_sd(transfer.step, recorded, same.own_ms, host)[number])
        told_there = same.step(number, law_of.get(name, law), doubt)
        return replace(told_there, instance=law.instance, notes=(Note.of(Code.SAME_GPU, instance=name),))

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
