"""Asks for a network that nobody profiled, and for its step."""

from __future__ import annotations

import streamlit as st

from profet_core.answers.estimate import DEFAULT_PIXELS, EstimateQuestion, named_question
from profet_core.estimate.estimate import MOST_BATCH
from profet_core.estimate.memory import OPTIMISERS
from profet_core.estimate.model import METHODS
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS, measured_networks, named_networks
from profet_core.layers.reading import FORMATS
from ui.errors import show_error
from ui.inputs.fields import choice
from ui.inputs.method import tf32_input
from ui.inputs.network_file import network_file
from ui.inputs.number_field import whole_field
from ui.inputs.training import validation_input, workload_input
from ui.state.settings import DEFAULT_METHOD, NETWORK_FROM
from ui.texts import plain

_FROM_LABELS = {"name": "By name", "file": "A file"}
_OPTIMISER_LABELS = {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}
_FILE_TIP = (
    f"{FORMATS[0].upper()}{FORMATS[1:]}. Nothing in it is run and no weights are read; what is counted of its layers "
    "stays in memory for your session, the file is let go."
)


def network_question() -> EstimateQuestion | None:
    """The question that the fields ask; None while there is no file yet."""
    choice("Network", "net_from", NETWORK_FROM, _FROM_LABELS)
    by_name = st.session_state["net_from"] == "name"
    if by_name:
        st.selectbox(
            "Which one",
            named_networks(),
            format_func=_network_label,
            key="net",
            persist_state="session",
            label_visibility="collapsed",
        )
    pixels, batch = st.columns(2, gap="small")
    with pixels:
        empty = f"{DEFAULT_PIXELS}" if by_name else "the file's"
        whole_field("Pixel size", "net_pixels", MIN_PIXELS, MAX_PIXELS, empty=empty, tip="Height and width.")
    with batch:
        whole_field("Batch size", "net_batch", 1, MOST_BATCH)
    found = _by_name() if by_name else _of_file()
    workload_input()
    with st.expander("More", icon=":material/tune:", key="network:more"):
        validation_input()
        choice("Optimiser", "net_optimiser", tuple(OPTIMISERS), _OPTIMISER_LABELS, tip="What it keeps needs memory.")
        st.selectbox(
            "Method",
            (DEFAULT_METHOD, *METHODS),
            key="net_method",
            persist_state="session",
            help="Default: the one that was chosen most often where parts of the measurements were left out.",
        )
        tf32_input()
    return found


def _by_name() -> EstimateQuestion:
    state = st.session_state
    return named_question(state["net"], batch=state["net_batch"], pixels=state["net_pixels"])


def _of_file() -> EstimateQuestion | None:
    pixels, batch_size = st.session_state["net_pixels"], st.session_state["net_batch"]
    given = network_file("network", "A network's file", _FILE_TIP, pixels=pixels, keep=lambda network: network)
    if given.problem:
        show_error(given.problem)
    network = given.kept
    if network is None:
        return None
    st.caption(plain(f"Read: {network.name} ({network.source_format}), at {network.counts.pixels} pixels."))
    if pixels not in (None, network.counts.pixels):
        show_error(f"It was read at {network.counts.pixels} pixels: give the file again to count it at {pixels}.")
    return EstimateQuestion(network=network.counts, name=network.name, caveats=network.caveats, batch_size=batch_size)


def _network_label(name: str) -> str:
    return f"{name} (measured)" if name in measured_networks() else name
