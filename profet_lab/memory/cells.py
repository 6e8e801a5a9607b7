"""Which workloads of the grid ran on which GPU, with their memory need."""

from __future__ import annotations

import pandas as pd

from profet_core.catalog import Catalog
from profet_lab.measurements.tables import WORKLOAD


def layer_values(architectures: pd.DataFrame) -> pd.DataFrame:
    """Columns model, pixels, parameters, and output values of an image's layers: convolution_values,
    other_values."""
    return architectures[["model", "pixels", "parameters"]].assign(
        convolution_values=architectures["act_elems"] - architectures["other_elems"],
        other_values=architectures["other_elems"],
    )


def memory_cells(all_latencies: pd.DataFrame, architectures: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """One row a buildable workload and instance.

    Columns: instance, memory_gib (of its GPU, as the name says), model, pixels, batch_size, parameters,
    convolution_values and other_values (outputs of one image's layers), and `ran`: some repeat was recorded.
    """
    batches = pd.DataFrame({"batch_size": sorted(all_latencies["batch_size"].unique())})
    instances = sorted(all_latencies["instance"].unique())
    memory = pd.DataFrame({"instance": instances, "memory_gib": [catalog[name].gpu_memory_gib for name in instances]})
    cells = memory.merge(layer_values(architectures), how="cross").merge(batches, how="cross")
    seen = all_latencies[["instance", *WORKLOAD]].drop_duplicates().assign(ran=True)
    cells = cells.merge(seen, on=["instance", *WORKLOAD], how="left")
    return cells.assign(ran=cells["ran"].eq(True))


def ran_elsewhere(cells: pd.DataFrame) -> tuple[int, int]:
    """(workloads that ran on one GPU and did not on another with as much memory, pairs looked at)."""
    ran = cells.pivot(index=WORKLOAD, columns="instance", values="ran")
    memory = cells.groupby("instance")["memory_gib"].first()
    failures = pairs = 0
    for one in ran.columns:
        for other in ran.columns:
            if one != other and memory[other] >= memory[one]:
                pairs += int(ran[one].sum())
                failures += int((ran[one] & ~ran[other]).sum())
    return failures, pairs
