"""Read the folders of `--data` as one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from profet_lab.datasets.dataset import Dataset
from profet_lab.datasets.merge import merged
from profet_lab.datasets.read import is_dataset
from profet_lab.datasets.sources.choose import read_folder
from profet_lab.measurements.tables import DataError


def is_own_data(folders: Sequence[Path]) -> bool:
    """Whether any folder is of the data layout, or there are several."""
    return len(folders) > 1 or any(is_dataset(folder) for folder in folders)


def read_data(folders: Sequence[Path]) -> Dataset:
    """All cells of all folders.

    Raises
    ------
    DataError : a folder holds no measurements, they are damaged, or contradict each other.
    """
    dataset = merged([read_folder(folder) for folder in folders], [str(folder) for folder in folders])
    for name in dataset.instances:
        _check_name(name)
    return dataset


def _check_name(instance: str) -> None:
    """Refuse a name that would lead out of the models folder, in which each anchor has a folder of its name."""
    parts = instance.split("/")
    if "\\" in instance or ":" in instance or any(part in ("", ".", "..") for part in parts):
        raise DataError(f"{instance!r} can't be an instance's name, which is that of a folder: give it another one.")
