"""Says how a prediction was joined from its members' latencies, and shows those."""

from __future__ import annotations

import streamlit as st

from profet_core import InstancePrediction, Models, Prediction
from profet_core.artifacts.methods import EnsembleRule
from profet_core.units import format_ms
from ui.phrases import rule_phrase, sentence
from ui.tables import show_table


def method_phrase(models: Models, prediction: Prediction) -> str:
    """Whether the anchor's latency was given, and how the members were joined."""
    given = "without" if prediction.anchor_latency_ms is None else "with"
    return f"Predicted **{given}** the anchor's latency ({rule_phrase(_rule_of(models, prediction))})."


def show_members(models: Models, prediction: Prediction) -> None:
    """Each member's latency on each instance."""
    with st.expander("What each model said"):
        st.caption(f"The number above is the {rule_phrase(_rule_of(models, prediction))}.")
        show_table(
            [{"Instance": row.instance, **_member_cells(row)} for row in prediction.predictions if row.members],
            "Members per instance",
        )


def _rule_of(models: Models, prediction: Prediction) -> EnsembleRule:
    """The rule that a prediction was made by."""
    method = models.method(prediction.method)
    return method.without_latency if prediction.anchor_latency_ms is None else method.with_latency


def _member_cells(row: InstancePrediction) -> dict[str, str]:
    return {sentence(name): format_ms(latency_ms) for name, latency_ms in row.members.items()}
