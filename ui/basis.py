"""Says what a latency rests on, so that what nobody profiled never looks like what was measured."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from profet_core.prediction.step_times import BASIS_WORDS, StepTime
from ui.errors import plain

#: Short enough for a table; `BASIS_WORDS` stands below it.
SHORT_BASIS = {
    "given": "your measurement",
    "measured": "predicted",
    "derived": "derived, biased",
    "transferred": "rough estimate",
    "carried": "carried over",
}
BADGES = {
    "derived": ":orange-badge[derived, biased source]",
    "transferred": ":red-badge[rough estimate: GPU never profiled]",
    "carried": ":gray-badge[carried to this batch size]",
}
#: Marks, in charts, a latency whose GPU nobody profiled for the training data.
MARK = "*"


def is_rough(basis: str) -> bool:
    """True for a latency on a GPU that nobody profiled."""
    return basis in ("derived", "transferred")


def say_basis(rows: Sequence[StepTime]) -> None:
    """What the marks mean, and what each such number rests on."""
    rough = [row for row in rows if is_rough(row.basis)]
    if not rough:
        return
    kinds = dict.fromkeys(row.basis for row in rough)
    st.caption("\\* " + "; ".join(f"**{SHORT_BASIS[kind]}**: {BASIS_WORDS[kind]}" for kind in kinds) + ".")
    with st.expander("What derived times and estimates rest on"):
        st.markdown("\n".join(f"- **{plain(names)}**: {plain(note)}" for note, names in _by_note(rough).items()))


def _by_note(rows: Sequence[StepTime]) -> dict[str, str]:
    """Note -> the instances it holds for."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.note, []).append(row.instance)
    return {note: ", ".join(names) for note, names in found.items()}
