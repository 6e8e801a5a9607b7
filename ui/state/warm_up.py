"""What a server does before its visitors come: loads what they share, and keeps the garbage collector off it."""

from __future__ import annotations

import gc
import importlib
from pathlib import Path

from profet_core import predict
from ui.state.resources import load_resources

_PAGES = Path(__file__).parents[2] / "pages"


def warm_up() -> None:
    """Load what all visitors share, and the pages' modules."""
    resources = load_resources()
    sample = next(iter(resources.samples.values()))
    predict(resources.models, resources.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    for path in sorted(_PAGES.glob("*/*.py")):
        # A page itself is a script that Streamlit runs; the others are its parts.
        if path.stem != path.parent.name:
            importlib.import_module(f"pages.{path.parent.name}.{path.stem}")
    # What is loaded lasts; when Python collects garbage, it need not go through it.
    gc.collect()
    gc.freeze()
