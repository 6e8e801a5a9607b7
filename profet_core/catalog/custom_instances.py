"""Load the catalog: shipped rows and the user's file over them, which is written here too.

The command line uses this file. A server shows one only if its operator says so; visitors' rows stay in their sessions.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path

from profet_core.catalog.collection import HOME_REGION, Catalog
from profet_core.catalog.gpus import Gpus, load_gpus, memory_in_name_gib
from profet_core.catalog.instance import (
    CUSTOM_PROVIDER,
    FILE_COLUMNS,
    MACHINE_COLUMNS,
    OFFER_COLUMNS,
    ON_DEMAND,
    OPTIONAL_COLUMNS,
    REQUIRED_COLUMNS,
    Instance,
    instance_from_row,
)
from profet_core.catalog.tables import Row, file_text, is_header, read_records, table_text
from profet_core.errors import CatalogError, InputError
from profet_core.files import home_folder, only_one
from profet_core.shipped import shipped_text
from profet_profiles.units import as_typed
from profet_profiles.whole_files import write_whole

#: Path of the file; set but empty: no file, even if one is at the default path.
CUSTOM_VARIABLE = "PROFET_INSTANCES"
#: Custom file that a server shows to everyone: `own` for the command line's file, or a path; set but empty: none;
#: unset: the file in the folder of `$PROFET_HOME`, which the server serves.
APP_VARIABLE = "PROFET_APP_INSTANCES"
#: File name inside a custom folder.
CUSTOM_NAME = "instances.csv"
#: Message of a server that skips its custom list. `profet instances` gives the error; the file's path doesn't belong in
#: a log that others may read.
CUSTOM_SKIPPED = (
    "The server's custom list of instances or GPUs can't be read and is ignored: run `profet instances` for the reason."
)


def load_catalog(path: Path | None = None, *, own: Path | None = None) -> Catalog:
    """Read and validate a catalog; CatalogError names the invalid row and column in one line.

    Parameters
    ----------
    path : a CSV file with the columns `FILE_COLUMNS` (`OPTIONAL_COLUMNS` may be missing), read alone; None: the shipped
        catalog merged with the user's file.
    own : the user's file; None: see `custom_path`.
    """
    if path is None:
        catalog, problem = load_catalog_with_custom(own)
        if problem is not None:
            raise CatalogError(problem)
        return catalog
    text = file_text(path, "The catalog")
    if text is None:
        raise CatalogError(f"The catalog {path} can't be read: there is no such file.")
    return Catalog(_read(text, "Catalog", lambda row: _agreeing(instance_from_row(row))))


def _read(text: str, what: str, make: Callable[[Row], Instance]) -> list[Instance]:
    columns = {"required": REQUIRED_COLUMNS, "optional": OPTIONAL_COLUMNS}
    return read_records(text, what, key="instance", make=make, **columns)


def load_catalog_with_custom(path: Path | None = None) -> tuple[Catalog, str | None]:
    """Load the shipped catalog with the user's file (default path if None), or alone with the error in that file."""
    shipped = load_shipped()
    path = custom_path() if path is None else path
    try:
        return shipped.with_custom(read_custom_instances(path, shipped)), None
    except CatalogError as error:
        return shipped, f"{error} Fix or remove your file {path}."


def load_served_catalog() -> tuple[Catalog, str | None]:
    """Load the catalog that a server shows to everyone, and the error in its custom file if any.

    The personal file of whoever started the server stays private.
    """
    try:
        path = served_custom_path()
    except CatalogError as error:
        return load_shipped(), str(error)
    return (load_shipped(), None) if path is None else load_catalog_with_custom(path)


def load_shipped() -> Catalog:
    """Load the shipped catalog alone: instances from `instances.csv`, prices from `prices.csv`."""
    columns = (*MACHINE_COLUMNS, "source")
    rows = read_records(shipped_text("catalog/instances.csv"), "Catalog", key="instance", required=columns, make=dict)
    machines = {row["instance"]: row for row in rows}

    def priced(price: Row) -> Instance:
        machine = machines.get(price["instance"])
        if machine is None:
            raise CatalogError(f"prices.csv: {price['instance']} is not in instances.csv.")
        return instance_from_row({**machine, **price}, machine_source=machine["source"])

    prices = read_records(
        shipped_text("catalog/prices.csv"), "Catalog", key="instance", required=OFFER_COLUMNS, make=priced
    )
    if unpriced := machines.keys() - {row.name for row in prices}:
        raise CatalogError(f"prices.csv has no price of {', '.join(sorted(unpriced))}.")
    place = {name: number for number, name in enumerate(machines)}
    return Catalog(sorted(prices, key=lambda row: place[row.name]))


