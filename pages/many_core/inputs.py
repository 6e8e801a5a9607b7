"""Asks for the network, by one of several ways, and for the training on a many-core processor."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.many_core.file_input import flops_of_file_input
from profet_core.layers import counts_of, named_networks
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS
from profet_core.manycore.machine import FEWEST_THREADS, MOST_THREADS
from profet_core.manycore.network import MOST_EPOCHS, MOST_IMAGES, Network, Training
from profet_core.manycore.published import PUBLISHED, PUBLISHED_TRAINING
from profet_core.manycore.scaled import nearest_published, scaled_network
from ui.inputs.fields import choice
from ui.inputs.number_field import number_field, whole_field
from ui.state.settings import MANYCORE_FROM

_PUBLISHED, _NAMED, _FLOPS = MANYCORE_FROM
_FROM_LABELS: Mapping[str, str] = {_PUBLISHED: "Published", _NAMED: "Named", _FLOPS: "Yours"}


def network_asked() -> Network:
    """The network that is asked about.

    Raises
    ------
    InputError : it can't be built for such images, or its FLOPs are out of bounds.
    """
    choice("Network", "manycore_from", MANYCORE_FROM, _FROM_LABELS)
    asked_by = st.session_state["manycore_from"]
    if asked_by == _PUBLISHED:
        choice("Published network", "manycore_network", tuple(PUBLISHED))
        return PUBLISHED[st.session_state["manycore_network"]]
    if asked_by == _NAMED:
        st.selectbox("Its name", named_networks(), key="manycore_name", persist_state="session")
        whole_field("Pixels a side", "manycore_pixels", MIN_PIXELS, MAX_PIXELS)
        name = st.session_state["manycore_name"]
        return scaled_network(name, counts_of(name, st.session_state["manycore_pixels"]).flops)
    field = st.container()
    # First: what is counted in a file goes into the field above.
    flops_of_file_input()
    with field:
        number_field("FLOPs of an image, forward", "manycore_flops", tip="A multiply-add counts as two.")
    return scaled_network("Your network", st.session_state["manycore_flops"])


def training_asked(network: Network) -> Training:
    """What is trained; empty fields are as it was published of the nearest network."""
    published = PUBLISHED_TRAINING[nearest_published(network.forward_flops).name]
    images, tests = st.columns(2, gap="small")
    with images:
        _field("Images", "manycore_images", 1, MOST_IMAGES, published.images)
    with tests:
        _field("Test images", "manycore_test_images", 0, MOST_IMAGES, published.test_images)
    _field("Epochs", "manycore_epochs", 1, MOST_EPOCHS, published.epochs)
    state = st.session_state
    return Training(
        images=_given(state["manycore_images"], published.images),
        test_images=_given(state["manycore_test_images"], published.test_images),
        epochs=_given(state["manycore_epochs"], published.epochs),
    )


def threads_asked() -> int | None:
    """A number of threads beside the published ones."""
    return whole_field(
        "Your number of threads",
        "manycore_threads",
        FEWEST_THREADS,
        MOST_THREADS,
        empty="none",
        tip="One more row of the table.",
    )


def _field(label: str, key: str, smallest: int, largest: int, published: int) -> None:
    whole_field(label, key, smallest, largest, empty=f"{published:,}", tip="Empty: as published.")


def _given(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
