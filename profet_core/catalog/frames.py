"""Answers as pandas tables; pandas is imported on first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from profet_core.errors import InputError

if TYPE_CHECKING:
    from profet_core.catalog.instance import Instance
    from profet_core.latency import StepTime


def frame_of(rows: Iterable[Mapping[str, object]]) -> Any:
    """A `pandas.DataFrame` with one column for each key.

    Raises
    ------
    InputError : pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise InputError("to_frame() needs pandas: pip install pandas.") from None
    return pandas.DataFrame(list(rows))


def offer_cells(offer: Instance) -> dict[str, object]:
    """Instance and price of an offer; US dollars per hour of the whole machine."""
    columns = ("provider", "gpu", "gpu_count", "region", "market", "usd_per_hour", "status")
    return {"instance": offer.name, **{column: getattr(offer, column) for column in columns}}


def step_cells(step: StepTime) -> dict[str, object]:
    """A step latency with its prediction interval, milliseconds per step, and its basis."""
    interval = step.interval
    return {
        "latency_ms": step.latency_ms,
        "low_ms": interval and interval.low_ms,
        "high_ms": interval and interval.high_ms,
        "basis": str(step.basis),
        "note": step.note,
    }
