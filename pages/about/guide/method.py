"""How the numbers are made, with what this copy's models say of themselves, and what they can't tell."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from profet_core.advice.claims import CLOSE_CALL, CLOSE_CALL_OF_ESTIMATES
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.layers.reading import FORMATS
from profet_core.prediction.diagnosis import IDLE_BELOW, INPUT_ABOVE, INPUT_BUSY_BELOW
from profet_core.scaleout.strategies import MOST_GPUS
from profet_core.scaling.axes import axis_range
from ui.phrases import rule_phrase
from ui.state.resources import Resources
from ui.texts import show_text

_TEXTS = Path(__file__).parent


def show_method(resources: Resources) -> None:
    """How both methods work, then what no number covers."""
    models = resources.models
    scale = models.interval_scale(True)
    show_text(
        _TEXTS / "method.md",
        default_rule=f"the {rule_phrase(models.method('default').with_latency)}",
        level="90%" if scale is None else f"{scale.level:.0%}",
        too_close=f"{CLOSE_CALL:.0%}",
        too_close_estimate=f"{CLOSE_CALL_OF_ESTIMATES:.0%}",
        architectures=len(models.manifest["training_data"]["architectures"]),
        idle_below=f"{IDLE_BELOW:.0%}",
        input_above=f"{INPUT_ABOVE:.0%}",
        input_busy_below=f"{INPUT_BUSY_BELOW:.0%}",
    )
    st.subheader("Without a profile", anchor="no-profile-method")
    show_text(_TEXTS / "estimate.md", formats=FORMATS)
    show_text(_TEXTS / "several_gpus.md", most_gpus=MOST_GPUS)
    st.subheader("What it can't do", anchor="cannot")
    (batch_min, batch_max), (pixels_min, pixels_max) = axis_range("batch"), axis_range("pixels")
    low, high = MEASURED_EPOCH_FACTOR
    show_text(
        _TEXTS / "limits.md",
        batch_min=batch_min,
        batch_max=batch_max,
        pixels_min=pixels_min,
        pixels_max=pixels_max,
        epoch_longer_min=f"{low - 1:.0%}",
        epoch_longer_max=f"{high - 1:.0%}",
    )
