"""Says how sure a prediction is: its interval, and how far the profile lies from the training data."""

from __future__ import annotations

import streamlit as st

from profet_core import Prediction
from ui.paths import page_path
from ui.state.resources import Resources

_BADGE_COLOURS = {"like": "green", "somewhat unlike": "orange"}


def interval_title(prediction: Prediction) -> str:
    """What the error bars of a chart are, for its title; empty without intervals."""
    return "" if prediction.interval_level is None else f", {prediction.interval_level:.0%} interval"


def show_likeness(prediction: Prediction) -> None:
    """How like the training data the profile is, and what that did to the error; nothing where a warning says it."""
    likeness = prediction.likeness
    if likeness is None or likeness.warned_of:
        return
    colour = _BADGE_COLOURS.get(likeness.words, "gray")
    far = "this close" if likeness.words == "like" else "this far off"
    st.markdown(
        f"This profile is :{colour}-badge[{likeness.words} the training data]: left-out networks {far} were predicted "
        f"with a mean error of {likeness.error_words}."
    )


def show_interval(resources: Resources, prediction: Prediction) -> None:
    """What the interval promises, and what it doesn't; or that this method has none."""
    if prediction.interval_level is None:
        st.caption("The documented ensemble has no interval; the default method has.")
        return
    count = len(resources.models.manifest["training_data"]["architectures"])
    rough = any(row.basis.is_rough for row in prediction.predictions)
    st.caption(
        f"Interval: {prediction.interval_level:.0%} of predictions on left-out architectures fell inside. With {count} "
        "architectures that is no guarantee for each new network. It is wider for profiles unlike the data."
        + (" Of instances marked \\* it rests on an assumption, named below the table." if rough else "")
    )
    st.page_link(page_path("about"), label="How far off it was, and when not to trust it", icon=":material/rule:")
