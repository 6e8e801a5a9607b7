"""How a GPU of one's own is measured and trained on."""

from __future__ import annotations

from pathlib import Path

from ui.measured_accuracy import cells_accuracy_of
from ui.state.resources import Resources
from ui.surer import QUICK_CELLS
from ui.texts import show_text

_TEXTS = Path(__file__).parent


def show_own_gpu(resources: Resources) -> None:
    """The commands, and what error to expect.

    Raises
    ------
    ArtifactError : nothing says what error.
    """
    accuracy = cells_accuracy_of(resources)
    row = accuracy.of(QUICK_CELLS) or accuracy.rows[0]
    show_text(_TEXTS / "own_gpu.md", cells=row.cells, error=f"{row.mean:.1f}\N{NO-BREAK SPACE}%")
