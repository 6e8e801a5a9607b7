"""How a profile is recorded."""

from __future__ import annotations

from pathlib import Path

from ui.state.resources import Resources
from ui.texts import show_text

_TEXTS = Path(__file__).parent


def show_recorder(_: Resources) -> None:
    """The recorder, and recording by hand."""
    show_text(_TEXTS / "record.md")
    show_text(_TEXTS / "by_hand.md")
