"""Inputs of Many-core CPUs: the network, its training, and a number of threads."""

from __future__ import annotations

import streamlit as st

from profet_core.layers import counts_of, named_networks
from profet_core.layers.network import Network as NetworkFile
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS
from profet_core.manycore.models import FEWEST_THREADS, MOST_EPOCHS, MOST_IMAGES, MOST_THREADS, Network, Training
from profet_core.manycore.published import PUBLISHED, PUBLISHED_TRAINING, nearest_published, scaled_network
from ui.errors import show_error
from ui.inputs.fields import choice, number_field
from ui.inputs.network_file import network_file
from ui.texts import plain

_FROM_LABELS = {"published": "Published", "named": "Name", "flops": "Custom"}
_FILE_TIP = (
    "A Keras model (.keras or JSON), ONNX, or a layer table (CSV). Only its layers are read, and it is not kept."
)


def network_input() -> Network:
    """Ask for the network.

    Raises
    ------
    InputError : it can't be built for such images, or its FLOPs are out of bounds.
    """
    state = st.session_state
    choice("Network", "manycore_from", _FROM_LABELS)
    if state["manycore_from"] == "published":
        choice("Published network", "manycore_network", tuple(PUBLISHED))
        return PUBLISHED[state["manycore_network"]]
    if state["manycore_from"] == "named":
        st.selectbox("Network name", named_networks(), key="manycore_name", persist_state="session")
        number_field("Image size (pixels)", "manycore_pixels", (MIN_PIXELS, MAX_PIXELS))
        name = state["manycore_name"]
        return scaled_network(name, counts_of(name, state["manycore_pixels"]).flops)
    field = st.container()
    # Drawn first: the FLOPs of a file go into the field above.
    _file_input()
    with field:
        number_field("FLOPs per image", "manycore_flops", tip="Forward pass. A multiply-add counts as two.")
    return scaled_network("custom", state["manycore_flops"])


def training_input(network: Network) -> Training:
    """Ask for the training; empty fields stand for that of the published network with the nearest FLOPs."""
    published = PUBLISHED_TRAINING[nearest_published(network.forward_flops).name]
    left, right = st.columns(2, gap="small")
    with left:
        images = _field("Images", "manycore_images", 1, MOST_IMAGES, published.images)
    with right:
        test_images = _field("Test images", "manycore_test_images", 0, MOST_IMAGES, published.test_images)
    epochs = _field("Epochs", "manycore_epochs", 1, MOST_EPOCHS, published.epochs)
    return Training(images=images, test_images=test_images, epochs=epochs)


def threads_input() -> int | None:
    """Ask for a number of threads beside the published ones."""
    number_field(
        "Threads", "manycore_threads", (FEWEST_THREADS, MOST_THREADS), empty="none", tip="Adds a row to the table."
    )
    threads: int | None = st.session_state["manycore_threads"]
    return threads


def _field(label: str, key: str, smallest: int, largest: int, published: int) -> int:
    number_field(label, key, (smallest, largest), empty=f"{published:,}", tip="Empty: as published.")
    value = st.session_state[key]
    return published if value is None else value


def _file_input() -> None:
    """Ask for a network's file; its FLOPs become the setting `manycore_flops`."""
    state, field = st.session_state, st.container()
    number_field("Image size (pixels)", "manycore_file_pixels", (MIN_PIXELS, MAX_PIXELS), empty="from file")
    with field:
        given = network_file("manycore", "Network file", _FILE_TIP, pixels=state["manycore_file_pixels"], keep=_counted)
    if given.problem:
        show_error(given.problem)
    elif given.kept is not None and given.kept[0] == state["manycore_flops"]:
        flops, caveats = given.kept
        st.caption(f"FLOPs of {plain(given.name)}: {flops:,.0f}. {' '.join(map(plain, caveats))}")


def _counted(network: NetworkFile) -> tuple[float, tuple[str, ...]]:
    """All that is kept of a file: FLOPs per image, forward, and caveats."""
    flops = scaled_network(network.name, network.counts.flops).forward_flops
    st.session_state["manycore_flops"] = flops
    return flops, network.caveats
