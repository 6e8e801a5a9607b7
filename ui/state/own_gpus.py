"""GPUs of a visitor's own: in their session, over what every visitor sees, and never in another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from profet_core import CatalogError, InputError
from profet_core.answers.questions import Knowledge
from profet_core.catalog.own_gpus import OwnGpu, checked_own_gpus, own_gpu_of, own_gpus_text, parse_own_gpus
from profet_core.transfer.own_gpu import check_own_gpu
from ui.state.held import forget_other_anchors, rename_anchor
from ui.state.own_instances import with_own_instances
from ui.state.resources import Resources, load_resources
from ui.state.settings import price_key

#: Bytes of a file.
MAX_BYTES = 20_000
_KEY = "own:gpus"
_EXAMPLE = {
    "gpu": "my card",
    "like": "GeForce RTX 3090",
    "memory_gib": "12",
    "images_per_s": "400",
    "network": "ResNet50",
    "batch_size": "64",
    "precision": "tf32",
    "usd_per_hour": "0.1",
    "as_of": "2026-11-01",
    "source": "our measurement",
}


def own_gpus() -> tuple[OwnGpu, ...]:
    """The visitor's GPUs, in the order they came."""
    return st.session_state.get(_KEY, ())


def own_gpu_instances() -> frozenset[str]:
    """Names of the instances that the visitor's GPUs are."""
    return frozenset(row.instance for row in own_gpus())


def visitors_resources() -> Resources:
    """What every visitor shares, with this visitor's instances and GPUs over it."""
    return _with_gpus(without_own_gpus(), own_gpus())


def put_own_gpu(own: OwnGpu, instead_of: str | None = None) -> None:
    """Add a GPU to the visitor's, or put it in the place of the one of that name.

    Raises
    ------
    InputError : what is said of it can't be, or its name is taken; nothing is changed.
    """
    _keep([*_without(instead_of), own])
    if instead_of is not None:
        rename_anchor(instead_of, own.name)
    forget_other_anchors(visitors_resources())


def add_own_gpus(data: bytes) -> None:
    """Add the GPUs of a file, as the command line keeps it; one of the same name is replaced.

    Raises
    ------
    InputError : one line that names what is wrong; nothing is changed.
    """
    try:
        new = parse_own_gpus(data.decode("utf-8-sig"), load_resources().gpus)
    except UnicodeDecodeError:
        raise CatalogError("The file is no UTF-8 text: save the table as CSV in UTF-8.") from None
    names = {row.instance for row in new}
    _keep([*(row for row in own_gpus() if row.instance not in names), *new])
    forget_other_anchors(visitors_resources())


def remove_own_gpu(name: str) -> None:
    """Take one away."""
    st.session_state[_KEY] = tuple(_without(name))
    forget_other_anchors(visitors_resources())


def own_gpus_csv() -> str:
    """The visitor's GPUs as a file of the command line's; an example while there are none."""
    return own_gpus_text(own_gpus() or [own_gpu_of(_EXAMPLE, load_resources().gpus)])


def _without(name: str | None) -> Sequence[OwnGpu]:
    return [row for row in own_gpus() if row.name != name]


def without_own_gpus() -> Resources:
    """What every visitor shares, with this visitor's instances over it."""
    return with_own_instances(load_resources())


def check_name_is_free(own: OwnGpu) -> None:
    """Refuse a GPU whose instance the catalogue has.

    Raises
    ------
    InputError : it has.
    """
    if own.instance in without_own_gpus().catalog:
        raise InputError(f"There is an instance {own.instance} already: give {own.name} another name.")


def _keep(rows: Sequence[OwnGpu]) -> None:
    shared = without_own_gpus()
    for row in rows:
        check_name_is_free(row)
        if shared.models.transfer is not None:
            check_own_gpu(shared.models.transfer, row)
    st.session_state[_KEY] = checked_own_gpus(rows)
    for row in rows:
        # Left from an instance that was called so.
        st.session_state.pop(price_key(row.instance), None)


def _with_gpus(resources: Resources, own: Sequence[OwnGpu]) -> Resources:
    known = Knowledge(resources.models, resources.catalog, resources.gpus).with_own_gpus(own)
    return replace(resources, models=known.models, catalog=known.catalog, gpus=known.gpus) if own else resources
