"""An uploader that is emptied as soon as its files are read: neither browser nor server holds them any longer."""

from __future__ import annotations

import re
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile


@dataclass(frozen=True, slots=True)
class Uploader:
    """One uploader of a page, by what its keys begin with; a new number in its widget's key is an empty widget."""

    prefix: str

    @property
    def number(self) -> int:
        """How often it was emptied: that of the files that are in it now."""
        state = st.session_state
        if self._number_key not in state:
            state[self._number_key] = _resumed_number(self._widgets)
        number: int = state[self._number_key]
        return number

    @property
    def key(self) -> str:
        """Of its widget."""
        return f"{self._widgets}{self.number}"

    def empty(self) -> None:
        """Draw it empty from the next run on."""
        st.session_state[self._number_key] = self.number + 1

    @property
    def _widgets(self) -> str:
        return f"{self.prefix}:file:"

    @property
    def _number_key(self) -> str:
        return f"{self.prefix}:number"


def let_go(file: UploadedFile) -> None:
    """Drop the raw bytes at once: Streamlit would keep them as long as the uploader holds the file."""
    context = get_script_run_ctx()
    if context is not None:
        # Not part of what every file manager must have; the one that comes with Streamlit has it.
        remove = getattr(context.uploaded_file_mgr, "remove_file", lambda **_: None)
        remove(session_id=context.session_id, file_id=file.file_id)
    file.close()


def _resumed_number(key: str) -> int:
    """The number after `key` in the keys of widgets that came with this run; 0 where none did.

    Streamlit runs nothing when a browser connects anew: the first action comes from the page of before, and what it
    gives to a widget that the new session doesn't draw, such as a file, would be lost.
    """
    numbered = re.compile(rf"-{re.escape(key)}(\d{{1,9}})$", re.ASCII)
    return max((int(found[1]) for name in _widgets_of_this_run() if (found := numbered.search(name))), default=0)


def _widgets_of_this_run() -> list[str]:
    """Ids of the widgets whose values came with this run; Streamlit keeps them private, so that there may be none."""
    context = get_script_run_ctx()
    state = getattr(getattr(context, "session_state", None), "_state", None)
    return list(getattr(getattr(state, "_new_widget_state", None), "states", ()))
