"""What Cost and Advise begin with: the prediction, and what is to be trained, at which batch size and which prices."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from profet_core import NoPredictionError, check_profiled_batch
from profet_core.scaling.axes import axis_range
from profet_core.units import format_usd
from ui.cost_latencies import why_not_scaled
from ui.errors import show_warning
from ui.inputs.fields import choice
from ui.inputs.number_field import number_field, whole_field
from ui.inputs.own_instances import own_instances_input
from ui.inputs.recorded import latency_question
from ui.paths import page_path
from ui.phrases import profile_phrase, shown_name
from ui.predicted.measured import predict_measured
from ui.predicted.outcome import Outcome
from ui.state.held import held_in
from ui.state.resources import Resources
from ui.state.settings import BATCH_FROM, MAX_EPOCHS, MAX_IMAGES, price_key
from ui.state.slots import PREDICT_SLOT
from ui.texts import plain


def predicted_on_predict(resources: Resources) -> Outcome:
    """Predict's prediction, with what it is for and what to keep in mind about it.

    Raises
    ------
    NoPredictionError : nothing can be predicted from Predict's profile.
    """
    try:
        outcome = predict_measured(resources)
    except NoPredictionError:
        _show_profile(shown_name(held_in(resources, PREDICT_SLOT)))
        raise
    _show_profile(profile_phrase(outcome))
    latency_question(resources, PREDICT_SLOT, outcome)
    for line in outcome.prediction.warnings:
        show_warning(line)
    return outcome


def training_inputs() -> None:
    """Images, validation images and epochs."""
    images, validation, epochs = st.columns(3, gap="medium")
    with images:
        whole_field("Training images per epoch", "images", 1, MAX_IMAGES)
    with validation:
        whole_field(
            "Validation images per epoch",
            "validation_images",
            0,
            MAX_IMAGES,
            tip="A validation step runs forward only; it is counted as a third of a training step.",
        )
    with epochs:
        whole_field("Epochs", "epochs", 1, MAX_EPOCHS)


def batch_inputs(resources: Resources, outcome: Outcome) -> None:
    """The batch size of the profile, or another one where both ends of the batch axis are known."""
    recorded = outcome.held.profile.meta.batch_size
    reason = why_not_scaled(resources, outcome)
    if reason:
        st.session_state["batch_from"] = "profiled"
    left, right = st.columns(2, gap="medium")
    labels = {
        "profiled": f"As profiled ({recorded})" if recorded else "As profiled",
        "scaled": "Another one (from Scale)",
    }
    with left:
        choice("Batch size", "batch_from", BATCH_FROM, labels, disabled=bool(reason))
    if reason:
        left.caption(f"Fixed: {plain(reason)}")
        left.page_link(page_path("scale"), label="Give both ends on Scale", icon=":material/show_chart:")
    with right:
        if st.session_state["batch_from"] == "scaled":
            st.slider("Images per step", *axis_range("batch"), key="batch", persist_state="session")
        elif recorded is None:
            whole_field(
                "Batch size the profile was recorded at",
                "profiled_batch",
                1,
                MAX_IMAGES,
                empty="the profile doesn't say",
            )


def profiled_batch(outcome: Outcome) -> int | None:
    """The batch size that the prediction belongs to; None where the costs come from Scale."""
    if st.session_state["batch_from"] == "scaled":
        return None
    recorded = outcome.held.profile.meta.batch_size
    return check_profiled_batch(None if recorded else st.session_state.get("profiled_batch"), recorded)


def _show_profile(phrase: str) -> None:
    st.markdown(f"For {phrase}.")
    st.page_link(page_path("predict"), label="Change the profile on Predict", icon=":material/arrow_back:")


def own_prices(resources: Resources, names: Sequence[str]) -> dict[str, float]:
    """A field for a price of one's own for each instance; returns those that were given, US dollars an hour."""
    own: dict[str, float] = {}
    with st.expander("Own prices and instances"):
        own_instances_input(resources)
        st.caption("US dollars an hour for one instance, such as a reserved or spot price. Empty: the list price.")
        columns = st.columns(2, gap="medium")
        for index, name in enumerate(names):
            entry = resources.catalog[name]
            with columns[index % 2]:
                label = f"{name} (list: {format_usd(entry.usd_per_hour)})"
                price = number_field(label, price_key(name), unit="$", empty="list price")
                if price is not None:
                    own[name] = price
    return own