def custom_path() -> Path | None:
    """Path of the user's file, existing or not; None if there is no such place.

    It is `$PROFET_INSTANCES`, else `instances.csv` in `$PROFET_HOME`, else `profet/instances.csv` in the settings
    folder (`%APPDATA%` on Windows; elsewhere `$XDG_CONFIG_HOME` or `~/.config`).
    """
    named = os.environ.get(CUSTOM_VARIABLE)
    if named is not None:
        return Path(named) if named.strip() else None
    if home := home_folder():
        return home / CUSTOM_NAME
    folder = Path(os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", ""))
    # The XDG base directory specification says to ignore a relative path.
    if not folder.is_absolute():
        if os.environ.get("HOME") == "":
            # Python treats this as the root folder.
            return None
        try:
            folder = Path.home() / ".config"
        except RuntimeError:
            return None
    return folder / "profet" / CUSTOM_NAME


def served_custom_path() -> Path | None:
    """Return the custom file that a server shows to everyone, from `$PROFET_APP_INSTANCES`; None if it shows none.

    Raises CatalogError if the named file is missing.
    """
    named = os.environ.get(APP_VARIABLE)
    if named is None:
        home = home_folder()
        return home and home / CUSTOM_NAME
    if named.strip() in ("", "own"):
        return custom_path() if named.strip() else None
    path = Path(named.strip())
    with contextlib.suppress(OSError):
        if path.exists():
            return path
    raise CatalogError(f"{APP_VARIABLE} names {path}, which is missing.")


def read_custom_instances(path: Path | None, shipped: Catalog) -> list[Instance]:
    """Rows of a custom file; empty if there is no file. CatalogError names the invalid row and column."""
    text = None if path is None else file_text(path, "The custom catalog")
    return [] if text is None else parse_custom_instances(text, shipped)


def parse_custom_instances(text: str, shipped: Catalog) -> list[Instance]:
    """Rows in a custom file's text; as `read_custom_instances`."""
    return [] if is_header(text) else _read(text, "Custom catalog", lambda row: custom_instance(row, shipped))


def custom_instance(cells: Row, shipped: Catalog) -> Instance:
    """Parse one row of a custom file; InputError names row and column.

    An empty cell about the machine takes the value of that instance in `shipped`. For other instances it means one
    available GPU with the memory in its specs.
    """
    listed = shipped.get(cells["instance"])
    if listed is None and (not _NAME.fullmatch(cells["instance"]) or ".." in cells["instance"]):
        raise InputError(
            f"{cells['instance']!r} can't be a name: begin with a letter or digit, then letters, digits, spaces and "
            ".,:()/_+- without two dots in a row."
        )
    if listed is None:
        return _agreeing(instance_from_row({**cells, **_usual_cells(cells)}, custom=True))
    machine = {}
    for column in MACHINE_COLUMNS:
        value, text = getattr(listed, column), cells[column]
        # "T4" and "Tesla T4" are the same GPU. Rows that contradict the shipped ones are rejected when they are merged.
        same = not text or (column == "gpu" and _same_gpu(text, listed))
        machine[column] = text if not same else "" if value is None else str(value)
    return instance_from_row({**cells, **machine}, custom=True, machine_source=listed.machine_source)


def _usual_cells(row: Row) -> dict[str, str]:
    """Machine cells of an instance that isn't shipped."""
    usual = {"gpu_count": "1", "status": "available", "provider": CUSTOM_PROVIDER}
    filled = {column: row[column] or text for column, text in usual.items()}
    if not row["gpu_memory_gib"]:
        try:
            filled["gpu_memory_gib"] = str(load_gpus().find(row["gpu"]).memory_gib)
        except InputError:
            raise InputError(
                f"{row['instance']}: gpu_memory_gib is empty, and the specs of {row['gpu']!r} are unknown: give it."
            ) from None
    return filled


def _same_gpu(text: str, listed: Instance) -> bool:
    try:
        return load_gpus().find(text, listed.gpu_memory_gib) == load_gpus().find(listed.gpu, listed.gpu_memory_gib)
    except InputError:
        return text == listed.gpu


def _agreeing(row: Instance) -> Instance:
    """Return the row, or raise InputError if it gives a whole node's memory as one GPU's.

    Other memory than in the specs means another GPU of that name, which only has a price.
    """
    gpus = load_gpus()
    share_gib = row.gpu_memory_gib / row.gpu_count
    is_share = row.gpu_count > 1 and any(gpu.has_memory(share_gib) for gpu in gpus.named(row.gpu))
    if is_share and memory_in_name_gib(row.gpu) != row.gpu_memory_gib:
        try:
            gpus.check_memory(row.gpu, row.gpu_memory_gib)
        except InputError as error:
            raise InputError(f"{row.name}: {error}: gpu_memory_gib is the memory of one GPU.") from None
    return row


def checked_text(rows: Iterable[Instance], shipped: Catalog) -> str:
    """Text of a custom file with `rows`; raises CatalogError if it could not be read back.

    Machine columns that `shipped` knows are left empty, so that a later catalog can correct them.
    """
    cells = []
    for row in rows:
        listed, values = shipped.get(row.name), {"instance": row.name}
        for column in FILE_COLUMNS[1:]:
            value = getattr(row, column)
            same = column in MACHINE_COLUMNS and listed is not None and value == getattr(listed, column)
            values[column] = "" if same or value is None else str(value)
        cells.append(values)
    text = table_text(FILE_COLUMNS, cells)
    shipped.with_custom(parse_custom_instances(text, shipped))
    return text


def write_custom_instances(path: Path, rows: Iterable[Instance], shipped: Catalog) -> None:
    """Atomically replace the custom file with `rows`; raises CatalogError if it can't be written or read back."""
    write_custom_text(path, checked_text(rows, shipped))


def write_custom_text(path: Path, text: str) -> None:
    """Atomically replace a custom file with a text; raises CatalogError if it can't be written."""
    with _writing(path):
        write_whole(path, text.encode())


@contextlib.contextmanager
def changing_custom(path: Path) -> Iterator[None]:
    """Lock the custom file between reading and writing it, so that concurrent programs lose no row.

    Raises CatalogError if the folder isn't writable, InputError if another program has held the lock for a minute.
    """
    with contextlib.ExitStack() as held:
        with _writing(path):
            held.enter_context(only_one(path))
        yield


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Make the folder, and convert write errors of a custom file into one line."""
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        yield
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CatalogError(f"Your file {path} can't be written: {reason}.") from None


def writable(path: Path | None, variable: str) -> Path:
    """Return the path of a custom file; raises InputError if the environment's `variable` says that there is none."""
    if path is None:
        raise InputError(f"There is no custom file: set {variable}.")
    return path


def with_updates(rows: Iterable[Instance], new: Iterable[Instance]) -> list[Instance]:
    """`rows` with each of `new` replacing the same offer, or added at the end."""
    return list({row.offer_key: row for row in (*rows, *new)}.values())


#: A spreadsheet takes none for a formula, and a shell or a page none for its own language.
_NAME = re.compile(r"\w[\w .,:()/+-]*")
#: Custom rows of one visitor of a server.
MAX_CUSTOM_ROWS = 200
#: What pages show as it is.
_SHOWN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,()/_-]*")


