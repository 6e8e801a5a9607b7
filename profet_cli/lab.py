"""The training side, which is not part of the serving set: imported where a command needs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from profet_core.errors import ProfetError

if TYPE_CHECKING:
    from profet_lab.measurements.tables import Measurements


@contextmanager
def training_set() -> Iterator[None]:
    """Around imports of `profet_lab`: where one of its libraries is missing, one line says how to install them."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ProfetError(
            f"This command needs the training set ({error.name} is missing): pip install -r requirements.txt"
        ) from None


def open_measurements(options: argparse.Namespace) -> tuple[Measurements, Path]:
    """The measurements that `--data` names, PROFET's tables or a folder of the data layout, and their folder."""
    with training_set():
        from profet_lab.dataset import measurements_from_dataset
        from profet_lab.dataset_files import is_dataset, read_dataset
        from profet_lab.measurements.tables import data_folder, load_measurements
    if options.data and is_dataset(Path(options.data)):
        return measurements_from_dataset(read_dataset(Path(options.data))), Path(options.data)
    folder = data_folder(options.data)
    return load_measurements(folder), folder


def on_dask(run: Callable[[argparse.Namespace], None]) -> Callable[[argparse.Namespace], None]:
    """A command's `run` whose fits and folds the cluster that `--dask` names does; without it this process does."""

    @wraps(run)
    def run_there(options: argparse.Namespace) -> None:
        if options.dask is None:
            run(options)
            return
        with training_set():
            import distributed  # noqa: F401, missed here and not in the middle

            from profet_lab.tasks import on_cluster
        with on_cluster(options.dask):
            run(options)

    return run_there


@contextmanager
def validation_progress() -> Iterator[Callable[[int], object]]:
    """A bar on a terminal's stderr; call what is yielded with the number of steps done since."""
    with training_set():
        from tqdm import tqdm
    with tqdm(desc="validate", unit="step", disable=None) as bar:
        yield bar.update
