"""What a server does for all its visitors: loads before they come, and keeps the garbage collector off what lasts."""

from __future__ import annotations

import gc
import importlib
from pathlib import Path
from threading import Lock

from profet_core import predict
from ui.state.resources import load_resources

_PAGES = Path(__file__).parents[2] / "pages"
_lasting: set[str] = set()
_lock = Lock()


def warm_up() -> None:
    """Load what all visitors share, and the pages' modules."""
    resources = load_resources()
    sample = next(iter(resources.samples.values()))
    predict(resources.models, resources.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    for path in sorted(_PAGES.glob("*/*.py")):
        # A page itself is a script that Streamlit runs; the others are its parts.
        if path.stem != path.parent.name:
            importlib.import_module(f"pages.{path.parent.name}.{path.stem}")
    keep_from_collector("what is loaded before the first visitor")


def keep_from_collector(what: str) -> None:
    """Freeze what lives now; once for each `what`, such as a page whose first run has loaded what it needs.

    Streamlit collects garbage after every action, through every object that lives, and nearly all of them are modules,
    models and tables that never die: 100,000 objects for each click of each visitor. Frozen ones are not gone through.
    """
    with _lock:
        if what in _lasting:
            return
        _lasting.add(what)
    gc.collect()
    gc.freeze()
