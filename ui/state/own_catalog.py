"""Custom instances, prices and GPUs: in a visitor's session, over what every visitor sees, and never in another's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from profet_core import Catalog, CatalogError, InputError
from profet_core.answers.questions import Context
from profet_core.catalog import Instance
from profet_core.catalog.own import own_row
from profet_core.catalog.own_gpus import OwnGpu, checked_own_gpus
from profet_core.transfer.own_gpu import check_own_gpu
from ui.state.profiles import forget_other_anchors
from ui.state.records import OwnInstances
from ui.state.resources import Resources, load_resources
from ui.state.session import PRICE, session

#: Of one visitor.
MAX_ROWS = 200
#: What pages show as it is.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHOWN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,()/_-]*")


def own_instances() -> tuple[Instance, ...]:
    """The visitor's rows, in the order they came."""
    held = session.own.own_instances
    return held.rows if held else ()


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
    row = own_row(cells, shared)
    _check(row)
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
    session.own.own_instances = OwnInstances(tuple(rows), shared.with_own(rows)) if rows else None


def _check(row: Instance) -> None:
    if row.name.lower() in own_gpu_instances():
        raise CatalogError(f"{row.name} is the instance of a custom GPU: give this row another name.")
    if not _NAME.fullmatch(row.name):
        raise CatalogError(f"An instance's name has letters, digits, dots and dashes, unlike {row.name!r}.")
    for column, text in (("gpu", row.gpu), ("region", row.region), ("os", row.os)):
        if not _SHOWN.fullmatch(text):
            raise CatalogError(f"{row.name}: {column} has letters, digits, spaces and .,()/_- only, unlike {text!r}.")


def own_gpus() -> tuple[OwnGpu, ...]:
    """The visitor's GPUs, in the order they came."""
    return session.own.own_gpus


def own_gpu_instances() -> frozenset[str]:
    """Names of the instances that the visitor's GPUs are."""
    return frozenset(row.instance for row in own_gpus())


def visitors_resources() -> Resources:
    """What every visitor shares, with this visitor's instances and GPUs over it."""
    resources, own = without_own_gpus(), own_gpus()
    if not own:
        return resources
    known = Context(resources.models, resources.catalog, resources.gpus).with_own_gpus(own)
    return replace(resources, models=known.models, catalog=known.catalog, gpus=known.gpus)


def put_own_gpus(rows: Sequence[OwnGpu]) -> None:
    """Replace the visitor's GPUs; what was recorded on one that is gone has no anchor any more.

    Raises
    ------
    InputError : they can't be together, or a name is taken; nothing is changed.
    """
    for row in rows:
        check_own(row)
    session.own.own_gpus = checked_own_gpus(rows)
    for row in rows:
        # Left from an instance that was called so.
        st.session_state.pop(PRICE.key(row.instance), None)
    forget_other_anchors(visitors_resources())


def without_own_gpus() -> Resources:
    """What every visitor shares, with this visitor's instances over it."""
    resources, held = load_resources(), session.own.own_instances
    return replace(resources, catalog=held.catalog) if held else resources


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
