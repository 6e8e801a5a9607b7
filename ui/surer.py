"""How to get a better prediction for an unprofiled GPU: measure steps on it."""

from __future__ import annotations

import streamlit as st

from profet_core import ArtifactError
from profet_core.accuracy.cells import CellsRow, load_cells_rows, with_cells
from profet_core.latency import Basis
from ui.state.resources import Resources

#: About what `profet collect --quick` measures at least.
QUICK_CELLS = 20
#: Bases of GPUs without measurements.
_UNMEASURED = (Basis.TRANSFERRED, Basis.DERIVED)


def can_be_surer(basis: Basis) -> bool:
    """Whether measured steps would improve a latency on this basis."""
    return basis in _UNMEASURED


def surer_sentence(resources: Resources) -> str:
    """The command to run on the GPU, and the error to expect, as markdown."""
    row = quick_row(resources)
    command = "`profet collect --quick` on such a GPU"
    if row is None:
        return f"{command}."
    return f"{command}: with {row.cells} measured steps, the mean error was {row.mean:.1f}%."


def quick_row(resources: Resources) -> CellsRow | None:
    """Errors with `QUICK_CELLS` measurements; None if the models have no report."""
    try:
        return with_cells(_loaded_cells(str(resources.models.folder)), QUICK_CELLS)
    except ArtifactError:
        return None


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded_cells(folder: str) -> tuple[CellsRow, ...]:
    return load_cells_rows(folder)
