"""Takes a visitor's network file, counts its FLOPs, and lets the file go."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from profet_core import InputError, ProfetError
from profet_core.layers.guarded.read import read_network_guarded
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS
from profet_core.manycore.scaled import scaled_network
from ui.errors import show_error
from ui.inputs.number_field import whole_field
from ui.state.resumed import resumed_number
from ui.state.uploads_held import is_dropped
from ui.texts import plain
from ui.turns import others_first

_FILE, _NUMBER, _TAKEN = "manycore:file:", "manycore:number", "manycore:taken"


@dataclass(frozen=True, slots=True)
class _Taken:
    """What became of the last file.

    Attributes
    ----------
    flops : of an image; None where `lines` says what is wrong with the file, else `lines` are its caveats.
    """

    name: str
    flops: float | None
    lines: tuple[str, ...]


def network_file_input() -> None:
    """A field for a file; a good one's FLOPs become the setting `manycore_flops`."""
    state = st.session_state
    if _NUMBER not in state:
        state[_NUMBER] = resumed_number(_FILE)
    number = state[_NUMBER]
    file = st.file_uploader(
        "Or a file, to count them",
        key=f"{_FILE}{number}",
        help="A .keras model, a Keras model's JSON, an ONNX file, or a layer table (CSV). No code in it is run, no "
        "weights are read, and it is let go of at once. Too big with its weights? What `model.to_json()` gives tells "
        "as much.",
    )
    whole_field(
        "Its pixels a side",
        "manycore_file_pixels",
        MIN_PIXELS,
        MAX_PIXELS,
        empty="as the file says",
    )
    if file is not None:
        taken = _take(file, state["manycore_file_pixels"])
        state[_TAKEN] = taken
        if taken.flops is not None:
            state["manycore_flops"] = taken.flops
        # A new key empties the uploader, and with it the server's hold on the file.
        state[_NUMBER] = number + 1
        st.rerun()
    _show_taken(state.get(_TAKEN))


def _take(file: UploadedFile, pixels: int | None) -> _Taken:
    try:
        if is_dropped(file):
            raise InputError(f"{file.name}: the server let go of it before it was read: give it again.")
        with others_first():
            network = read_network_guarded(file, file.name, pixels)
        flops = scaled_network(network.name, network.counts.flops).forward_flops
    except ProfetError as error:
        return _Taken(file.name, None, (str(error),))
    return _Taken(file.name, flops, network.caveats)


def _show_taken(taken: _Taken | None) -> None:
    if taken is None:
        return
    if taken.flops is None:
        show_error(taken.lines[0])
    elif taken.flops == st.session_state["manycore_flops"]:
        caveats = " ".join(plain(line) for line in taken.lines)
        st.caption(f"Counted in {plain(taken.name)}: {taken.flops:,.0f}. {caveats}")
