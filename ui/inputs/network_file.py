"""Takes a network's file, keeps what a page wants of it for the session, and lets the file go."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from profet_core import InputError, ProfetError
from profet_core.layers.guarded import read_network_guarded
from profet_core.layers.network import Network
from profet_core.sandbox.process import taken
from ui.errors import log_failure
from ui.inputs.uploader import Uploader, let_go
from ui.state.uploads_held import is_dropped
from ui.turns import others_first

_LOG = logging.getLogger(__name__)
_TOO_BIG = "Too big with its weights? What `model.to_json()` gives tells as much."

Kept = TypeVar("Kept")


# Without slots, as `Column`.
@dataclass(frozen=True)
class GivenNetwork(Generic[Kept]):
    """What became of the files that were given.

    Attributes
    ----------
    name : of the last one. problem : what is wrong with it, one line; empty if it was read.
    kept : of the last one that was read; None before.
    """

    name: str = ""
    problem: str = ""
    kept: Kept | None = None


def network_file(
    prefix: str, label: str, tip: str, *, pixels: int | None, keep: Callable[[Network], Kept]
) -> GivenNetwork[Kept]:
    """Ask for a file.

    Parameters
    ----------
    prefix : of the keys of its widget and of what is kept.
    pixels : image size to count at; None: the file's own.
    keep : what of a network stays in the session; ProfetError says why it can't be used.
    """
    uploader, given_key = Uploader(prefix), f"{prefix}:given"
    given: GivenNetwork[Kept] = st.session_state.get(given_key, GivenNetwork())
    file = st.file_uploader(label, key=uploader.key, help=f"{tip} {_TOO_BIG}")
    if file is not None and not file.closed:
        try:
            given = GivenNetwork(file.name, kept=keep(_read(file, pixels)))
        except ProfetError as error:
            given = GivenNetwork(file.name, str(error), given.kept)
        except Exception as error:
            log_failure(_LOG, "A network could not be read", error)
            problem = f"{file.name}: something went wrong on our side while reading it."
            given = GivenNetwork(file.name, problem, given.kept)
        finally:
            let_go(file)
        st.session_state[given_key] = given
        uploader.empty()
        st.rerun()
    return given


def _read(file: UploadedFile, pixels: int | None) -> Network:
    if is_dropped(file):
        raise InputError(f"{file.name}: the server let go of it before it was read: give it again.")
    with taken(file) as copy:
        let_go(file)
        with others_first():
            return read_network_guarded(copy, file.name, pixels)
