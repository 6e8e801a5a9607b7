"""Asks how many parameters the network has: by its name, or as a number; GPUs that train together share as many."""

from __future__ import annotations

import streamlit as st

from profet_core import InputError
from profet_core.answers.parameters import NetworkParameters, parameters_of, told_parameters
from profet_core.profiles.record import ProfileMeta
from profet_core.units import format_count
from ui.errors import show_error
from ui.state.parsers import LONGEST_NETWORK
from ui.state.settings import GRADIENTS

_TIP = "Of all GPUs of a machine each sends as many gradients. A network's name, or its number of parameters."


def parameters_input(meta: ProfileMeta | None) -> None:
    """The network's name or its parameters; empty: as the profile tells, if it does.

    Parameters
    ----------
    meta : of the profile; None where there is none.
    """
    told = None if meta is None else told_parameters(meta)
    st.text_input(
        "Network or parameters",
        key="network",
        max_chars=LONGEST_NETWORK,
        placeholder="ResNet50, or 25.6M" if told is None else f"{format_count(told.count)}, as profiled",
        help=_TIP,
        autocomplete="off",
        persist_state="session",
    )
    try:
        found = chosen_parameters(meta)
    except InputError as error:
        show_error(str(error))
        return
    if found is not None and st.session_state["network"].strip():
        st.caption(f"= {found.words}")


def chosen_parameters(meta: ProfileMeta | None, pixels: int | None = None) -> NetworkParameters | None:
    """What was typed, else what the profile tells; None where nothing does.

    Parameters
    ----------
    pixels : of the training; None: as profiled.

    Raises
    ------
    InputError : what was typed is neither a network nor a number.
    """
    typed = st.session_state["network"].strip()
    if typed:
        return parameters_of(typed, pixels or (None if meta is None else meta.pixels))
    return None if meta is None else told_parameters(meta)


def gradients_input() -> None:
    """FP32 or half: what a parameter's gradient takes."""
    st.segmented_control(
        "Gradients",
        GRADIENTS,
        format_func={"fp32": "FP32", "fp16": "Half"}.__getitem__,
        key="gradients",
        required=True,
        persist_state="session",
        help="What GPUs send each other: 4 bytes a parameter, or 2.",
    )
