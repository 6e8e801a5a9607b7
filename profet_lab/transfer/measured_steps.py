"""What the profiles of every measured step say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import load_gpus
from profet_core.ensemble.work import StepTimes
from profet_core.latency import LEVEL
from profet_lab.measurements.tables import WORKLOAD, ClassBank, MeasuredRows, Measurements, class_bank

#: The network whose latency on a GPU gives its speed: its name, pixel and batch size. The largest batch that all four
#: ran, since published speeds are of large ones.
BENCHMARK = ("ResNet50", 224, 64)
#: Processors of the hosts that PROFET measured, as EC2 documents them.
HOST_OF = {
    "g3s.xlarge": "broadwell",
    "g4dn.xlarge": "cascade-lake",
    "p2.xlarge": "broadwell",
    "p3.2xlarge": "broadwell",
}


class InstanceSteps(MeasuredRows, frozen=True):
    """Steps of the same workloads on every instance.

    with_latency, without_latency : instance -> times, imputed with and without the latency.
    """

    with_latency: Mapping[str, StepTimes]
    without_latency: Mapping[str, StepTimes]

    @property
    def benchmark(self) -> np.ndarray:
        """Rows of the benchmark network at its one size."""
        found: np.ndarray = (self.workloads[WORKLOAD] == [*BENCHMARK]).all(axis=1).to_numpy()
        return found


def all_steps(bank: ClassBank, workloads: pd.DataFrame) -> InstanceSteps:
    """Every run of the measurements."""
    unknown = np.full(len(workloads), np.inf)
    with_latency, without_latency = (
        {name: StepTimes.of(bank.classes, bank.inputs[name, known], unknown) for name in bank.latency_ms}
        for known in (True, False)
    )
    return InstanceSteps(workloads, dict(bank.latency_ms), with_latency, without_latency)


def median_steps(steps: InstanceSteps) -> InstanceSteps:
    """One row a workload: the median over its repeats."""
    groups = steps.workloads.groupby(WORKLOAD)
    index = groups.ngroup().to_numpy()

    def median(values: np.ndarray) -> np.ndarray:
        return pd.DataFrame(values).groupby(index).median().to_numpy().reshape(-1, *values.shape[1:])

    def times(given: StepTimes) -> StepTimes:
        return StepTimes(**{name: median(getattr(given, name)) for name in StepTimes.__struct_fields__})

    return InstanceSteps(
        workloads=groups.size().index.to_frame(index=False),
        latency_ms={name: median(values) for name, values in steps.latency_ms.items()},
        with_latency={name: times(values) for name, values in steps.with_latency.items()},
        without_latency={name: times(values) for name, values in steps.without_latency.items()},
    )


def measured_medians(measurements: Measurements) -> InstanceSteps:
    """One row a workload of all measurements."""
    return median_steps(all_steps(class_bank(measurements), measurements.workloads))


def profiled_content(steps: InstanceSteps) -> dict[str, Any]:
    """List the measured instances as `transfer.json` holds them."""
    missed = {
        name: np.abs(np.log(times.latency_ms / steps.latency_ms[name])) for name, times in steps.without_latency.items()
    }
    return {
        name: {
            "gpu": load_gpus().find(load_shipped()[name].gpu).name,
            "host": HOST_OF[name],
            "inferred_log_half_width": float(np.quantile(missed[name], LEVEL)),
        }
        for name in steps.instances
    }
