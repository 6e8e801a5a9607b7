"""The part of Accuracy on other batch and pixel sizes: how far off a carried latency was, by the distance."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.about.accuracy.percents import percent_in_text
from profet_core.accuracy.validation import GrowthAccuracy
from ui.tables import or_missing, show_table

_KNOWN = {
    "carried": "its latency there, at another size",
    "chain": "one profile, on another GPU and at another size",
    "between": "its latencies at both ends",
}
_AXES = {"batch": "Batch size", "pixels": "Pixel size", "both": "Both"}


def show_sizes(growth: Sequence[GrowthAccuracy]) -> None:
    """Words first, then the table."""
    st.markdown(
        "Each network was left out in turn, and its latency carried from one measured size to another, or predicted "
        "from one profile and carried there. Sizes measured: 16, 32, 64, 128, 256 images; 32, 64, 128, 224, 256 pixels."
    )
    show_table([_row(one) for one in growth], "Other sizes: how far off carried latencies were")
    st.caption(
        "Steps: measured sizes away. In proportion: the error if time grew as the images or the area do. Along pixels "
        "the measured networks' classes grow with the pictures."
    )


def _row(one: GrowthAccuracy) -> dict[str, str]:
    return {
        "Known": _KNOWN.get(one.known, one.known),
        "Along": _AXES.get(one.axis, one.axis),
        "Steps": "all" if one.knots is None else f"{one.knots}",
        "Mean error": percent_in_text(one.error),
        "In proportion": or_missing(one.proportional, percent_in_text),
        "Inside the 90 % interval": percent_in_text(one.covered),
        "Its half width": f"± {percent_in_text(one.half_width)}",
        "Predictions": f"{one.n:,}",
    }
