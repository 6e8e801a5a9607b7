"""Says what a latency rests on, so that what nobody profiled never looks like what was measured."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from profet_core.latency import Basis, StepTime
from ui.errors import plain

#: Short enough for a table; `Basis.words` stands below it.
SHORT_BASIS = {
    Basis.GIVEN: "your measurement",
    Basis.MEASURED: "predicted",
    Basis.DERIVED: "derived, biased",
    Basis.TRANSFERRED: "rough estimate",
    Basis.CARRIED: "carried over",
}
BADGES = {
    Basis.DERIVED: ":orange-badge[derived, biased source]",
    Basis.TRANSFERRED: ":red-badge[rough estimate: GPU never profiled]",
    Basis.CARRIED: ":gray-badge[carried to this batch size]",
}
#: Marks, in charts, a latency whose GPU nobody profiled for the training data.
MARK = "*"


def say_basis(rows: Sequence[StepTime]) -> None:
    """What the marks mean, and what each such number rests on."""
    rough = [row for row in rows if row.basis.is_rough]
    if not rough:
        return
    kinds = dict.fromkeys(row.basis for row in rough)
    st.caption("\\* " + "; ".join(f"**{SHORT_BASIS[kind]}**: {kind.words}" for kind in kinds) + ".")
    with st.expander("What derived times and estimates rest on"):
        st.markdown("\n".join(f"- **{plain(names)}**: {plain(note)}" for note, names in _by_note(rough).items()))


def _by_note(rows: Sequence[StepTime]) -> dict[str, str]:
    """Note -> the instances it holds for."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.note, []).append(row.instance)
    return {note: ", ".join(names) for note, names in found.items()}
