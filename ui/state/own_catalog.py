"""Custom instances, prices and GPUs: in a visitor's session, over what every visitor sees, and never in another's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from profet_core import Catalog, CatalogError, InputError
from profet_core.catalog import Instance
from profet_core.catalog.own import own_row
from profet_core.catalog.own_gpus import OwnGpu, checked_own_gpus
from profet_core.transfer.own_gpu import check_own_gpu
from ui.state.profiles import forget_other_anchors
from ui.state.resources import Resources, load_resources
from ui.state.session import PRICE, session

#: Of one visitor.
MAX_ROWS = 200
#: What pages show as it is.
_SHOWN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,()/_-]*")


def visitors_resources() -> Resources:
    """What every visitor shares, with this visitor's instances and GPUs over it."""
    resources = without_own_gpus()
    known = resources.with_own_gpus(session.own.own_gpus)
    return replace(resources, models=known.models, catalog=known.catalog, gpus=known.gpus)


def without_own_gpus() -> Resources:
    """What every visitor shares, with this visitor's instances over it."""
    resources, rows = load_resources(), session.own.own_instances
    return replace(resources, catalog=resources.catalog.with_own(rows)) if rows else resources


def own_gpu_instances() -> frozenset[str]:
    """Names of the instances that the visitor's GPUs are."""
    return frozenset(row.instance for row in session.own.own_gpus)


def checked_own_instance(shared: Catalog, cells: Mapping[str, str]) -> Instance:
    """A row of a table's cells; see `profet_core.catalog.own.own_row`.

    Raises
    ------
    ProfetError : one line that names what is wrong.
    """
    name = cells["instance"]
    same = next((known for known in shared if known.lower() == name.lower()), name)
    if same != name:
        raise CatalogError(f"There is {same} already: write {same}, or give {name} another name.")
    if name.lower() in own_gpu_instances():
        raise CatalogError(f"{name} is the instance of a custom GPU: give this row another name.")
    row = own_row(cells, shared)
    for column, text in (("name", name), ("gpu", row.gpu), ("region", row.region)):
        if not _SHOWN.fullmatch(text):
            raise CatalogError(f"{name}: {column} has letters, digits, spaces and .,()/_- only, unlike {text!r}.")
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
    shared.with_own(rows)
    session.own.own_instances = tuple(rows)


def check_own(own: OwnGpu) -> None:
    """Check a GPU against the catalog and the models.

    Raises
    ------
    InputError : the catalog has its instance, or the models can't place it.
    """
    shared = without_own_gpus()
    if own.instance in shared.catalog:
        raise InputError(f"There is an instance {own.instance} already: give {own.name} another name.")
    if shared.models.transfer is not None:
        check_own_gpu(shared.models.transfer, own)


def put_own_gpus(rows: Sequence[OwnGpu]) -> None:
    """Replace the visitor's GPUs, which `check_own` has checked; what was recorded on one that is gone has no anchor.

    Raises
    ------
    InputError : they can't be together; nothing is changed.
    """
    session.own.own_gpus = checked_own_gpus(rows)
    for row in rows:
        # Left from an instance that was called so.
        st.session_state.pop(PRICE.key(row.instance), None)
    forget_other_anchors(visitors_resources())
