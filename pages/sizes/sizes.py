"""Sizes: what the batch and the pixel size do to time and cost, from one profile or two, on every GPU."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.sizes.columns import size_columns
from pages.sizes.figure import size_curves
from pages.sizes.rows import SizeRow, may_fit, size_row, usual_offers
from pages.sizes.typed import size_words, typed_curves, typed_inputs
from profet_core import InputError
from profet_core.advice.plans import Plan
from profet_core.advice.request import Workload
from profet_core.answers.narrowed import narrowed_rows
from profet_core.catalog import Instance
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.scaling.axes import KNOTS, axis_range
from profet_core.training.sizes import curves_at
from ui.charts.style import show_chart
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.inputs.narrowing import chosen_narrowing, narrowing_input
from ui.inputs.network import network_input, second_input, size_questions
from ui.inputs.offers import chosen_offers
from ui.inputs.recorded import latency_question
from ui.inputs.table_rows import plans_with_a_mark, plans_with_a_row, rows_choice
from ui.inputs.training import size_slider, workload_input
from ui.live import live_part, live_view
from ui.memory import fits_of
from ui.notices import show_notices
from ui.predicted.network import Network, current_network
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


@dataclass(frozen=True, slots=True)
class _Source:
    """Where steps at any size come from, and the training that they are of.

    Attributes
    ----------
    network : None where the latencies were typed.
    batch_size, pixels : of the training, as on Answer.
    """

    network: Network | None
    batch_size: int
    pixels: int | None

    def curves(
        self, resources: Resources, axis: str, sizes: Sequence[int], instances: Collection[str]
    ) -> Mapping[str, tuple[StepTime, ...]]:
        """Instance, of those that are wanted -> its step at each size of the axis."""
        if self.network is None:
            typed = typed_curves(resources, axis, sizes)
            return {name: steps for name, steps in typed.items() if name in instances}
        known = self.network.known
        return curves_at(resources.models, known, axis, sizes, self.other(axis), instances=instances)

    def other(self, axis: str) -> int | None:
        """The training's size along the other axis."""
        return self.pixels if axis == "batch" else self.batch_size

    def recorded(self, axis: str) -> int | None:
        """The profile's own size along an axis."""
        if self.network is None:
            return self.batch_size if axis == "batch" else self.pixels
        return self.network.sure_batch_size if axis == "batch" else self.network.pixels

    @property
    def anchor(self) -> str:
        """The instance that the profile is from; empty where latencies were typed."""
        return "" if self.network is None else self.network.outcome.prediction.anchor

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


def _source(resources: Resources) -> _Source:
    state = st.session_state
    if state["ends"] == "typed":
        return _Source(None, state["batch"] or axis_range("batch")[0], None)
    network = current_network(resources)
    latency_question(resources, PROFILE_SLOT, network.outcome)
    if network.second is not None:
        latency_question(resources, SECOND_SLOT, network.second)
    pixels_too = state["axis"] == "pixels" or state["pixels"] is not None
    size_questions(network.outcome.held, pixels_too=pixels_too)
    show_notices(network)
    pixels = None if network.pixels is None else network.chosen_pixels
    return _Source(network, state["batch"] or network.sure_batch_size, pixels)


def _view(resources: Resources, source: _Source, axis: str, rows_place: DeltaGenerator) -> None:
    """The curves, and what they say at the slider's size.

    Parameters
    ----------
    rows_place : where it is asked how many offers are shown.
    """
    offers = usual_offers(chosen_offers(resources, SIZES_TABLE.open_row), include_retired=st.session_state["retired"])
    every = _SizesView(resources, source, axis, offers)
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


@dataclass(frozen=True, slots=True)
class _SizesView:
    """What the page shows: steps along an axis, on the offers that count."""

    resources: Resources
    source: _Source
    axis: str
    offers: Mapping[str, Instance]

    def rows(self, sizes: Sequence[int]) -> dict[str, list[SizeRow]]:
        """Instance -> a row at each size, where its latency is known at all of them."""
        found = {}
        workloads = [self.source.workload(self.axis, size) for size in sizes]
        for name, steps in self.source.curves(self.resources, self.axis, sizes, self.offers).items():
            if all(step.latency_ms is not None for step in steps):
                offer = self.offers[name]
                found[name] = [size_row(step, offer, work, None) for step, work in zip(steps, workloads, strict=True)]
        return found

    def plans(self) -> list[Plan]:
        """The training at the recorded size, else the smallest one, on each offer; the cheapest first."""
        at = self.source.recorded(self.axis) or axis_range(self.axis)[0]
        rows = [by_size[0] for by_size in self.rows([at]).values()]
        sure = narrowed_rows(
            (row.step for row in rows), chosen_narrowing(self.resources), self.offers, self.source.anchor
        )
        names = {step.instance for step in sure}
        return [row.plan for row in sorted(rows, key=_by_cost) if row.instance in names]

    def narrowed(self, plans: Iterable[Plan]) -> _SizesView:
        """The view of these plans' instances alone."""
        return replace(self, offers={plan.instance: plan.offer for plan in plans})

    def rows_at(self, size: int) -> list[SizeRow]:
        """A row an instance at one size, with whether it fits there; the cheapest first."""
        rows = [by_size[0] for by_size in self.rows([size]).values()]
        fits = self._fits(size, [row.instance for row in rows])
        return sorted((replace(row, fit=fits.get(row.instance)) for row in rows), key=_by_cost)

    def at_largest(self, rows: Sequence[SizeRow]) -> list[SizeRow]:
        """Each GPU at the largest batch that fits in its memory, as far as steps are carried; others are left out."""
        smallest, most = axis_range("batch")
        found = []
        for row in rows:
            largest = row.fit and row.fit.largest_batch
            if largest and largest >= smallest:
                batch_size = min(largest, most)
                (step,) = self.source.curves(self.resources, "batch", [batch_size], [row.instance])[row.instance]
                offer = self.offers[row.instance]
                found.append(size_row(step, offer, self.source.workload("batch", batch_size), row.fit))
        return sorted(found, key=_by_cost)

    def largest_fits(self, instances: Sequence[str]) -> dict[str, int]:
        """Instance -> the largest measured size that may fit in its memory; absent where all may, 0 for none."""
        sizes = KNOTS[self.axis]
        by_size = {size: self._fits(size, instances) for size in sizes}
        found = {}
        for name in instances:
            beyond = [size for size, fits in by_size.items() if name in fits and not may_fit(fits[name])]
            if beyond:
                found[name] = max((size for size in sizes if size < min(beyond)), default=0)
        return found

    def _fits(self, size: int, instances: Iterable[str]) -> Mapping[str, FitAnswer]:
        """Instance -> whether a step of that size fits there; nothing where no profile tells."""
        network = self.source.network
        if network is None:
            return {}
        batch_size, pixels = (size, self.source.pixels) if self.axis == "batch" else (self.source.batch_size, size)
        return fits_of(self.resources, network.outcome, instances, batch_size, pixels, network.second)


def _by_cost(row: SizeRow) -> tuple[float, float]:
    return row.plan.total_usd, row.plan.total_s


def _at_slider(view: _SizesView, chosen: str) -> None:
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
