"""Joined datasets hold every cell once and every source; contradictions are refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pandas as pd
import pytest

from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.dataset import Dataset, InstanceFacts, Source, merged, ordered
from profet_lab.measurements.tables import DataError


def part_of(dataset: Dataset, rows: pd.Series, source: Source) -> Dataset:
    """Some cells under another source, numbered anew."""
    cells = dataset.cells[rows].assign(source=source.name)
    operations = dataset.operations[dataset.operations["cell"].isin(cells["cell"])]
    instances = {name: dataset.instances[name] for name in cells["instance"].unique()}
    return Dataset(*ordered(cells, operations), (source,), instances)


@pytest.fixture
def halves(dataset) -> list[Dataset]:
    """The cells of one repeat each; the first holds all of the other instance too."""
    first = (dataset.cells["repeat"] == 1) | (dataset.cells["instance"] == "p2.xlarge")
    one = part_of(dataset, first, Source("a", "collection", {"cells.jsonl": "1"}))
    other = part_of(dataset, dataset.cells["repeat"] == 2, Source("a", "collection", {"cells.jsonl": "2"}, "MIT"))
    return [one, other]


def test_halves_are_the_whole_and_shared_cells_are_there_once(halves, dataset):
    assert [len(half.cells) for half in halves] == [7, 4]
    joined = merged(halves, ["one", "other"])
    pd.testing.assert_frame_equal(joined.operations, dataset.operations)
    columns = [name for name in dataset.cells if name not in ("latency_repeats_ms", "source")]
    pd.testing.assert_frame_equal(joined.cells[columns], dataset.cells[columns])
    # The same name with other files is another source; what both have is the first one's.
    assert [(source.name, source.licence) for source in joined.sources] == [("a", ""), ("a-2", "MIT")]
    assert joined.cells["source"].value_counts().to_dict() == {"a": 7, "a-2": 2}
    assert measurements_of(joined).latency_ms["p3.2xlarge"].tolist() == [5, 5, 10, 10]


def test_the_order_of_folders_changes_nothing(halves, dataset):
    joined = merged([dataset, dataset, dataset], ["a", "b", "c"])
    assert (len(joined.cells), len(joined.operations), joined.sources) == (9, len(dataset.operations), dataset.sources)
    third = part_of(dataset, dataset.cells["model"] == "VGG11", Source("b", "profet tables", {"all files": "3"}))
    all_three = [*halves, third]
    first = merged(all_three, ["one", "other", "third"])
    for order in permutations(all_three):
        found = merged(order, ["x", "y", "z"])
        pd.testing.assert_frame_equal(found.cells.drop(columns="latency_repeats_ms"),
                                      first.cells.drop(columns="latency_repeats_ms"))  # fmt: skip
        pd.testing.assert_frame_equal(found.operations, first.operations)
        assert (found.sources, found.instances) == (first.sources, first.instances)


def test_another_number_time_or_operation_is_a_conflict(dataset):
    for name, value in (("batch_latency_ms", 11.0), ("epoch_latency_s", None), ("peak_memory_bytes", 5)):
        cells = dataset.cells.copy()
        cells.loc[1, name] = value
        with pytest.raises(DataError, match=r"batch 10, repeat 2 on p2\.xlarge than another source \(1 cells\)"):
            merged([dataset, replace(dataset, cells=cells)], ["one", "other"])
    operations = dataset.operations.copy()
    operations.loc[0, "time_us"] += 1
    for other in (operations, dataset.operations[1:]):
        with pytest.raises(DataError, match=r"batch 10, repeat 1 on p2\.xlarge than another source"):
            merged([dataset, replace(dataset, operations=other)], ["one", "other"])


def test_machines_that_differ_are_a_conflict_and_what_one_lacks_is_filled_in(dataset):
    other = replace(dataset, instances={**dataset.instances, "p2.xlarge": InstanceFacts("Tesla K80", "470", "")})
    assert merged([dataset, other], ["one", "other"]).instances["p2.xlarge"] == InstanceFacts("Tesla K80", "470", "")
    wrong = replace(dataset, instances={**dataset.instances, "p2.xlarge": InstanceFacts("Tesla T4")})
    with pytest.raises(DataError, match=r"other says that p2\.xlarge has gpu Tesla T4, another source says Tesla K80"):
        merged([dataset, wrong], ["one", "other"])
