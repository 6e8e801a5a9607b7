"""The batch-size and image-size sliders of the training."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ui.state.held import held_in
from ui.state.resources import Resources
from ui.state.session import session

#: Stops of the sliders on a logarithmic scale: four per doubling.
_STOPS = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256)
STOPS = {"batch": (16, 20, 24, 28, *_STOPS), "pixels": _STOPS}
#: The same on a linear scale.
_LINEAR = {axis: tuple(range(stops[0], stops[-1] + 1, 16)) for axis, stops in STOPS.items()}
SIZE_LABELS = {"batch": "Batch size", "pixels": "Image size (pixels)"}
_META = {"batch": "batch_size", "pixels": "pixels"}


def size_sliders(resources: Resources, *, log: bool = True) -> None:
    """Both sliders side by side; each is the training's size, the profile's own until it is moved.

    Parameters
    ----------
    log : stops are evenly spaced on a logarithmic scale, else on a linear one.
    """
    for column, axis in zip(st.columns(2, gap="medium"), STOPS, strict=True):
        with column:
            size_slider(axis, recorded_size(resources, axis), log=log)


def recorded_size(resources: Resources, axis: str) -> int | None:
    """The size the profile was recorded at, as it says or the visitor does; None: not known."""
    found: int | None = getattr(held_in(resources, session.profile).profile.meta, _META[axis])
    return found or getattr(session.network, f"profiled_{axis}")


def size_slider(axis: str, recorded: int | None, *, log: bool = True) -> int | None:
    """The size along an axis; None while the profile's own size is not known."""
    if recorded is None:
        st.select_slider(
            SIZE_LABELS[axis],
            STOPS[axis],
            key=f"slider:{axis}:off",
            disabled=True,
            help=f"Enter the {'batch' if axis == 'batch' else 'image'} size of the profile in the sidebar first.",
        )
        return None
    chosen = getattr(session.training, axis) or recorded
    key = f"slider:{axis}"
    here = (chosen, session.link.link_page)
    if st.session_state.get(f"{key}:drawn") != here or st.session_state.get(key) != chosen:
        # Only then, and on another page: what is written here replaces what the visitor moves meanwhile.
        st.session_state[key], st.session_state[f"{key}:drawn"] = chosen, here

    def choose() -> None:
        moved = st.session_state[key]
        setattr(session.training, axis, None if moved == recorded else moved)

    st.select_slider(
        SIZE_LABELS[axis],
        size_stops(axis, recorded, chosen, log=log),
        key=key,
        on_change=choose,
        help=None if chosen == recorded else f"The profile was recorded at {recorded}; {_SCALED[axis]}",
    )
    return st.session_state[key]


_SCALED = {
    "batch": "other sizes are scaled from it.",
    "pixels": "other sizes are scaled from it, as networks with more classes at larger images.",
}


def size_stops(axis: str, *more: int, log: bool = True) -> Sequence[int]:
    """The stops with the sizes that must be among them: they extend the range."""
    return sorted({*(STOPS if log else _LINEAR)[axis], *more})
