"""Read your own measurements, and find the instances that share enough workloads to train models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from profet_core.artifacts.models import OwnMachine
from profet_core.errors import InputError
from profet_core.transfer.model import TransferModel
from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.dataset import AMP, FP32, OK, TF32, Dataset, merged
from profet_lab.datasets.files import is_dataset
from profet_lab.datasets.sources import read_folder
from profet_lab.measurements.tables import DataError, Measurements, Pair, pairs


def is_own_data(folders: Sequence[Path]) -> bool:
    """Whether any folder is of the data layout, or there are several."""
    return len(folders) > 1 or any(is_dataset(folder) for folder in folders)


def read_data(folders: Sequence[Path]) -> Dataset:
    """All cells of all folders."""
    dataset = merged([read_folder(folder) for folder in folders], [str(folder) for folder in folders])
    for name in dataset.instances:
        _check_name(name)
    return dataset


def _check_name(instance: str) -> None:
    """Refuse a name that would lead out of the models folder, in which each anchor has a folder of its name."""
    parts = instance.split("/")
    if "\\" in instance or ":" in instance or any(part in ("", ".", "..") for part in parts):
        raise DataError(f"{instance!r} can't be an instance's name, which is that of a folder: give it another one.")


#: With fewer networks nothing remains to learn from when one is held out for the intervals; with fewer workloads hardly
#: anything is.
LEAST_NETWORKS, LEAST_WORKLOADS = 3, 9


@dataclass(frozen=True, slots=True)
class Common:
    """Measurements that models are trained on, and instance -> why it isn't among them."""

    measurements: Measurements
    framework: str
    precision: str
    without: Mapping[str, str]


def common_workloads(dataset: Dataset) -> Common:
    """The instances that have enough workloads in common, in the framework and precision that most of these ran in.

    The instance with the fewest profiles is dropped while they have not.
    """
    names = sorted(dataset.instances)
    without: dict[str, str] = {}
    ran = dataset.profiled
    ran = ran[(ran["status"] == OK) & (ran["precision"] != AMP)]
    kinds = sorted(set(zip(ran["framework"], ran["precision"], strict=True)))
    while len(names) > 1:
        tried = [
            Common(
                measurements_of(dataset, names, framework=framework, precision=precision), framework, precision, without
            )
            for framework, precision in kinds
        ]
        if enough := [one for one in tried if _is_enough(one.measurements)]:
            return max(enough, key=lambda one: len(one.measurements.workloads))
        fewest = min(names, key=lambda name: (dataset.profiled["instance"] == name).sum())
        shared = max((one.measurements.distinct_workloads for one in tried), default=0)
        names.remove(fewest)
        without[fewest] = f"{shared} workloads in common with {', '.join(names)}: too few"
    raise DataError(
        f"No two instances have {LEAST_WORKLOADS} profiled workloads of {LEAST_NETWORKS} networks in common, in one "
        "framework and precision: collect more, or name the published measurements with --data too."
    )


def _is_enough(measurements: Measurements) -> bool:
    return measurements.networks >= LEAST_NETWORKS and measurements.distinct_workloads >= LEAST_WORKLOADS


#: What the models' own instances ran; profiles of another framework are no cells of the same kind.
FRAMEWORK = "tensorflow"
#: From so many shared workloads on, trained models err less than the calibrated analytical model, from your machine and
#: to it. With fewer the analytical model predicts the pair.
LEAST_FROM, LEAST_TO = 50, 100
#: Fewest networks: they are held out in turn for weights and intervals.
PAIR_NETWORKS = 5


@dataclass(frozen=True, slots=True)
class PairGroup:
    """Pairs that are trained together: of one machine and the models' instances, or of two machines.

    measurements : what all instances of the pairs have in common.
    """

    machines: tuple[OwnMachine, ...]
    measurements: Measurements
    pairs: tuple[Pair, ...]