def default_cells() -> dict[str, str]:
    """Cells of a custom row that may be empty."""
    return {
        "market": ON_DEMAND,
        "region": HOME_REGION,
        "os": "linux",
        "as_of": date.today().isoformat(),
        "source": "given by the user",
    }


def custom_cells(row: Instance, shared: Catalog, gpus: Gpus) -> dict[str, str]:
    """Return a visitor's row as cells to edit; without those of a listed machine, which stays as it is listed."""
    texts = {column: str(getattr(row, column)) for column in ("market", "region", "as_of", "source")}
    cells = {"instance": row.name, "usd_per_hour": as_typed(row.usd_per_hour), **texts}
    if row.name in shared:
        return cells
    memory = {} if row.gpu in gpus else {"gpu_memory_gib": as_typed(row.gpu_memory_gib)}
    return cells | {"gpu": row.gpu, "gpu_count": f"{row.gpu_count}"} | memory


def custom_row(cells: Row, shared: Catalog, gpus: Gpus, gpu_instances: Collection[str]) -> Instance:
    """Return a visitor's row, empty cells by default; CatalogError names what is wrong in one line.

    Parameters
    ----------
    gpu_instances : names of the instances of their custom GPUs.
    """
    gpu = gpus.get(cells["gpu"])
    memory = {"gpu_memory_gib": str(gpu.memory_gib)} if gpu is not None and cells["instance"] not in shared else {}
    given = {column: text for column, text in cells.items() if text}
    cells = dict.fromkeys(FILE_COLUMNS, "") | default_cells() | given | memory
    name = cells["instance"]
    same = next((other for other in shared if other.lower() == name.lower()), name)
    if same != name:
        raise CatalogError(f"There is {same} already: write {same}, or give {name} another name.")
    if name.lower() in gpu_instances:
        raise CatalogError(f"{name} is the instance of a custom GPU: give this row another name.")
    row = custom_instance(cells, shared)
    for column, text in (("name", name), ("gpu", row.gpu), ("region", row.region)):
        if not _SHOWN.fullmatch(text):
            raise CatalogError(f"{name}: {column} has letters, digits, spaces and .,()/_- only, unlike {text!r}.")
    shared.with_custom([row])
    return row


def check_custom_rows(rows: Sequence[Instance], shared: Catalog) -> None:
    """Raise CatalogError if a visitor's rows don't agree with each other or with the catalog, or are too many."""
    keys = [row.offer_key for row in rows]
    twice = next((row for row in rows if keys.count(row.offer_key) > 1), None)
    if twice is not None:
        raise CatalogError(f"{twice.name} has two prices in {twice.region}, {twice.market}: keep one.")
    if len(rows) > MAX_CUSTOM_ROWS:
        raise CatalogError(f"{len(rows)} custom rows are too many: keep at most {MAX_CUSTOM_ROWS}.")
    shared.with_custom(rows)
