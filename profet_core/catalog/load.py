"""Load the shipped catalog and merge the user's file."""

from __future__ import annotations

from pathlib import Path

from profet_core.catalog.collection import Catalog
from profet_core.catalog.instance import (
    MACHINE_COLUMNS,
    OFFER_COLUMNS,
    OPTIONAL_COLUMNS,
    REQUIRED_COLUMNS,
    Instance,
    agreeing,
    instance_from_row,
)
from profet_core.catalog.own import own_path, read_own, served_own_path
from profet_core.catalog.tables import Row, file_text, read_records, shipped_text
from profet_core.errors import CatalogError

#: Message of a server that skips its custom list. `profet instances` gives the error; the file's path doesn't belong in
#: a log that others may read.
OWN_LEFT_OUT = (
    "The server's custom list of instances or GPUs can't be read and is ignored: run `profet instances` for the reason."
)


def load_catalog(path: Path | None = None, *, own: Path | None = None) -> Catalog:
    """Read and validate a catalog.

    Parameters
    ----------
    path : a CSV file with the columns `FILE_COLUMNS` (`OPTIONAL_COLUMNS` may be missing), read alone; None: the shipped
        catalog merged with the user's file.
    own : the user's file; None: see `own_path`.

    Raises
    ------
    CatalogError : one line that names the invalid row and column.
    """
    if path is not None:
        text = file_text(path, "The catalog")
        return Catalog(
            read_records(
                text,
                "Catalog",
                key="instance",
                required=REQUIRED_COLUMNS,
                optional=OPTIONAL_COLUMNS,
                make=lambda row: agreeing(instance_from_row(row)),
            )
        )
    catalog, problem = load_catalog_with_own(own)
    if problem is not None:
        raise CatalogError(problem)
    return catalog


def load_catalog_with_own(path: Path | None = None) -> tuple[Catalog, str | None]:
    """Load the shipped catalog with the user's file, and the error in that file if any.

    If the user's file is damaged, callers get the shipped rows alone, with one line that says what to repair.

    Parameters
    ----------
    path : the user's file; None: `own_path()`.
    """
    shipped = load_shipped()
    path = own_path() if path is None else path
    try:
        return shipped.with_own(read_own(path, shipped)), None
    except CatalogError as error:
        return shipped, f"{error} Fix or remove your file {path}."


def load_served_catalog() -> tuple[Catalog, str | None]:
    """Load the catalog that a server shows to everyone, and the error in its custom file if any.

    The personal file of whoever started the server stays private. A custom file is shown only if
    `$PROFET_APP_INSTANCES` names it, or if it is in the folder that the server serves through `$PROFET_HOME`.
    """
    try:
        path = served_own_path()
    except CatalogError as error:
        return load_shipped(), str(error)
    return (load_shipped(), None) if path is None else load_catalog_with_own(path)


def load_shipped() -> Catalog:
    """Load the shipped catalog alone: instances from `instances.csv`, prices from `prices.csv`.

    Raises
    ------
    CatalogError : one of both files is damaged.
    """
    machines = {
        row["instance"]: row
        for row in read_records(
            shipped_text("instances.csv"), "Catalog", key="instance", required=(*MACHINE_COLUMNS, "source"), make=dict
        )
    }

    def priced(price: Row) -> Instance:
        if price["instance"] not in machines:
            raise CatalogError(f"prices.csv: {price['instance']} is not in instances.csv.")
        machine = machines[price["instance"]]
        return instance_from_row({**machine, **price}, machine_source=machine["source"])

    prices = read_records(shipped_text("prices.csv"), "Catalog", key="instance", required=OFFER_COLUMNS, make=priced)
    unpriced = machines.keys() - {row.name for row in prices}
    if unpriced:
        raise CatalogError(f"prices.csv has no price of {', '.join(sorted(unpriced))}.")
    place = {name: number for number, name in enumerate(machines)}
    return Catalog(sorted(prices, key=lambda row: place[row.name]))
