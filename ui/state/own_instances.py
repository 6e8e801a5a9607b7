"""Instances and prices of a visitor's own: in their session, over what every visitor sees, and never in another's."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from profet_core import Catalog, CatalogError
from profet_core.catalog import Instance, load_shipped
from profet_core.catalog.own import laid_over, own_row, own_text, parse_own
from ui.state.resources import Resources

#: Bytes of a file, and rows of one visitor.
MAX_BYTES, MAX_ROWS = 200_000, 200
_KEY = "own:instances"
#: What pages show as it is.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHOWN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,()/_-]*")


@dataclass(frozen=True, slots=True)
class OwnInstances:
    """A visitor's rows, and the catalogue with them laid over it."""

    rows: tuple[Instance, ...]
    catalog: Catalog


def own_instances() -> tuple[Instance, ...]:
    """The visitor's rows, in the order they came."""
    held: OwnInstances | None = st.session_state.get(_KEY)
    return held.rows if held else ()


def with_own_instances(resources: Resources) -> Resources:
    """What every visitor shares, with this visitor's rows over it."""
    held: OwnInstances | None = st.session_state.get(_KEY)
    return replace(resources, catalog=held.catalog) if held else resources


def add_own_instances(shared: Catalog, data: bytes, taken: Collection[str] = ()) -> int:
    """Lay the rows of a file over those the visitor has; returns how many the file holds.

    Parameters
    ----------
    shared : the catalogue that every visitor sees.
    data : a CSV file as the command line keeps it.
    taken : names of instances that the visitor has otherwise, in lower case.

    Raises
    ------
    CatalogError : one line that names the row and column that is wrong; nothing is changed.
    """
    try:
        new = parse_own(data.decode("utf-8-sig"), shared)
    except UnicodeDecodeError:
        raise CatalogError("The file is no UTF-8 text: save the table as CSV in UTF-8.") from None
    for row in new:
        _check(row, taken)
    put_own_instances(shared, laid_over(own_instances(), new))
    return len(new)


def checked_own_instance(shared: Catalog, cells: Mapping[str, str], taken: Collection[str] = ()) -> Instance:
    """A row of the cells of a file; see `profet_core.catalog.own.own_row`.

    Parameters
    ----------
    taken : as in `add_own_instances`.

    Raises
    ------
    ProfetError : one line that names what is wrong.
    """
    name = cells["instance"]
    same = next((known for known in shared if known.lower() == name.lower()), name)
    if same != name:
        raise CatalogError(f"There is {same} already: write {same}, or give {name} another name.")
    row = own_row(cells, shared)
    _check(row, taken)
    shared.with_own([row])
    return row


def put_own_instances(shared: Catalog, rows: Sequence[Instance]) -> None:
    """Replace the visitor's rows.

    Raises
    ------
    CatalogError : one line that names what is wrong; nothing is changed.
    """
    keys = [row.offer_key for row in rows]
    twice = next((row for row in rows if keys.count(row.offer_key) > 1), None)
    if twice is not None:
        raise CatalogError(f"{twice.name} has two prices in {twice.region}, {twice.market}: keep one.")
    if len(rows) > MAX_ROWS:
        raise CatalogError(f"You would have {len(rows)} rows of your own, and {MAX_ROWS} is all there is room for.")
    if rows:
        st.session_state[_KEY] = OwnInstances(tuple(rows), shared.with_own(rows))
    else:
        st.session_state.pop(_KEY, None)


def own_csv() -> str:
    """The visitor's rows as a file of the command line's; two examples while there are none."""
    rows = own_instances()
    return own_text(rows or _examples(), load_shipped())


def _check(row: Instance, taken: Collection[str]) -> None:
    if row.name.lower() in taken:
        raise CatalogError(f"{row.name} is the instance of a custom GPU: give this row another name.")
    if not _NAME.fullmatch(row.name):
        raise CatalogError(f"An instance's name has letters, digits, dots and dashes, unlike {row.name!r}.")
    for column, text in (("gpu", row.gpu), ("region", row.region), ("os", row.os)):
        if not _SHOWN.fullmatch(text):
            raise CatalogError(f"{row.name}: {column} has letters, digits, spaces and .,()/_- only, unlike {text!r}.")


def _examples() -> list[Instance]:
    known = load_shipped()["g4dn.xlarge"]
    price = replace(known, usd_per_hour=0.4, as_of="2026-11-01", source="our contract")
    machine = replace(price, name="my.l4", gpu="L4", gpu_memory_gib=24.0, vcpus=8, usd_per_hour=0.55, region="any")
    return [price, machine]
