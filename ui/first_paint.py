"""What a browser shows while Streamlit's scripts are on their way: the first answer of a new visit, as plain HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from ui.bars import BarAxis, BarRow, axis_end
from ui.server import FIRST_PAINT

#: Key of whether this run shows what every new visit without settings shows, and nothing of a visitor's own.
_IS_NEW = "first_paint:is_new"
#: The longest bar takes so much of its column; its value stands behind it.
_PERCENT = 70

# `bars.js` takes it away when it has drawn the same, `page.js` soon after the scripts run; else it goes by itself.
_STYLE = """
#first-paint { position: fixed; inset: 0; z-index: 1000000; overflow: hidden; padding: 4rem 5%; pointer-events: none;
  background: #fff; color: #0b0d12; font: 12px system-ui, sans-serif; animation: first-paint-end 0s 20s forwards; }
#first-paint b { display: block; font-size: 22px; } #first-paint p { font-size: 15px; }
#first-paint table { width: 100%; border-spacing: 0 5px; } #first-paint th { text-align: left; }
#first-paint th:not(:first-child) { width: 36%; font-size: 15px; }
#first-paint td:not(:first-child) { white-space: nowrap; }
#first-paint i { display: inline-block; height: 18px; margin-right: 5px; vertical-align: middle; }
@keyframes first-paint-end { to { visibility: hidden; } }
@media (min-width: 768px) { #first-paint { padding-left: 24rem; } }
@media (prefers-color-scheme: dark) { #first-paint { background: #171614; color: #edebe8; } }
"""


def begin_run(*, is_first: bool) -> None:
    """Note whether a run is the first one of a visit whose link has no settings."""
    st.session_state[_IS_NEW] = is_first and not st.query_params


def keep_words(title: str, words: str, *, is_sample: bool) -> None:
    """Keep what a new visit's first answer is about: a sample."""
    is_new = st.session_state[_IS_NEW] = is_sample and st.session_state.get(_IS_NEW, False)
    if is_new:
        lines = f"<b>{escape(title)}</b><p>{escape(words)} · Sample</p><p>Loading …</p>"
        FIRST_PAINT["words"] = f"<style>{_STYLE}</style>{lines}"


def keep_bars(axes: Sequence[BarAxis], rows: Sequence[BarRow]) -> None:
    """Keep the rows of a new visit's first answer that show before all are asked for."""
    if st.session_state.get(_IS_NEW):
        kept = [row for row in rows if row.kept]
        ends = [axis_end(row.bars[place] for row in kept) for place in range(len(axes))]
        heads = "".join(f"<th>{escape(axis.title)}</th>" for axis in axes)
        FIRST_PAINT["bars"] = f"<table><tr><th></th>{heads}</tr>{''.join(_row(row, ends) for row in kept)}</table>"


def _row(row: BarRow, ends: Sequence[float]) -> str:
    name = " ".join(map(escape, (row.name, *row.marks))) + (f" <strong>{escape(row.tag)}</strong>" if row.tag else "")
    cells = ""
    for bar, end in zip(row.bars, ends, strict=True):
        width = _PERCENT * (bar.value or 0) / end
        cells += f'<td><i style="width:{width:.1f}%;background:{bar.color}"></i>{escape(bar.text)}</td>'
    return f"<tr><td>{name}</td>{cells}</tr>"
