"""Models are trained between instances that have enough in common; the others get a reason."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from profet_lab.datasets.dataset import Dataset, Source, dataset_of
from profet_lab.measurements.tables import DataError
from profet_lab.own_gpus.groups import common_workloads


def made(workloads: dict[str, int], networks=("A", "B", "C"), **given) -> Dataset:
    """So many sizes of each network on each instance, each profiled once."""
    rows = [
        (name, model, 32, 16 * (size + 1), 1, 5.0 + size, 1)
        for name, sizes in workloads.items()
        for model in networks
        for size in range(sizes)
    ]
    columns = ["instance", "model", "pixels", "batch_size", "repeat", "batch_latency_ms", "steps_profiled"]
    cells = pd.DataFrame(rows, columns=columns).assign(**{"framework": "pytorch", **given})
    cells["cell"] = range(len(cells))
    operations = cells[["cell"]].assign(operation="Device_Conv2D", time_us=4_000.0)
    return dataset_of(cells, operations, Source("made", "collection", {}))


def test_enough_workloads_of_two_instances_are_what_both_have():
    found = common_workloads(made({"one": 5, "two": 3, "three": 1}))
    assert found.measurements.instances == ("one", "two")
    assert len(found.measurements.workloads) == 9
    assert (found.framework, found.precision) == ("pytorch", "fp32")
    assert found.without == {"three": "3 workloads in common with one, two: too few"}


@pytest.mark.parametrize(
    ("workloads", "given"),
    [
        ({"one": 5, "two": 2}, {}),
        ({"one": 5}, {}),
        ({"one": 9, "two": 9}, {"networks": ("A", "B")}),
        ({"one": 5, "two": 5}, {"precision": "amp"}),
    ],
)
def test_too_few_in_common_is_one_line(workloads, given):
    with pytest.raises(DataError, match="9 profiled workloads of 3 networks"):
        common_workloads(made(workloads, **given))


def test_sizes_that_were_not_all_measured_get_no_scaler():
    from profet_lab import train as training

    measurements = common_workloads(made({"one": 5, "two": 5})).measurements
    assert training._scaler_rows(measurements) == []
    runs = measurements.all_latencies
    whole = pd.concat(
        [runs.assign(pixels=256, batch_size=size, batch_latency_ms=1.0 * size) for size in (16, 32, 64, 128, 256)]
    )
    rows = training._scaler_rows(replace(measurements, all_latencies=whole))
    assert [(row["instance"], row["axis"]) for row in rows] == [("one", "batch"), ("two", "batch")]
