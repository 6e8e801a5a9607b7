"""GPUs of a visitor's own: in their session, over what every visitor sees, and never in another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def put_own_gpus(rows: Mapping[int, OwnGpu], before: Mapping[int, OwnGpu]) -> None:
    """Replace the visitor's GPUs; a profile recorded on a renamed one stays so.

    Parameters
    ----------
    before : the GPUs until now, by the same numbers.

    Raises
    ------
    InputError : they can't be together, or a name is taken; nothing is changed.
    """
    _keep(list(rows.values()))
    old, new = ({row.name for row in some.values()} for some in (before, rows))
    for number, row in rows.items():
        if number in before and before[number].name not in new and row.name not in old:
            rename_anchor(before[number].name, row.name)
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


def own_gpus_csv() -> str:
    """The visitor's GPUs as a file of the command line's; an example while there are none."""
    return own_gpus_text(own_gpus() or [own_gpu_of(_EXAMPLE, load_resources().gpus)])


def without_own_gpus() -> Resources:
    """What every visitor shares, with this visitor's instances over it."""
    return with_own_instances(load_resources())


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


def _keep(rows: Sequence[OwnGpu]) -> None:
    for row in rows:
        check_own(row)
    st.session_state[_KEY] = checked_own_gpus(rows)
    for row in rows:
        # Left from an instance that was called so.
        st.session_state.pop(price_key(row.instance), None)


def _with_gpus(resources: Resources, own: Sequence[OwnGpu]) -> Resources:
    known = Knowledge(resources.models, resources.catalog, resources.gpus).with_own_gpus(own)
    return replace(resources, models=known.models, catalog=known.catalog, gpus=known.gpus) if own else resources
