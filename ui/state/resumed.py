"""What a browser still shows of a session that its server has lost: a restarted server begins a new one for it."""

from __future__ import annotations

import re

from streamlit.runtime.scriptrunner import get_script_run_ctx


def resumed_number(key: str) -> int:
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
