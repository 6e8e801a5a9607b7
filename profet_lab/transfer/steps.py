"""Parts of every measured step on every instance, for transfer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import Gpu, load_gpus
from profet_core.transfer.law import StepParts, step_parts
from profet_lab.classes.bank import ClassBank
from profet_lab.measurements.tables import WORKLOAD

#: The network whose latency on a GPU gives its speed: its name, pixel and batch size. The largest batch that all four
#: ran, since published speeds are of large ones.
BENCHMARK = ("ResNet50", 224, 64)


@dataclass(frozen=True)
class Steps:
    """Steps of the same workloads on every instance; all arrays (rows,).

    Attributes
    ----------
    with_latency, without_latency : instance -> parts, imputed with and without the latency.
    """

    workloads: pd.DataFrame
    latency_ms: Mapping[str, np.ndarray]
    with_latency: Mapping[str, StepParts]
    without_latency: Mapping[str, StepParts]

    @property
    def instances(self) -> tuple[str, ...]:
        """Instances that were measured."""
        return tuple(self.latency_ms)

    @property
    def architectures(self) -> np.ndarray:
        """Architecture of each row."""
        return self.workloads["model"].to_numpy()

    @property
    def benchmark(self) -> np.ndarray:
        """Rows of the benchmark network at its one size."""
        model, pixels, batch_size = BENCHMARK
        table = self.workloads
        return ((table.model == model) & (table.pixels == pixels) & (table.batch_size == batch_size)).to_numpy()

    def parts(self, anchor: str, latency_known: bool) -> StepParts:
        """Parts of every step on the anchor, with or without its latency."""
        return (self.with_latency if latency_known else self.without_latency)[anchor]


def all_steps(bank: ClassBank, workloads: pd.DataFrame) -> Steps:
    """Every run of the measurements."""
    latency_ms = dict(bank.latency_ms)
    return Steps(
        workloads=workloads,
        latency_ms=latency_ms,
        with_latency={name: step_parts(bank.classes, bank.inputs[name, True]) for name in latency_ms},
        without_latency={name: step_parts(bank.classes, bank.inputs[name, False]) for name in latency_ms},
    )


def median_steps(steps: Steps) -> Steps:
    """One row a workload: the median over its repeats."""
    groups = steps.workloads.groupby(WORKLOAD)
    index = groups.ngroup().to_numpy()

    def median(values: np.ndarray) -> np.ndarray:
        return pd.DataFrame(values).groupby(index).median().to_numpy().reshape(-1, *values.shape[1:])

    def parts(given: StepParts) -> StepParts:
        return StepParts(**{name: median(getattr(given, name)) for name in StepParts.__dataclass_fields__})

    return Steps(
        workloads=groups.size().index.to_frame(index=False),
        latency_ms={name: median(values) for name, values in steps.latency_ms.items()},
        with_latency={name: parts(values) for name, values in steps.with_latency.items()},
        without_latency={name: parts(values) for name, values in steps.without_latency.items()},
    )


def gpu_of(instance: str) -> Gpu:
    """The specs of an instance's GPU."""
    return load_gpus().find(load_shipped()[instance].gpu)


#: Processors of the hosts that PROFET measured, as EC2 documents them.
HOST_OF = {
    "g3s.xlarge": "broadwell",
    "g4dn.xlarge": "cascade-lake",
    "p2.xlarge": "broadwell",
    "p3.2xlarge": "broadwell",
}
