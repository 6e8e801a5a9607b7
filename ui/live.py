"""Parts of a page that answer at once: a chart follows its slider in the browser, and a part is drawn by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.errors import one_line_errors
from ui.state.address import write_address
from ui.state.resources import Resources
from ui.turns import in_turn


def live_view(name: str) -> DeltaGenerator:
    """A container in which charts follow a slider, also while it is dragged.

    The script `ui/delivery/scripts/cursor.js` draws a line at the slider's value, and a dot on each curve that can be
    hovered. The figures themselves must not depend on the slider: then they are not drawn anew.
    """
    return st.container(key=f"live-{name}")


def live_part(draw: Callable[[], None], resources: Resources, keys: Callable[[Resources], Iterable[str]]) -> None:
    """Draw a part of a page; what changes in it draws it anew, and nothing else.

    Parameters
    ----------
    draw : draws the part, with its widgets. What it needs of the rest of the page stays as it was drawn last.
    keys : as of the page: names the settings that its link carries.
    """

    @st.fragment
    def part() -> None:
        with in_turn(), one_line_errors():
            draw()
            if _is_drawn_alone():
                write_address(resources, keys)

    part()


def _is_drawn_alone() -> bool:
    return bool(getattr(get_script_run_ctx(), "fragment_ids_this_run", None))
