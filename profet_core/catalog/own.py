"""Custom instances and prices: locate, read and atomically write the user's file.

The command line uses this file. A server shows one only if its operator says so; visitors' rows stay in their sessions.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import load_gpus
from profet_core.catalog.instance import (
    FILE_COLUMNS,
    MACHINE_COLUMNS,
    OPTIONAL_COLUMNS,
    OWN_PROVIDER,
    REQUIRED_COLUMNS,
    Instance,
    agreeing,
    instance_from_row,
    instance_to_row,
)
from profet_core.catalog.tables import Row, file_text, read_records
from profet_core.errors import CatalogError, InputError
from profet_core.files import home_folder
from profet_core.whole_files import only_one, write_whole

#: Path of the file; set but empty: no file, even if one is at the default path.
OWN_VARIABLE = "PROFET_INSTANCES"
#: Custom file that a server shows to everyone: `own` for the command line's file, or a path; set but empty: none;
#: unset: the file in the folder of `$PROFET_HOME`, which the server serves.
APP_VARIABLE = "PROFET_APP_INSTANCES"
#: File name inside a custom folder.
OWN_NAME = "instances.csv"
_COMMAND_LINES = "own"


def own_path() -> Path | None:
    """Path of the user's file, existing or not.

    None if there is no such place.

    It is `$PROFET_INSTANCES`, else `instances.csv` in `$PROFET_HOME`, else `profet/instances.csv` in the settings
    folder (`%APPDATA%` on Windows; elsewhere `$XDG_CONFIG_HOME` or `~/.config`).
    """
    named = os.environ.get(OWN_VARIABLE)
    if named is not None:
        return Path(named) if named.strip() else None
    if home := home_folder():
        return home / OWN_NAME
    settings = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    try:
        # The XDG base directory specification says to ignore a relative path.
        folder = Path(settings) if Path(settings).is_absolute() else Path.home() / ".config"
    except RuntimeError:
        return None
    if os.environ.get("HOME") == "" and not Path(settings).is_absolute():
        # Python treats this as the root folder.
        return None
    return folder / "profet" / OWN_NAME


def served_own_path() -> Path | None:
    """Custom file that a server shows to everyone, from `$PROFET_APP_INSTANCES`.

    None if it shows none.

    Raises
    ------
    CatalogError : the named file is missing.
    """
    if APP_VARIABLE not in os.environ:
        home = home_folder()
        return home and home / OWN_NAME
    named = os.environ[APP_VARIABLE].strip()
    if named in ("", _COMMAND_LINES):
        return own_path() if named else None
    if not _is_there(Path(named)):
        raise CatalogError(f"{APP_VARIABLE} names {named}, which is missing.")
    return Path(named)


def read_own(path: Path | None, shipped: Catalog) -> list[Instance]:
    """Rows of a custom file; empty if there is no file.

    An empty cell about the machine takes the value of that instance in `shipped`. For other instances it means one
    available GPU with the memory in its specs.

    Raises
    ------
    CatalogError : one line that names the invalid row and column.
    """
    if path is None or not _is_there(path):
        return []
    return parse_own(file_text(path, "The custom catalog"), shipped)


def parse_own(text: str, shipped: Catalog) -> list[Instance]:
    """Rows in a custom file's text; as `read_own`."""
    return read_records(
        text,
        "Custom catalog",
        key="instance",
        required=REQUIRED_COLUMNS,
        optional=OPTIONAL_COLUMNS,
        make=lambda row: own_row(row, shipped),
        may_be_empty=True,
    )


def own_row(cells: Row, shipped: Catalog) -> Instance:
    """Parse one row of a custom file; as `read_own`.

    Raises
    ------
    InputError : the message names row and column.
    """
    known = shipped.get(cells["instance"])
    filled = {**cells, **{column: _machine_cell(cells, column, known) for column in MACHINE_COLUMNS}}
    row = instance_from_row(filled, own=True, machine_source=known.machine_source if known else "")
    # Rows that contradict the shipped catalog are rejected when they are merged.
    return row if known else agreeing(row)


def write_own(path: Path, rows: Iterable[Instance], shipped: Catalog) -> None:
    """Atomically replace the custom file with `rows`.

    Machine columns that `shipped` knows are left empty, so that a later catalog can correct them.

    Raises
    ------
    CatalogError : the file can't be written, or could not be read back.
    """
    write_own_text(path, checked_text(rows, shipped))


def write_own_text(path: Path, text: str) -> None:
    """Atomically replace a custom file with a text.

    Raises
    ------
    CatalogError : the file can't be written.
    """
    with _writing_own(path):
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())


def checked_text(rows: Iterable[Instance], shipped: Catalog) -> str:
    """Like `own_text`, checked.

    Raises
    ------
    CatalogError : the text could not be read back.
    """
    text = own_text(rows, shipped)
    shipped.with_own(parse_own(text, shipped))
    return text


def own_text(rows: Iterable[Instance], shipped: Catalog) -> str:
    """Text of a custom file with `rows`, which `parse_own` reads back."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FILE_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(instance_to_row(row) | _as_shipped(row, shipped.get(row.name)))
    return text.getvalue()


@contextlib.contextmanager
def changing_own(path: Path) -> Iterator[None]:
    """Lock the custom file between reading and writing it, so that concurrent programs lose no row.

    Raises
    ------
    CatalogError : the folder isn't writable.
    InputError : another program has held the lock for a minute.
    """
    with contextlib.ExitStack() as held:
        with _writing_own(path):
            path.resolve().parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(only_one(path))
        yield


@contextlib.contextmanager
def _writing_own(path: Path) -> Iterator[None]:
    """Convert write errors of a custom file into one line.

    Raises
    ------
    CatalogError : the message names the file.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CatalogError(f"Your file {path} can't be written: {reason}.") from None


def laid_over(rows: Iterable[Instance], new: Iterable[Instance]) -> list[Instance]:
    """`rows` with each of `new` replacing the same offer, or added at the end."""
    by_key = {row.offer_key: row for row in rows}
    by_key.update({row.offer_key: row for row in new})
    return list(by_key.values())


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise CatalogError(f"The custom catalog {path} can't be read: {error.strerror}.") from None


def _machine_cell(row: Row, column: str, known: Instance | None) -> str:
    text = row[column]
    if known is not None:
        shipped = getattr(known, column)
        # "T4" and "Tesla T4" are the same GPU.
        same = not text or (column == "gpu" and _same_gpu(text, known))
        return ("" if shipped is None else str(shipped)) if same else text
    if text or column in ("gpu", "vcpus", "host"):
        return text
    if column == "gpu_memory_gib":
        try:
            return str(load_gpus().find(row["gpu"]).memory_gib)
        except InputError:
            raise InputError(
                f"{row['instance']}: gpu_memory_gib is empty, and the specs of {row['gpu']!r} are unknown: give it."
            ) from None
    return {"gpu_count": "1", "status": "available", "provider": OWN_PROVIDER}[column]


def _same_gpu(text: str, known: Instance) -> bool:
    try:
        return load_gpus().find(text, known.gpu_memory_gib) == load_gpus().find(known.gpu, known.gpu_memory_gib)
    except InputError:
        return text == known.gpu


def _as_shipped(row: Instance, known: Instance | None) -> dict[str, str]:
    if known is None:
        return {}
    return {column: "" for column in MACHINE_COLUMNS if getattr(row, column) == getattr(known, column)}
