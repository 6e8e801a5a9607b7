"""Counts the FLOPs of a visitor's network file."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from profet_core.layers.network import Network
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS
from profet_core.manycore.scaled import scaled_network
from ui.errors import show_error
from ui.inputs.network_file import network_file
from ui.inputs.number_field import whole_field
from ui.texts import plain

_TIP = (
    "A .keras model, a Keras model's JSON, an ONNX file, or a layer table (CSV). No code in it is run, no weights are "
    "read, and it is let go of at once."
)


@dataclass(frozen=True, slots=True)
class _Counted:
    """All that is kept of a file: FLOPs of an image, forward, and what to keep in mind of them."""

    flops: float
    caveats: tuple[str, ...]


def flops_of_file_input() -> None:
    """A field for a file; a good one's FLOPs become the setting `manycore_flops`."""
    state, field = st.session_state, st.container()
    whole_field("Its pixels a side", "manycore_file_pixels", MIN_PIXELS, MAX_PIXELS, empty="as the file says")
    with field:
        given = network_file(
            "manycore", "Or a file, to count them", _TIP, pixels=state["manycore_file_pixels"], keep=_take
        )
    if given.problem:
        show_error(given.problem)
    elif given.kept is not None and given.kept.flops == state["manycore_flops"]:
        caveats = " ".join(plain(line) for line in given.kept.caveats)
        st.caption(f"Counted in {plain(given.name)}: {given.kept.flops:,.0f}. {caveats}")


def _take(network: Network) -> _Counted:
    flops = scaled_network(network.name, network.counts.flops).forward_flops
    st.session_state["manycore_flops"] = flops
    return _Counted(flops, network.caveats)
