"""Shows what a latency rests on, so that what nobody profiled never looks like what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from profet_core.latency import Basis, StepTime
from ui.texts import plain

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
RETIRED_BADGE = ":gray-badge[retired]"
#: Marks, in charts, a latency whose GPU nobody profiled for the training data.
MARK = "*"


def marked(label: str, basis: Basis) -> str:
    """An instance's label for a chart."""
    return f"{label}{MARK}" if basis.is_rough else label


def basis_line(kinds: Iterable[Basis]) -> str:
    """What the short words in a table mean, each once."""
    return "; ".join(f"**{SHORT_BASIS[kind]}**: {kind.words}" for kind in dict.fromkeys(kinds)) + "."


def show_basis(rows: Iterable[StepTime]) -> None:
    """What the marks mean, and what each such number rests on."""
    rough = [row for row in rows if row.basis.is_rough]
    if not rough:
        return
    st.caption(f"\\{MARK} {basis_line(row.basis for row in rough)}")
    show_notes({names: note for note, names in _by_note(rough).items()})


def show_notes(notes: Mapping[str, str]) -> None:
    """What derived and transferred latencies rest on, instance by instance."""
    with st.expander("What derived times and estimates rest on"):
        st.markdown("\n".join(f"- **{plain(names)}**: {plain(note)}" for names, note in notes.items()))


def _by_note(rows: Sequence[StepTime]) -> dict[str, str]:
    """Note -> the instances it holds for."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.note, []).append(row.instance)
    return {note: ", ".join(names) for note, names in found.items()}
