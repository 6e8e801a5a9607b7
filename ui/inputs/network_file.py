"""Takes a network's file, keeps what was counted of it for the session, and lets the file go."""

from __future__ import annotations

import logging

import streamlit as st

from profet_core import ProfetError
from profet_core.layers.guarded.read import read_network_guarded
from profet_core.layers.network import Network
from profet_core.layers.reading import FORMATS
from profet_core.profiles.guarded.read import taken
from ui.errors import log_failure, show_error
from ui.inputs.uploads import let_go
from ui.state.resumed import resumed_number
from ui.state.uploads_held import is_dropped
from ui.texts import plain
from ui.turns import others_first

_LOG = logging.getLogger(__name__)
_READ, _WRONG, _BATCH, _FILE = "network:read", "network:wrong", "network:batch", "network:file:"


def network_file_input(pixels: int | None) -> Network | None:
    """Ask for a file; returns the network that was read last, None before.

    Parameters
    ----------
    pixels : image size to count at; None: the file's own.
    """
    state = st.session_state
    if _BATCH not in state:
        state[_BATCH] = resumed_number(_FILE)
    file = st.file_uploader(
        "A network's file",
        key=f"{_FILE}{state[_BATCH]}",
        help=f"{FORMATS[0].upper()}{FORMATS[1:]}. Nothing in it is run and no weights are read; what is counted of its "
        "layers stays in memory for your session, the file is let go. Too big with its weights? What `model.to_json()` "
        "gives tells as much.",
    )
    if file is not None and not file.closed:
        state[_WRONG] = ""
        try:
            if is_dropped(file):
                raise ProfetError("The server let go of the file before it was read: give it again.")
            with taken(file) as copy:
                let_go(file)
                with others_first():
                    state[_READ] = read_network_guarded(copy, file.name, pixels)
        except ProfetError as error:
            state[_WRONG] = str(error)
        except Exception as error:
            log_failure(_LOG, "A network could not be read", error)
            state[_WRONG] = f"{file.name}: something went wrong on our side while reading it."
        finally:
            let_go(file)
        # A new key empties the uploader, and with it the browser's and the server's hold on the file.
        state[_BATCH] += 1
        st.rerun()
    if state.get(_WRONG):
        show_error(state[_WRONG])
    network: Network | None = state.get(_READ)
    if network is not None:
        st.caption(plain(f"Read: {network.name} ({network.source_format}), at {network.counts.pixels} pixels."))
        if pixels is not None and pixels != network.counts.pixels:
            show_error(f"It was read at {network.counts.pixels} pixels: give the file again to count it at {pixels}.")
    return network