def pair_groups(dataset: Dataset, transfer: TransferModel) -> tuple[list[PairGroup], dict[Pair, str]]:
    """The pairs of the user's machines, with the models' instances and each other, that get models; why others don't.

    transfer : of the models that they are trained beside, with specs of the user's GPUs.
    """
    known = [name for name in transfer.instances if name in dataset.instances]
    machines, kept_out = _machines(dataset, transfer)
    without = {
        pair: why for name, why in kept_out.items() for other in known for pair in ((name, other), (other, name))
    }
    every = [group for machine in machines for group in _with_known(dataset, machine, known)]
    # Two precisions of one machine are no pair.
    both = [two for two in combinations(machines, 2) if two[0].instance != two[1].instance]
    groups: list[PairGroup] = []
    for group in [*every, *(_group(dataset, two, ()) for two in both)]:
        skipped = {pair: why for pair in group.pairs if (why := _too_few(group, pair))}
        without |= skipped
        if enough := tuple(pair for pair in group.pairs if pair not in skipped):
            groups.append(replace(group, pairs=enough))
    return groups, without


def _with_known(dataset: Dataset, machine: OwnMachine, known: Sequence[str]) -> list[PairGroup]:
    """A machine with all of the models' instances; with each alone, where one of them lacks what the others share."""
    together = _group(dataset, (machine,), known)
    if together.measurements.distinct_workloads >= LEAST_TO:
        return [together]
    alone = [_group(dataset, (machine,), (name,)) for name in known]
    most = max((one.measurements.distinct_workloads for one in alone), default=0)
    return alone if most > together.measurements.distinct_workloads else [together]


def _too_few(group: PairGroup, pair: Pair) -> str:
    """Why a pair has too few workloads; empty if it hasn't."""
    least = LEAST_FROM if pair[0] in {one.instance for one in group.machines} else LEAST_TO
    workloads, networks = group.measurements.distinct_workloads, group.measurements.networks
    if workloads >= least and networks >= PAIR_NETWORKS:
        return ""
    return (
        f"{workloads} workloads of {networks} networks have a profile on both, models need {least} of "
        f"{PAIR_NETWORKS}: the analytical model predicts it"
    )


def _machines(dataset: Dataset, transfer: TransferModel) -> tuple[list[OwnMachine], dict[str, str]]:
    """Your machines by precision, of each GPU the one with most cells; those without any pair, and why."""
    found: list[tuple[int, OwnMachine]] = []
    without: dict[str, str] = {}
    for name in sorted(set(dataset.instances) - set(transfer.instances)):
        try:
            gpu = transfer.gpus.find(dataset.instances[name].gpu or "unknown")
        except InputError:
            without[name] = "its GPU's specs are unknown: add the GPU with `profet gpus add`"
            continue
        kinds = [FP32] if gpu.tf32_tensor_dense_tflops is None else [FP32, TF32]
        cells = dataset.profiled
        cells = cells[(cells["instance"] == name) & (cells["status"] == OK) & cells["precision"].isin(kinds)]
        cells = cells[cells["framework"] == FRAMEWORK]
        if cells.empty:
            without[name] = "none of its cells has a profile, in FP32 or TF32, of TensorFlow"
        for tf32, own in cells.groupby(cells["precision"] == TF32):
            found.append((len(own), OwnMachine(name, gpu.name, bool(tf32))))
    best: dict[tuple[str, bool], OwnMachine] = {}
    for _, machine in sorted(found, key=lambda one: -one[0]):
        kept = best.setdefault((machine.gpu, machine.tf32), machine)
        if kept is not machine:
            without[machine.instance] = f"{kept.instance} has the same GPU and more cells"
    machines = sorted(best.values(), key=lambda machine: machine.instance)
    # What is held out in one precision may count in the other.
    counted = {machine.instance for machine in machines}
    return machines, {name: why for name, why in without.items() if name not in counted}


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
    return PairGroup(machines, measurements, tuple(pair for pair in pairs(measurements.instances) if own & {*pair}))
