"""A new folder that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from profet_core.whole_files import only_one
from profet_lab.measurements.tables import DataError


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder beside `out` to write into; after the block it becomes `out`, which must be new or empty.

    An exception in the block leaves nothing; what a killed program left is removed.

    Raises
    ------
    DataError : `out` holds something, can't be written, or is being written by another program.
    """
    out = out.absolute()
    check_new(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with only_one(out, wait_s=0):
            scratch = out.with_name(f".{out.name}.importing")
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            try:
                yield scratch
                _to_disk(scratch)
                # An empty folder is replaced; one that was filled meanwhile is refused by the system.
                if os.name == "nt" and out.exists():
                    out.rmdir()
                scratch.rename(out)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise DataError(f"{out} can't be written: {error.strerror or error}.") from error


def check_new(out: Path) -> None:
    """Refuse a folder that holds something, before any work.

    Raises
    ------
    DataError : saying what to do.
    """
    try:
        if out.is_symlink() or (out.exists() and not out.is_dir()):
            raise DataError(f"{out} is not a folder: name a new one.")
        if out.is_dir() and next(out.iterdir(), None) is not None:
            raise DataError(f"{out} exists and is not overwritten: name a new folder.")
    except OSError as error:
        raise DataError(f"{out} can't be written: {error.strerror or error}.") from error


def _to_disk(folder: Path) -> None:
    for path in folder.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
