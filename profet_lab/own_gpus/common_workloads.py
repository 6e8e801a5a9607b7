"""Find the instances of a dataset that share enough workloads to train models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.dataset import AMP, OK, Dataset
from profet_lab.measurements.tables import DataError, Measurements

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

    Raises
    ------
    DataError : no two instances have enough.
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
