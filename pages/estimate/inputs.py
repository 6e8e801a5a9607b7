"""Inputs of Without a profile: the network and its step."""

from __future__ import annotations

import streamlit as st

from profet_core.answers.estimate import DEFAULT_PIXELS, EstimateQuestion, named_question
from profet_core.layers.networks import measured_networks, named_networks
from profet_core.layers.reading import FORMATS
from ui.inputs.fields import choice, number_field, select
from ui.inputs.training import precision_input, validation_input, workload_input
from ui.inputs.uploads import network_file
from ui.notices import show_error
from ui.state.session import NetworkFile, session
from ui.words import plain

_FILE_TIP = f"{FORMATS[0].upper()}{FORMATS[1:]}. Only its layers are read, and the file is not kept."


def network_question() -> EstimateQuestion | None:
    """Ask for the network and its step; None until there is a file."""
    choice("Network", NetworkFile.net_from)
    by_name = session.file.net_from == "name"
    if by_name:
        measured = measured_networks()
        names = {name: f"{name} (measured)" if name in measured else name for name in named_networks()}
        select("Network name", NetworkFile.net, names, label_visibility="collapsed")
    pixels, batch = st.columns(2, gap="small")
    with pixels:
        empty = f"{DEFAULT_PIXELS}" if by_name else "from file"
        number_field("Image size", NetworkFile.net_pixels, empty=empty, tip="Height and width in pixels.")
    with batch:
        number_field("Batch size", NetworkFile.net_batch)
    found = _by_name() if by_name else _of_file()
    workload_input()
    with st.expander("More", icon=":material/tune:", key="network:more"):
        validation_input()
        choice("Optimizer", NetworkFile.net_optimiser, tip="Its state needs memory.")
        select("Method", NetworkFile.net_method, help="The default was best most often on held-out measurements.")
        precision_input()
    return found


def _by_name() -> EstimateQuestion:
    return named_question(session.file.net, batch=session.file.net_batch, pixels=session.file.net_pixels)


def _of_file() -> EstimateQuestion | None:
    pixels, batch_size = session.file.net_pixels, session.file.net_batch
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
