"""How far a recording is, for whoever watches the training."""

from __future__ import annotations

import os
import sys


def is_first_process() -> bool:
    """False in all but the first of the processes that a launcher such as torchrun started: one speaks and writes."""
    return os.environ.get("RANK", "0") in ("", "0")


def print_progress(text: str) -> None:
    """One line on stderr: stdout belongs to the user's training."""
    if is_first_process():
        print(f"profet: {text}", file=sys.stderr, flush=True)
