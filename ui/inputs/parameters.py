"""Asks how many parameters the network has: by its name, or as a number; GPUs that train together share as many."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from profet_core import InputError
from profet_core.answers.questions import LONGEST_NETWORK, NetworkParameters, parameters_of, told_parameters
from profet_core.layers.networks import named_networks
from profet_core.profiles.record import ProfileMeta
from profet_core.typed_numbers import typed_count
from profet_core.units import format_count
from ui.inputs.fields import choice, toggle
from ui.state.session import Nodes, ScaleOut, session

_TIP = "A network's name, or its number of parameters: each GPU sends as many gradients."


def parameters_input(meta: ProfileMeta | None) -> None:
    """The network's name or its parameters; empty: as the profile tells, if it does. What is neither, the page says.

    Parameters
    ----------
    meta : of the profile; None where there is none.
    """
    told = None if meta is None else told_parameters(meta)
    st.selectbox(
        "Network or parameters",
        list(dict.fromkeys((*filter(None, [session.nodes.network]), *named_networks()))),
        index=None,
        accept_new_options=True,
        key=Nodes.network.key,
        placeholder="ResNet50, or 25.6M" if told is None else f"{format_count(told.count)}, as profiled",
        help=_TIP,
        on_change=_answer_nodes_whole,
        persist_state="session",
    )
    with suppress(InputError):
        found = chosen_parameters(meta)
        if found is not None and _typed():
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
    if typed := _typed():
        return parameters_of(typed, pixels or (None if meta is None else meta.pixels))
    return None if meta is None else told_parameters(meta)


def whole_nodes_input(meta: ProfileMeta) -> None:
    """Whether a node of several GPUs is answered with all of them training, and what they share."""
    tip = "Each at your batch size, so a step has as many times the images. Off: a node has the speed of one."
    toggle("All GPUs of a node train", Nodes.whole_nodes, tip)
    if session.nodes.whole_nodes:
        parameters_input(meta)


def typed_network() -> tuple[str | None, float | None]:
    """The network's name, or its number of parameters, as they were typed; None for what was not.

    Raises
    ------
    InputError : what was typed begins as a number and is none.
    """
    typed = _typed()
    return (None, typed_count(typed)) if typed[:1].isdigit() else (typed or None, None)


def _answer_nodes_whole() -> None:
    """Whoever says what GPUs share has several in mind: on every page."""
    session.nodes.whole_nodes = bool(_typed())


def _typed() -> str:
    """A network's name or a number, as it was typed; empty if nothing was."""
    return (session.nodes.network or "").strip()[:LONGEST_NETWORK]


def gradients_input() -> None:
    """FP32 or half: what a parameter's gradient takes."""
    tip = "4 bytes per parameter in FP32, 2 in half precision."
    choice("Gradients", ScaleOut.gradients, tip=tip)
