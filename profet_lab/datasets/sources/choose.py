"""Import one dataset from several sources, each recognized by its content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from profet_lab.datasets.dataset import Dataset
from profet_lab.datasets.merge import merged
from profet_lab.datasets.read import is_dataset, read_dataset
from profet_lab.datasets.sources.collection import is_collection, read_store
from profet_lab.datasets.sources.profet_pickles import ENDINGS, pickles_in, read_pickles
from profet_lab.datasets.sources.tables import is_tables, read_tables
from profet_lab.measurements.tables import PROFILES_FILE, DataError


def read_folder(path: Path) -> Dataset:
    """A folder of the layout, or one source.

    Raises
    ------
    DataError : it holds no measurements, or they are damaged.
    """
    return read_dataset(path) if is_dataset(path) else read_sources([path])


def read_sources(paths: Sequence[Path]) -> Dataset:
    """One dataset of several sources; pickles that are named one by one are of one release.

    Raises
    ------
    DataError : a source is not there, is of no kind that is known, can't be read, or contradicts another one.
    """
    pickles = [path for path in paths if path.suffix.lower() in ENDINGS and path.is_file()]
    others = [path for path in paths if path not in pickles]
    try:
        datasets = [_read(path) for path in others]
        if pickles:
            datasets.append(read_pickles(pickles))
    except OSError as error:
        raise DataError(f"{error.filename or 'A source'} can't be read: {error.strerror or error}.") from None
    return merged(datasets, [str(path) for path in (*others, *pickles[:1])])


def _read(path: Path) -> Dataset:
    if not path.exists():
        raise DataError(f"{path} does not exist: name a folder of measurements or pickle files.")
    if not path.is_dir():
        raise DataError(f"{path} is not a PROFET pickle: name its folder.")
    if is_dataset(path):
        raise DataError(f"{path} is already in the layout: use `profet data merge`.")
    if is_collection(path):
        return read_store(path)
    for folder in (path, path / PROFILES_FILE.parent):
        if is_tables(folder):
            return read_tables(folder)
    if pickles := pickles_in(path):
        return read_pickles(pickles)
    raise DataError(f"{path} has no collection, pickles or tables of measurements: name another folder.")
