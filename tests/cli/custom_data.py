"""Folders of the data layout, made of some of the published measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from profet_lab.dataset import Dataset, InstanceFacts, Source, dataset_from_tables, ordered
from profet_lab.dataset_files import read_tables, write_dataset
from profet_lab.measurements.tables import data_folder


def published_of(networks: Sequence[str], repeats: int = 1) -> Dataset:
    """So many runs of each workload of these networks on the four profiled instances."""
    whole = read_tables(data_folder() / "profet")
    cells = whole.cells[(whole.cells["repeat"] <= repeats) & whole.cells["model"].isin(networks)]
    operations = whole.operations[whole.operations["cell"].isin(cells["cell"])]
    return Dataset(*ordered(cells, operations), whole.sources, whole.instances)


def write_custom_data(
    folder: Path, cells: pd.DataFrame, operations: pd.DataFrame, name: str, facts: InstanceFacts
) -> Path:
    """These cells as measurements of a machine of that name."""
    if not folder.exists():
        cells = cells.assign(instance=name).drop(columns=["gpu", "source"])
        operations = operations[operations["cell"].isin(cells["cell"])]
        source = Source(name, "collection", {f"{name}.jsonl": "0" * 64})
        write_dataset(dataset_from_tables(cells, operations, source, {name: facts}), folder)
    return folder
