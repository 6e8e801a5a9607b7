"""Inputs of Without a profile: the network and its step."""

from __future__ import annotations

import streamlit as st

from profet_core.answers.estimate import DEFAULT_PIXELS, EstimateQuestion, named_question
from profet_core.from_layers.estimate import MOST_BATCH
from profet_core.from_layers.model import LAW, LIGHTGBM, LOG_LINEAR, XGBOOST
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS, measured_networks, named_networks
from profet_core.layers.reading import FORMATS
from ui.errors import show_error
from ui.inputs.fields import choice, number_field
from ui.inputs.method import precision_input
from ui.inputs.network_file import network_file
from ui.inputs.training import validation_input, workload_input
from ui.state.settings import DEFAULT_METHOD
from ui.texts import plain

#: Method -> its label, on the whole page.
METHOD_LABELS = {
    DEFAULT_METHOD: "Default",
    LAW: "Roofline model",
    LOG_LINEAR: "Log-linear",
    XGBOOST: "XGBoost",
    LIGHTGBM: "LightGBM",
}
_FROM_LABELS = {"name": "By name", "file": "File"}
_OPTIMIZER_LABELS = {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}
_FILE_TIP = f"{FORMATS[0].upper()}{FORMATS[1:]}. Only its layers are read, and the file is not kept."


def network_question() -> EstimateQuestion | None:
    """Ask for the network and its step; None until there is a file."""
    choice("Network", "net_from", _FROM_LABELS)
    by_name = st.session_state["net_from"] == "name"
    if by_name:
        st.selectbox(
            "Network name",
            named_networks(),
            format_func=lambda name: f"{name} (measured)" if name in measured_networks() else name,
            key="net",
            persist_state="session",
            label_visibility="collapsed",
        )
    pixels, batch = st.columns(2, gap="small")
    with pixels:
        empty = f"{DEFAULT_PIXELS}" if by_name else "from file"
        number_field(
            "Image size", "net_pixels", (MIN_PIXELS, MAX_PIXELS), empty=empty, tip="Height and width in pixels."
        )
    with batch:
        number_field("Batch size", "net_batch", (1, MOST_BATCH))
    found = _by_name() if by_name else _of_file()
    workload_input()
    with st.expander("More", icon=":material/tune:", key="network:more"):
        validation_input()
        choice("Optimizer", "net_optimiser", _OPTIMIZER_LABELS, tip="Its state needs memory.")
        st.selectbox(
            "Method",
            METHOD_LABELS,
            format_func=METHOD_LABELS.__getitem__,
            key="net_method",
            persist_state="session",
            help="The default was best most often on held-out measurements.",
        )
        precision_input()
    return found


def _by_name() -> EstimateQuestion:
    state = st.session_state
    return named_question(state["net"], batch=state["net_batch"], pixels=state["net_pixels"])


def _of_file() -> EstimateQuestion | None:
    pixels, batch_size = st.session_state["net_pixels"], st.session_state["net_batch"]
    given = network_file("network", "Network file", _FILE_TIP, pixels=pixels, keep=lambda network: network)
    if given.problem:
        show_error(given.problem)
    network = given.kept
    if network is None:
        return None
    st.caption(plain(f"{network.name} ({network.source_format}), {network.counts.pixels} pixels."))
    if pixels not in (None, network.counts.pixels):
        show_error(f"This file was read at {network.counts.pixels} pixels. To use {pixels}, upload it again.")
    return EstimateQuestion(network=network.counts, name=network.name, caveats=network.caveats, batch_size=batch_size)
