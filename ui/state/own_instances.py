"""Instances and prices of a visitor's own: in their session, over what every visitor sees, and never in another's."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from profet_core import Catalog, CatalogError, InputError
from profet_core.catalog import Instance, load_shipped
from profet_core.catalog.own import laid_over, own_row, own_text, parse_own
from ui.state.resources import Resources

#: Bytes of a file, and rows of one visitor.
MAX_BYTES, MAX_ROWS = 200_000, 200
_KEY = "own:instances"
#: Name, region, os, market.
OfferKey = tuple[str, str, str, str]
#: What pages show as it is.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SHOWN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,()/_-]*")


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
        if row.name.lower() in taken:
            raise CatalogError(f"{row.name} is the instance of a GPU of your own: give this row another name.")
    _lay_over(own_instances(), new, shared)
    return len(new)


def put_own_instance(shared: Catalog, cells: Mapping[str, str], instead_of: OfferKey | None = None) -> None:
    """Lay one row over those the visitor has.

    Parameters
    ----------
    cells : of a row, as a file has them; see `profet_core.catalog.own.own_row`.
    instead_of : the row that this one takes the place of.

    Raises
    ------
    CatalogError : one line that names what is wrong; nothing is changed.
    """
    held: OwnInstances | None = st.session_state.get(_KEY)
    try:
        row = own_row(cells, held.catalog if held else shared)
    except InputError as error:
        raise CatalogError(str(error)) from None
    _lay_over([other for other in own_instances() if other.offer_key != instead_of], [row], shared)


def remove_own_instance(shared: Catalog, row: Instance) -> None:
    """Take one row away."""
    _keep(shared, [other for other in own_instances() if other.offer_key != row.offer_key])


def remove_own_instances() -> None:
    """Take all rows away."""
    st.session_state.pop(_KEY, None)


def own_csv() -> str:
    """The visitor's rows as a file of the command line's; two examples while there are none."""
    rows = own_instances()
    if rows:
        return own_text(rows, load_shipped())
    return own_text(_examples(), load_shipped())


def _lay_over(held: Sequence[Instance], new: Sequence[Instance], shared: Catalog) -> None:
    for row in new:
        _check_shown(row)
    rows = laid_over(held, new)
    if len(rows) > MAX_ROWS:
        raise CatalogError(f"You would have {len(rows)} rows of your own, and {MAX_ROWS} is all there is room for.")
    _keep(shared, rows)


def _keep(shared: Catalog, rows: Sequence[Instance]) -> None:
    if rows:
        st.session_state[_KEY] = OwnInstances(tuple(rows), shared.with_own(rows))
    else:
        remove_own_instances()


def _check_shown(row: Instance) -> None:
    if not NAME.fullmatch(row.name):
        raise CatalogError(f"An instance's name has letters, digits, dots and dashes, unlike {row.name!r}.")
    for column, text in (("gpu", row.gpu), ("region", row.region), ("os", row.os)):
        if not SHOWN.fullmatch(text):
            raise CatalogError(f"{row.name}: {column} has letters, digits, spaces and .,()/_- only, unlike {text!r}.")


def _examples() -> list[Instance]:
    known = load_shipped()["g4dn.xlarge"]
    price = replace(known, usd_per_hour=0.4, as_of="2026-11-01", source="our contract")
    machine = replace(price, name="my.l4", gpu="L4", gpu_memory_gib=24.0, vcpus=8, usd_per_hour=0.55, region="any")
    return [price, machine]
