"""Corrects a prediction by step latencies that the visitor has measured on targets."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from profet_core import InputError
from profet_core.prediction.correction import correct_by_measurement
from ui.predicted.outcome import Outcome
from ui.state.resources import Resources
from ui.state.settings import measured_key


def corrected_by_measured(resources: Resources, outcome: Outcome, second: Outcome | None) -> Outcome:
    """The outcome of the profile, corrected by the latencies measured on targets, if there are any.

    Parameters
    ----------
    second : of the profile of another size, at which they may have been measured; None where there is none.
    """
    given_ms = measured_ms(resources)
    if not given_ms:
        return outcome
    at_second = second is not None and st.session_state["measured_at"] == "other"
    reference = second if second is not None and at_second else outcome
    try:
        corrected = correct_by_measurement(
            outcome.prediction,
            reference.prediction,
            given_ms,
            meta=outcome.held.profile.meta,
            reference_meta=reference.held.profile.meta,
        )
    except InputError as error:
        return replace(outcome, unused_measurement=f"{error} The numbers are predicted without it.")
    return replace(outcome, prediction=corrected)


def measured_ms(resources: Resources) -> dict[str, float]:
    """Target -> latency that was measured there; a field of what is now the anchor doesn't count."""
    given = {name: st.session_state.get(measured_key(name)) for name in resources.models.instances}
    anchor = st.session_state["anchor"]
    return {name: value for name, value in given.items() if value is not None and name != anchor}
