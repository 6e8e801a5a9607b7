"""How far a recording is, for whoever watches the training."""

from __future__ import annotations

import sys


def print_progress(text: str) -> None:
    """One line on stderr: stdout belongs to the user's training."""
    print(f"profet: {text}", file=sys.stderr, flush=True)
