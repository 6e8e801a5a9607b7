"""The way to a surer number for a GPU that nobody profiled: steps measured on it, and what error they leave."""

from __future__ import annotations

import streamlit as st

from profet_core import ArtifactError
from profet_core.accuracy.cells import CellsRow
from profet_core.latency import Basis
from ui.measured_accuracy import cells_accuracy_of
from ui.paths import page_path
from ui.state.resources import Resources

#: About what `profet collect --quick` measures at least.
QUICK_CELLS = 20
#: What nobody measured on the GPU for these models.
_UNMEASURED = (Basis.TRANSFERRED, Basis.DERIVED)


def can_be_surer(basis: Basis) -> bool:
    """Whether steps measured on the GPU would say more than what a latency rests on."""
    return basis in _UNMEASURED


def surer_sentence(resources: Resources) -> str:
    """What to run on the GPU, and how far off GPUs were of which so much was known, as markdown."""
    row = quick_row(resources)
    command = "`profet collect --quick` on such a GPU"
    if row is None:
        return f"{command}."
    return f"{command}: with {row.cells} steps measured, GPUs were {row.mean:.1f}\N{NO-BREAK SPACE}% off."


def quick_row(resources: Resources) -> CellsRow | None:
    """Errors with so many cells; None where the models have no report of it."""
    try:
        return cells_accuracy_of(resources).of(QUICK_CELLS)
    except ArtifactError:
        return None


def surer_link() -> None:
    """The way to how that is done, which is told on About."""
    st.page_link(
        page_path("about"),
        label="Bring your own GPU",
        icon=":material/memory:",
        query_params={"open": "own_gpu"},
    )
