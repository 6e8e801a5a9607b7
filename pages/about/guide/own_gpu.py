"""How a GPU of one's own is measured and trained on."""

from __future__ import annotations

from pathlib import Path

from ui.state.resources import Resources
from ui.surer import quick_row
from ui.texts import show_text

_TEXTS = Path(__file__).parent


def show_own_gpu(resources: Resources) -> None:
    """The commands, and what error to expect where that was measured."""
    row = quick_row(resources)
    error = (
        "" if row is None else f"With {row.cells} steps measured, GPUs were **{row.mean:.1f}\N{NO-BREAK SPACE}%** off."
    )
    show_text(_TEXTS / "own_gpu.md", error=error)
