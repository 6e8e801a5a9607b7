"""Find pairs of instances that share enough workloads for pair models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import pandas as pd

from profet_core.artifacts.models import OwnMachine
from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.transfer.model import TransferModel
from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.dataset import FP32, OK, TF32, Dataset
from profet_lab.measurements.tables import WORKLOAD, Measurements, Pair

#: What the models' own instances ran; profiles of another framework are no cells of the same kind.
FRAMEWORK = "tensorflow"
#: From so many shared workloads on, trained models err less than the calibrated analytical model, from your machine and
#: to it. With fewer the analytical model predicts the pair.
LEAST_FROM, LEAST_TO = 50, 100
#: Fewest networks: they are held out in turn for weights and intervals.
LEAST_NETWORKS = 5


@dataclass(frozen=True, slots=True)
class PairGroup:
    """Pairs that are trained together: of one machine and the models' instances, or of two machines.

    Attributes
    ----------
    measurements : what all instances of the pairs have in common.
    """

    machines: tuple[OwnMachine, ...]
    measurements: Measurements
    pairs: tuple[Pair, ...]

    @property
    def workloads(self) -> int:
        """How many there are in common."""
        return len(self.measurements.workloads[WORKLOAD].drop_duplicates())

    @property
    def networks(self) -> int:
        """Of how many networks they are."""
        return int(self.measurements.workloads["model"].nunique())


@dataclass(frozen=True, slots=True)
class PairWithout:
    """A pair that gets no models of its own, and why."""

    anchor: str
    target: str
    why: str


def pair_groups(dataset: Dataset, transfer: TransferModel) -> tuple[list[PairGroup], list[PairWithout]]:
    """The pairs of the user's machines, with the models' instances and with each other, that get models.

    Parameters
    ----------
    transfer : of the models that they are trained beside, with specs of the user's GPUs.
    """
    known = [name for name in transfer.instances if name in dataset.instances]
    machines, kept_out = _machines(dataset, transfer)
    without = [
        PairWithout(*pair, why)
        for name, why in kept_out.items()
        for other in known
        for pair in ((name, other), (other, name))
    ]
    every = [group for machine in machines for group in _with_known(dataset, machine, known)]
    # Two precisions of one machine are no pair.
    both = [two for two in combinations(machines, 2) if two[0].instance != two[1].instance]
    groups: list[PairGroup] = []
    for group in [*every, *(_group(dataset, two, ()) for two in both)]:
        skipped = {pair: why for pair in group.pairs if (why := _too_few(group, pair))}
        without += [PairWithout(*pair, why) for pair, why in skipped.items()]
        if enough := tuple(pair for pair in group.pairs if pair not in skipped):
            groups.append(replace(group, pairs=enough))
    return groups, without


def _with_known(dataset: Dataset, machine: OwnMachine, known: Sequence[str]) -> list[PairGroup]:
    """A machine with all of the models' instances; with each alone, where one of them lacks what the others share."""
    together = _group(dataset, (machine,), known)
    if together.workloads >= LEAST_TO:
        return [together]
    alone = [_group(dataset, (machine,), (name,)) for name in known]
    most = max((one.workloads for one in alone), default=0)
    return alone if most > together.workloads else [together]


def _too_few(group: PairGroup, pair: Pair) -> str:
    """Why a pair has too few workloads; empty if it hasn't."""
    least = LEAST_FROM if pair[0] in {one.instance for one in group.machines} else LEAST_TO
    if group.workloads >= least and group.networks >= LEAST_NETWORKS:
        return ""
    return (
        f"{group.workloads} workloads of {group.networks} networks have a profile on both, models need {least} of "
        f"{LEAST_NETWORKS}: the analytical model predicts it"
    )


def _machines(dataset: Dataset, transfer: TransferModel) -> tuple[list[OwnMachine], dict[str, str]]:
    """Your machines by precision; those without any pair, and why."""
    found: dict[tuple[str, bool], tuple[int, OwnMachine]] = {}
    without: dict[str, str] = {}
    for name in sorted(dataset.instances):
        if name in transfer.instances:
            continue
        gpu = _sheet(transfer, dataset.instances[name].gpu)
        cells = _profiled(dataset, name, gpu)
        if gpu is None:
            without[name] = "its GPU's specs are unknown: add the GPU with `profet gpus add`"
        elif cells.empty:
            without[name] = f"none of its cells has a profile, in FP32 or TF32, of {_SAID[FRAMEWORK]}"
        else:
            for tf32, own in cells.groupby(cells["precision"] == TF32):
                machine, rows = OwnMachine(name, gpu.name, bool(tf32)), len(own)
                best = found.get((gpu.name, bool(tf32)))
                if best is not None and best[0] >= rows:
                    without[name] = f"{best[1].instance} has the same GPU and more cells"
                    continue
                if best is not None:
                    without[best[1].instance] = f"{name} has the same GPU and more cells"
                found[gpu.name, bool(tf32)] = rows, machine
    machines = [machine for _, machine in found.values()]
    # What is held out in one precision may count in the other.
    counted = {machine.instance for machine in machines}
    return machines, {name: why for name, why in without.items() if name not in counted}


_SAID = {FRAMEWORK: "TensorFlow"}


def _sheet(transfer: TransferModel, name: str) -> Gpu | None:
    try:
        return transfer.gpus.find(name) if name else None
    except InputError:
        return None


def _profiled(dataset: Dataset, instance: str, gpu: Gpu | None) -> pd.DataFrame:
    cells = dataset.profiled
    has_tf32 = gpu is not None and gpu.tf32_tensor_dense_tflops is not None
    kinds = [FP32, TF32] if has_tf32 else [FP32]
    ran = (cells["instance"] == instance) & (cells["status"] == OK) & cells["precision"].isin(kinds)
    return cells[ran & (cells["framework"] == FRAMEWORK)]


def _group(dataset: Dataset, machines: tuple[OwnMachine, ...], known: Sequence[str]) -> PairGroup:
    cells = dataset.cells
    same = cells["framework"] == FRAMEWORK
    kept = cells["instance"].isin(list(known)) & (cells["precision"] == FP32)
    for machine in machines:
        precision = TF32 if machine.tf32 else FP32
        kept |= (cells["instance"] == machine.instance) & (cells["precision"] == precision)
    names = [*known, *(machine.instance for machine in machines)]
    measurements = measurements_of(replace(dataset, cells=cells[same & kept]), names)
    own = {machine.instance for machine in machines}
    pairs = tuple(
        (anchor, target)
        for anchor in measurements.instances
        for target in measurements.instances
        if anchor != target and (anchor in own or target in own)
    )
    return PairGroup(machines, measurements, pairs)
