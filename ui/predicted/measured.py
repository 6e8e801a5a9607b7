"""Corrects Predict's prediction by step latencies that the visitor has measured on targets."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from profet_core import InputError
from profet_core.prediction.correction import correct_by_measurement
from profet_core.prediction.refusals import refusal
from ui.predicted.outcome import Outcome, predict_slot
from ui.state.held import Held, held_in
from ui.state.resources import Resources
from ui.state.settings import measured_key
from ui.state.slots import MEASURED_SLOT, PREDICT_SLOT


def predict_measured(resources: Resources) -> Outcome:
    """Predict's profile, corrected by the latencies measured on targets, if there are any.

    Raises
    ------
    NoPredictionError : nothing can be predicted from Predict's profile.
    """
    outcome = predict_slot(resources, PREDICT_SLOT)
    given_ms = measured_ms(resources)
    if not given_ms:
        return outcome
    reference = outcome
    if st.session_state["measured_at"] == "other":
        problem = _problem(held_in(resources, MEASURED_SLOT), outcome.prediction.anchor)
        if problem:
            return replace(outcome, unused_measurement=problem)
        reference = predict_slot(resources, MEASURED_SLOT)
    try:
        corrected = correct_by_measurement(
            outcome.prediction,
            reference.prediction,
            given_ms,
            meta=outcome.held.profile.meta,
            reference_meta=reference.held.profile.meta,
        )
    except InputError as error:
        return replace(outcome, unused_measurement=f"{error} The numbers below are predicted without it.")
    return replace(outcome, prediction=corrected)


def measured_ms(resources: Resources) -> dict[str, float]:
    """Target -> latency that was measured there; a field of what is now the anchor doesn't count."""
    given = {name: st.session_state.get(measured_key(name)) for name in resources.models.instances}
    anchor = st.session_state["anchor"]
    return {name: value for name, value in given.items() if value is not None and name != anchor}


def _problem(held: Held, anchor: str) -> str | None:
    """Why the profile of the measured size can't be used beside one from `anchor`, one line; None if it can."""
    refused = refusal(held.profile)
    if refused:
        return f"The measured size: {refused} The numbers below are predicted without it."
    if held.sample is None or held.sample.anchor == anchor:
        return None
    return (
        f"The profile of the measured size is from {held.sample.anchor}, this one from {anchor}: give one of the same "
        "instance. The numbers below are predicted without the measurement."
    )
