"""Sizes: what the batch and the pixel size do to time and cost, from one profile or two, on every GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.sizes.columns import size_columns
from pages.sizes.figure import size_curves
from pages.sizes.rows import SizeRow, size_row, usual_offers
from pages.sizes.typed import typed_curves, typed_inputs
from profet_core import InputError
from profet_core.advice.request import Workload
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.scaling.axes import KNOTS, axis_range
from profet_core.training.sizes import curves_at
from ui.charts.style import show_chart
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.inputs.network import batch_question, network_input, second_input
from ui.inputs.offers import chosen_offers
from ui.inputs.recorded import latency_question
from ui.inputs.training import size_slider, workload_input
from ui.memory import fits_of
from ui.notices import show_notices
from ui.predicted.network import Network, current_network
from ui.result_table.show import result_table
from ui.state.page_keys import sizes_keys
from ui.state.resources import Resources
from ui.state.settings import AXES, EACH_AT, ENDS, SHOWS, SIZES_TABLE
from ui.state.slots import PROFILE_SLOT

#: Where the curves are computed: evenly in the logarithm, and at every measured size.
_GRID = {axis: sorted({*KNOTS[axis], *(round(size) for size in np.geomspace(*axis_range(axis), 25))}) for axis in KNOTS}
_AXIS_LABELS = {"batch": "Batch size", "pixels": "Pixel size"}
_SHOWS_LABELS = {"latency": "Step", "images": "Images a second", "time": "Time", "cost": "Cost"}
_ENDS_LABELS = {"profiles": "A profile", "typed": "Measured steps"}


@dataclass(frozen=True, slots=True)
class _Source:
    """Where steps at any size come from, and the training that they are of.

    Attributes
    ----------
    network : None where the latencies were typed.
    """

    network: Network | None
    batch_size: int
    pixels: int | None

    def curves(self, resources: Resources, axis: str, sizes: Sequence[int]) -> Mapping[str, tuple[StepTime, ...]]:
        """Instance -> its step at each size of the axis."""
        if self.network is None:
            return typed_curves(resources, axis, sizes)
        other = self.pixels if axis == "batch" else self.batch_size
        return curves_at(resources.models, self.network.known, axis, sizes, other)

    def workload(self, axis: str, size: int) -> Workload:
        """The training at one size of the axis."""
        state = st.session_state
        batch_size = size if axis == "batch" else self.batch_size
        return Workload(state["images"], batch_size, state["epochs"], state["validation_images"], state["loading"])


def body(resources: Resources) -> None:
    """Draw the page."""
    with st.sidebar:
        _inputs(resources)
    st.title("What do batch and pixel size do?")
    with st.container(horizontal=True, gap="medium"):
        choice("Size", "axis", AXES, _AXIS_LABELS)
        choice("Show", "shows", SHOWS, _SHOWS_LABELS)
    axis = st.session_state["axis"]
    source = _source(resources)
    if source.network is not None and axis == "pixels" and source.pixels is None:
        raise InputError("The profile doesn't say its pixel size: record it with the recorder, or look at batch sizes.")
    _view(resources, source, axis)


def _inputs(resources: Resources) -> None:
    choice("Curves from", "ends", ENDS, _ENDS_LABELS)
    if st.session_state["ends"] == "typed":
        typed_inputs(resources, st.session_state["axis"])
    else:
        network_input(resources)
        second_input(resources)
    workload_input()


def _source(resources: Resources) -> _Source:
    state = st.session_state
    if state["ends"] == "typed":
        return _Source(None, state["batch"] or axis_range("batch")[0], None)
    network = current_network(resources)
    latency_question(resources, PROFILE_SLOT, network.outcome)
    batch_question(network.outcome.held)
    show_notices(network)
    return _Source(network, network.sure_batch_size, network.pixels)


def _view(resources: Resources, source: _Source, axis: str) -> None:
    """The slider, the curves and what they say at its size."""
    at = size_slider(axis, source.batch_size if axis == "batch" else source.pixels)
    offers = usual_offers(chosen_offers(resources), include_retired=st.session_state["retired"])
    sizes = sorted({*_GRID[axis], at})
    steps = {name: found for name, found in source.curves(resources, axis, sizes).items() if name in offers}
    if not steps:
        st.info("Give an instance's latency at both ends to see its curve.")
        return
    fits = _fits(resources, source, axis, at, steps)
    rows = {
        name: [
            size_row(step, offers[name], source.workload(axis, size), fits.get(name))
            for step, size in zip(found, sizes, strict=True)
            if step.latency_ms is not None
        ]
        for name, found in steps.items()
    }
    rows = {name: by_size for name, by_size in rows.items() if len(by_size) == len(sizes)}
    show_chart(size_curves(rows, sizes, axis, at, st.session_state["shows"]), "curves")
    _table(resources, source, axis, at, {name: by_size[sizes.index(at)] for name, by_size in rows.items()})


def _table(resources: Resources, source: _Source, axis: str, at: int, rows: Mapping[str, SizeRow]) -> None:
    """Every GPU at the slider's size, or each at the largest batch that fits in its memory."""
    shown = list(rows.values())
    if axis == "batch" and source.network is not None:
        choice("Each GPU at", "each_at", EACH_AT, {"size": f"Batch {at}", "largest": "Its largest batch that fits"})
        if st.session_state["each_at"] == "largest":
            shown = _at_largest(resources, source, rows)
    result_table(
        shown,
        size_columns(),
        key=SIZES_TABLE.table,
        stem=f"profet-{axis}-{at}",
        title="Every GPU at this size",
        row_key=lambda row: row.instance,
    )
    if axis == "pixels":
        st.caption(
            "In the measurements a larger picture goes with more classes (32 pixels: 10; 64 and 128: 100; 224 and 256: "
            "1000), so these curves include a growing last layer."
        )


def _at_largest(resources: Resources, source: _Source, rows: Mapping[str, SizeRow]) -> list[SizeRow]:
    """Each GPU at the largest batch that fits in its memory, as far as steps are carried; others are left out."""
    found = []
    for name, row in rows.items():
        largest = row.fit and row.fit.largest_batch
        if not largest or largest < axis_range("batch")[0]:
            continue
        batch_size = min(largest, axis_range("batch")[1])
        (step,) = source.curves(resources, "batch", [batch_size])[name]
        found.append(size_row(step, row.plan.offer, source.workload("batch", batch_size), row.fit))
    return found


def _fits(
    resources: Resources, source: _Source, axis: str, at: int, instances: Iterable[str]
) -> Mapping[str, FitAnswer]:
    """Instance -> whether a step of that size fits there; nothing where no profile tells."""
    if source.network is None:
        return {}
    batch_size, pixels = (at, source.pixels) if axis == "batch" else (source.batch_size, at)
    return fits_of(resources, source.network.outcome, instances, batch_size, pixels)


run_page(body, sizes_keys)
