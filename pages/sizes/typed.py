"""Latencies that the visitor measured at both ends of an axis, and the steps between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from profet_core.latency import StepTime, carried_steps
from profet_core.scaling.axes import axis_range
from profet_core.training.carried import carried_latencies
from profet_core.training.ends import AxisEnds
from ui.errors import show_errors
from ui.inputs.number_field import number_field
from ui.state.resources import Resources
from ui.state.settings import typed_end_key


def size_words(axis: str, size: int) -> str:
    """'batch 64', '128 pixels'."""
    return f"batch {size}" if axis == "batch" else f"{size} pixels"


def typed_inputs(resources: Resources, axis: str) -> None:
    """Two fields for each measured instance."""
    words = [size_words(axis, size) for size in axis_range(axis)]
    for name in resources.models.instances:
        for column, end, at in zip(st.columns(2, gap="small"), ("min", "max"), words, strict=True):
            with column:
                number_field(f"{name}, {at} (ms)", typed_end_key(axis, end, name), unit="ms", empty="not known")


def typed_curves(resources: Resources, axis: str, sizes: Sequence[int]) -> Mapping[str, tuple[StepTime, ...]]:
    """Instance -> its step at each size, where both ends were typed."""
    ends = AxisEnds(axis, _typed(resources, axis, "min"), _typed(resources, axis, "max"))
    found = carried_latencies(resources.models, ends, sizes)
    show_errors(found.problems)
    at_sizes = zip(*found.latencies_ms.values(), strict=True)
    steps = [carried_steps(dict(zip(found.latencies_ms, at_size, strict=True)), ()) for at_size in at_sizes]
    return {name: tuple(at_size[place] for at_size in steps) for place, name in enumerate(found.latencies_ms)}


def _typed(resources: Resources, axis: str, end: str) -> dict[str, float]:
    values = {name: st.session_state.get(typed_end_key(axis, end, name)) for name in resources.models.instances}
    return {name: value for name, value in values.items() if value is not None}
