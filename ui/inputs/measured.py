"""Asks for a step latency that the visitor has measured on a target, and corrects the prediction by it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from profet_core import InputError
from profet_core.prediction.correction import correct_by_measurement
from profet_core.prediction.refusals import refusal
from ui.inputs.profile import latency_input, latency_question, profile_input
from ui.state.resources import Resources
from ui.state.session import Held, Outcome, held_in, predict_slot
from ui.state.settings import MEASURED_AT, MEASURED_SLOT, PREDICT_SLOT, measured_key

_AT_LABELS = {"same": "Same batch and pixel size", "other": "Another size"}


def measured_input(resources: Resources) -> None:
    """A field for each target; and the anchor's profile of what was measured, if that was another size."""
    targets = [name for name in resources.models.instances if name != st.session_state["anchor"]]
    given = bool(_measured_ms(resources))
    with st.expander("Measured it on a target already?", expanded=given, icon=":material/timer:"):
        st.markdown(
            "One step latency of **this network** on another instance corrects the prediction there. Left-out networks "
            "were then predicted better: see Accuracy."
        )
        for column, name in zip(st.columns(len(targets), gap="medium"), targets, strict=True):
            column.number_input(
                f"{name} (ms a step)",
                value=None,
                min_value=0.0,
                step=1.0,
                format="%g",
                placeholder="not measured",
                key=measured_key(name),
                persist_state="session",
            )
        st.segmented_control(
            "Measured at",
            MEASURED_AT,
            format_func=_AT_LABELS.get,
            key="measured_at",
            required=True,
            persist_state="session",
        )
        if st.session_state["measured_at"] == "other":
            st.markdown("Give the anchor's profile of the size that you measured; it stands beside the one above.")
            held = profile_input(resources, MEASURED_SLOT, "Profile of the measured size")
            latency_input(MEASURED_SLOT, "Its step latency on the anchor (optional)")
            if _measured_ms(resources) and not refusal(held.profile):
                latency_question(resources, MEASURED_SLOT, predict_slot(resources, MEASURED_SLOT))


def predict_measured(resources: Resources) -> Outcome:
    """Predict's profile, corrected by the latencies measured on targets, if there are any.

    Raises
    ------
    NoPredictionError : nothing can be predicted from Predict's profile.
    """
    outcome = predict_slot(resources, PREDICT_SLOT)
    measured_ms = _measured_ms(resources)
    if not measured_ms:
        return outcome
    reference = outcome
    if st.session_state["measured_at"] == "other":
        refused = refusal(held_in(resources, MEASURED_SLOT).profile)
        if refused:
            return replace(
                outcome, unused_measurement=f"The measured size: {refused} The numbers below are predicted without it."
            )
        reference = predict_slot(resources, MEASURED_SLOT)
        problem = _other_anchor(reference.held, outcome.prediction.anchor)
        if problem:
            return replace(outcome, unused_measurement=problem)
    try:
        corrected = correct_by_measurement(
            outcome.prediction,
            reference.prediction,
            measured_ms,
            meta=outcome.held.profile.meta,
            reference_meta=reference.held.profile.meta,
        )
    except InputError as error:
        return replace(outcome, unused_measurement=f"{error} The numbers below are predicted without it.")
    return replace(outcome, prediction=corrected)


def _measured_ms(resources: Resources) -> dict[str, float]:
    """Target -> latency; a field of what is now the anchor is not asked."""
    given = {name: st.session_state.get(measured_key(name)) for name in resources.models.instances}
    anchor = st.session_state["anchor"]
    return {name: value for name, value in given.items() if value is not None and name != anchor}


def _other_anchor(held: Held, anchor: str) -> str | None:
    if held.sample is None or held.sample.anchor == anchor:
        return None
    return (
        f"The profile of the measured size is from {held.sample.anchor}, this one from {anchor}: give one of the same "
        "instance. The numbers below are predicted without the measurement."
    )
