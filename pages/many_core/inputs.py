"""Inputs of Many-core CPUs: the network, its training, and a number of threads."""

from __future__ import annotations

import streamlit as st

from profet_core.layers import counts_of
from profet_core.layers.network import Network as NetworkFile
from profet_core.manycore.models import Network, Training
from profet_core.manycore.published import PUBLISHED, PUBLISHED_TRAINING, nearest_published, scaled_network
from ui.inputs.fields import choice, number_field, select
from ui.inputs.uploads import network_file
from ui.notices import show_error
from ui.state.session import Field, ManyCore, session
from ui.words import plain

_FILE_TIP = (
    "A Keras model (.keras or JSON), ONNX, or a layer table (CSV). Only its layers are read, and it is not kept."
)


def network_input() -> Network:
    """Ask for the network.

    Raises
    ------
    InputError : it can't be built for such images, or its FLOPs are out of bounds.
    """
    asked = session.manycore
    choice("Network", ManyCore.manycore_from)
    if asked.manycore_from == "published":
        choice("Published network", ManyCore.manycore_network)
        return PUBLISHED[asked.manycore_network]
    if asked.manycore_from == "named":
        select("Network name", ManyCore.manycore_name)
        number_field("Image size (pixels)", ManyCore.manycore_pixels)
        return scaled_network(asked.manycore_name, counts_of(asked.manycore_name, asked.manycore_pixels).flops)
    field = st.container()
    # Drawn first: the FLOPs of a file go into the field above.
    _file_input()
    with field:
        number_field("FLOPs per image", ManyCore.manycore_flops, tip="Forward pass. A multiply-add counts as two.")
    return scaled_network("custom", asked.manycore_flops)


def training_input(network: Network) -> Training:
    """Ask for the training; empty fields stand for that of the published network with the nearest FLOPs."""
    published = PUBLISHED_TRAINING[nearest_published(network.forward_flops).name]
    left, right = st.columns(2, gap="small")
    with left:
        images = _field("Images", ManyCore.manycore_images, published.images)
    with right:
        test_images = _field("Test images", ManyCore.manycore_test_images, published.test_images)
    epochs = _field("Epochs", ManyCore.manycore_epochs, published.epochs)
    return Training(images=images, test_images=test_images, epochs=epochs)


def threads_input() -> int | None:
    """Ask for a number of threads beside the published ones."""
    number_field("Threads", ManyCore.manycore_threads, empty="none", tip="Adds a row to the table.")
    return session.manycore.manycore_threads


def _field(label: str, field: Field[int | None], published: int) -> int:
    number_field(label, field, empty=f"{published:,}", tip="Empty: as published.")
    value: int | None = getattr(session.manycore, field.key)
    return published if value is None else value


def _file_input() -> None:
    """Ask for a network's file; its FLOPs become the setting `manycore_flops`."""
    asked, field = session.manycore, st.container()
    number_field("Image size (pixels)", ManyCore.manycore_file_pixels, empty="from file")
    with field:
        given = network_file("manycore", "Network file", _FILE_TIP, pixels=asked.manycore_file_pixels, keep=_counted)
    if given.problem:
        show_error(given.problem)
    elif given.kept is not None and given.kept[0] == asked.manycore_flops:
        flops, caveats = given.kept
        st.caption(f"FLOPs of {plain(given.name)}: {flops:,.0f}. {' '.join(map(plain, caveats))}")


def _counted(network: NetworkFile) -> tuple[float, tuple[str, ...]]:
    """All that is kept of a file: FLOPs per image, forward, and caveats."""
    flops = scaled_network(network.name, network.counts.flops).forward_flops
    session.manycore.manycore_flops = flops
    return flops, network.caveats
