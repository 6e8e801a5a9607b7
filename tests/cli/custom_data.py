"""Folders of the data layout, made of some of the published measurements."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from profet_lab.dataset import DataSource, InstanceFacts, dataset_from_tables
from profet_lab.dataset_files import write_dataset


def write_custom_data(
    folder: Path, cells: pd.DataFrame, operations: pd.DataFrame, name: str, facts: InstanceFacts
) -> Path:
    """These cells as measurements of a machine of that name."""
    if not folder.exists():
        cells = cells.assign(instance=name).drop(columns=["gpu", "source"])
        operations = operations[operations["cell"].isin(cells["cell"])]
        source = DataSource(name, "collection", {f"{name}.jsonl": "0" * 64})
        write_dataset(dataset_from_tables(cells, operations, source, {name: facts}), folder)
    return folder
