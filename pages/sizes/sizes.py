"""Sizes: what the batch and the pixel size do to time and cost, from one profile or two, on every GPU."""

from __future__ import annotations

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.sizes.columns import size_columns
from pages.sizes.figure import size_curves
from pages.sizes.source import Source
from pages.sizes.typed import size_words, typed_inputs
from pages.sizes.view import SizesView
from profet_core import InputError
from profet_core.scaling.axes import KNOTS, axis_range
from ui.charts.style import show_chart
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.inputs.narrowing import narrowing_input
from ui.inputs.network import network_input, second_input, size_questions
from ui.inputs.offers import chosen_instances
from ui.inputs.recorded import latency_question
from ui.inputs.table_rows import plans_with_a_mark, plans_with_a_row, rows_choice
from ui.inputs.training import size_slider, workload_input
from ui.live import live_part, live_view
from ui.notices import show_notices
from ui.predicted.network import current_network
from ui.result_table.show import result_table
from ui.state.page_keys import sizes_keys
from ui.state.resources import Resources
from ui.state.settings import AXES, EACH_AT, ENDS, SHOWS, SIZES_TABLE
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT

#: Where the curves are computed: evenly in the logarithm, and at every measured size.
_GRID = {axis: sorted({*KNOTS[axis], *(round(size) for size in np.geomspace(*axis_range(axis), 25))}) for axis in KNOTS}
_OTHER = {"batch": "pixels", "pixels": "batch"}
_AXIS_LABELS = {"batch": "Batch size", "pixels": "Pixel size"}
_SHOWS_LABELS = {"latency": "Step", "images": "Images a second", "time": "Time", "cost": "Cost"}
_ENDS_LABELS = {"profiles": "A profile", "typed": "Measured steps"}


def body(resources: Resources) -> None:
    """Draw the page."""
    with st.sidebar:
        _inputs(resources)
    st.title("What do batch and pixel size do?")
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        choice("Size", "axis", AXES, _AXIS_LABELS)
        choice("Show", "shows", SHOWS, _SHOWS_LABELS)
        narrowing_input(resources)
        rows_place = st.container(width="content")
    axis = st.session_state["axis"]
    source = _source(resources)
    if source.network is not None and axis == "pixels" and source.pixels is None:
        raise InputError("The profile doesn't say its pixel size: give the pixel size it was recorded at.")
    _view(resources, source, axis, rows_place)


def _inputs(resources: Resources) -> None:
    choice("Curves from", "ends", ENDS, _ENDS_LABELS)
    if st.session_state["ends"] == "typed":
        typed_inputs(resources, st.session_state["axis"])
    else:
        network_input(resources)
        second_input(resources)
    workload_input()


def _source(resources: Resources) -> Source:
    state = st.session_state
    if state["ends"] == "typed":
        return Source(None, state["batch"] or axis_range("batch")[0], None)
    network = current_network(resources)
    latency_question(resources, PROFILE_SLOT, network.outcome)
    if network.second is not None:
        latency_question(resources, SECOND_SLOT, network.second)
    pixels_too = state["axis"] == "pixels" or state["pixels"] is not None
    size_questions(network.outcome.held, pixels_too=pixels_too)
    show_notices(network)
    pixels = None if network.pixels is None else network.chosen_pixels
    return Source(network, state["batch"] or network.sure_batch_size, pixels)


def _view(resources: Resources, source: Source, axis: str, rows_place: DeltaGenerator) -> None:
    """The curves, and what they say at the slider's size.

    Parameters
    ----------
    rows_place : where it is asked how many offers are shown.
    """
    offers = chosen_instances(resources, SIZES_TABLE.open_row)
    every = SizesView(resources, source, axis, offers)
    plans = every.plans()
    if not plans:
        st.info("Give an instance's latency at both ends to see its curve.")
        return
    with rows_place:
        rows_choice(plans)
    kept = [plan for plan in plans if plan.instance in (source.anchor, SIZES_TABLE.open_row)]
    view = every.narrowed(plans_with_a_row(plans, kept))
    rows = every.narrowed(plans_with_a_mark(plans, kept)).rows(_GRID[axis])
    chosen = SIZES_TABLE.open_row if SIZES_TABLE.open_row in rows else ""
    figure = size_curves(
        rows, _GRID[axis], axis, st.session_state["shows"], largest_fit=view.largest_fits(list(rows)), chosen=chosen
    )
    with live_view("curves"):
        show_chart(figure, "curves")
        live_part(lambda: _at_slider(view, chosen), resources, sizes_keys)
    if source.network is not None and source.other(axis) != source.recorded(_OTHER[axis]):
        st.caption(f"At {size_words(_OTHER[axis], source.other(axis) or 0)}, as chosen on Answer.")
    if axis == "pixels":
        st.caption(
            "In the measurements a larger picture goes with more classes (32 pixels: 10; 64 and 128: 100; 224 and 256: "
            "1000), so these curves include a growing last layer."
        )


def _at_slider(view: SizesView, chosen: str) -> None:
    """The slider, and every GPU at its size, or each at the largest batch that fits in its memory.

    Parameters
    ----------
    chosen : the row that was open when the curves were drawn.
    """
    source, axis = view.source, view.axis
    at = size_slider(axis, source.recorded(axis))
    rows = view.rows_at(at)
    if axis == "batch" and source.network is not None:
        choice("Each GPU at", "each_at", EACH_AT, {"size": f"Batch {at}", "largest": "Its largest batch that fits"})
        if st.session_state["each_at"] == "largest":
            rows = view.at_largest(rows)
    opened = result_table(
        rows,
        size_columns(),
        key=SIZES_TABLE.table,
        stem=f"profet-{axis}-{at}",
        title="Every GPU at this size",
        row_key=lambda row: row.instance,
    )
    if (opened.instance if opened else "") != chosen:
        # Its interval is drawn with the curves.
        st.rerun()


run_page(body, sizes_keys)
