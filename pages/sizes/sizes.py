"""Sizes: latency and cost over batch and image size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core.answers.advise import advise_training
from profet_core.answers.sizes import SizeCurve, SizesAnswer, answer_sizes, at_largest_batch
from profet_core.catalog.instance import gpu_words, price_line
from profet_core.errors import Code
from profet_core.prediction.scaler import KNOTS, axis_range, sizes_for
from profet_core.training.memory import does_not_fit
from profet_core.training.plans import Plan
from profet_profiles.units import format_significant, format_time, format_usd, shared_time_unit
from ui.charts import COLORS, show_chart
from ui.columns import DOTS, size_columns
from ui.curves import LATENCY, Curve, Look, Shown, curves, show_basis_legend, size_axis, value_of
from ui.fields import SIZE_LABELS, choice, more_options, number_field, number_fields, size_sliders
from ui.frame import run_page
from ui.offers import chosen_rows, drawn_rows, offer_buttons, preset_choice, with_offers
from ui.predicted import current_network
from ui.profile import latency_question, network_input, second_input, show_notices
from ui.resources import Resources
from ui.session import session
from ui.tables import result_table
from ui.words import plain

#: Where curves are computed beside the chosen size: evenly in the logarithm, and at every measured size.
_GRID = {axis: {*KNOTS[axis], *(round(size) for size in np.geomspace(*axis_range(axis), 17))} for axis in KNOTS}
_SHOWN = {
    "latency": LATENCY,
    "images": Shown("Images/s", format_significant),
    "time": Shown("Training time", format_time, in_time=True),
    "cost": Shown("Training cost", format_usd, prefix="$"),
}


def sidebar(resources: Resources) -> None:
    """Ask what the curves depend on."""
    network_input(resources)
    number_fields("images", "epochs")
    more_options("sizes", partial(_other_inputs, resources))


def _other_inputs(resources: Resources) -> None:
    choice("scale")
    number_field("validation_images")
    second_input(resources)


def main(resources: Resources) -> None:
    """Draw sliders, curves and table."""
    axis, log = session.sizes.axis, session.sizes.scale == "log"
    size_sliders(resources)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="toolbar"):
        choice("axis")
        choice("shows")
        preset_choice()
        offer_buttons(resources)
    _show_curves(resources, axis, log=log)


def _show_curves(resources: Resources, axis: str, *, log: bool) -> None:
    network = current_network(resources)
    latency_question(network)
    show_notices(network, besides=(Code.MORE_CLASSES,))
    at = network.question.at_batch or network.batch_size if axis == "batch" else network.chosen_pixels
    recorded = (network.batch_size if axis == "batch" else network.training.prediction.pixels) or 0
    sizes = sizes_for(axis, recorded)
    # Every fourth of the larger sizes, where the profile's are larger.
    grid = _GRID[axis] | set(sizes[sizes.index(axis_range(axis)[1]) :: 4]) | ({at} if at in sizes else set())

    chart, below = st.container(), st.container(horizontal=True, gap="medium", vertical_alignment="bottom")

    def draw(rows: Sequence[Plan]) -> list[Plan]:
        with below:
            return drawn_rows(rows, keep=session.sizes_table.open)

    answer = answer_sizes(
        resources,
        advise_training(resources, with_offers(resources, network.question), network.training),
        axis,
        sorted(grid),
        choose=partial(chosen_rows, keep=session.sizes_table.open),
        draw=draw,
    )
    if not answer.curves:
        st.info("Nothing to show for these instances. Choose *All*, or clear the filter.", icon=":material/info:")
        return
    shows = session.sizes.shows
    rows = sorted(answer.curves, key=lambda curve: curve.row.total_usd)
    chosen = session.sizes_table.open
    chosen = chosen if chosen in [curve.row.label for curve in rows] else rows[0].row.label
    lines = [_curve(curve, answer.sizes, shows, chosen=curve.row.label == chosen) for curve in rows]
    x = size_axis(axis, answer.sizes, log=log)
    with chart:
        show_chart(curves(lines, _SHOWN[shows], x, log=log, at=at, labeled=True), "curves")
        show_basis_legend(lines, network.training.prediction.interval_level)
        if axis == "pixels" and max(answer.sizes) <= axis_range(axis)[1]:
            st.caption(
                "At other image sizes the number of classes changes too, as in the measured data (10 at 32 px, 1,000 "
                "at 224 px)."
            )
    _table(resources, answer, axis, at, below)


def _table(resources: Resources, answer: SizesAnswer, axis: str, at: int | None, above: DeltaGenerator) -> None:
    """Every instance at the chosen size, or each at its largest batch that fits."""
    keep = session.sizes_table.open
    if axis == "batch":
        with above:
            choice("each_at", {"size": f"Batch size {at}", "largest": "Largest batch that fits"})
    largest, chosen = axis == "batch" and session.sizes.each_at == "largest", chosen_rows(answer.advice.rows, keep=keep)
    rows = at_largest_batch(resources, answer.advice, chosen) if largest else answer.rows
    plans = sorted(rows, key=lambda row: (row.total_usd, row.total_s))
    result_table(
        plans,
        size_columns(shared_time_unit(plan.total_s for plan in plans), with_batch=largest),
        choices=session.sizes_table,
        sorted_by="training_usd",
        stem="profet-largest-batch" if largest else f"profet-{axis}-{at}",
        title=f"Every instance: {'largest batch that fits' if largest else f'{SIZE_LABELS[axis].lower()} {at}'}",
    )
    without = [row.offer.name for row in chosen if does_not_fit(row.fit)]
    if without and session.sizes.each_at == "size":
        shown, more = ", ".join(without[:4]), f" and {len(without) - 4} more" if len(without) > 4 else ""
        st.caption(plain(f"Doesn't fit in memory at this size: {shown}{more}."))
    st.caption(f"{DOTS} {price_line(plan.offer for plan in plans)}")


def _curve(curve: SizeCurve, sizes: Sequence[int], shows: str, *, chosen: bool) -> Curve:
    row, plans = curve.row, curve.points
    points = [value_of(plan, shows) for plan in plans]
    # A measurement is exact.
    ends = [
        span or (value, value) for (value, span), plan in zip(points, plans, strict=True) if span or plan.basis.is_exact
    ]
    return Curve(
        label=f"{gpu_words(row.offer)}{' (anchor)' * row.is_anchor}",
        look=Look(COLORS[row.basis.word]),
        sizes=sizes,
        values=[value for value, _ in points],
        ends=ends if len(ends) == len(points) else None,
        largest_fit=curve.largest_fit,
        chosen=chosen,
    )


run_page(
    "Latency and cost by size",
    main,
    lambda: (*session.prediction_inputs, session.training, session.offers, session.sizes, session.sizes_table),
    sidebar,
    alone=True,
)
