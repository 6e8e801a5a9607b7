"""The two ends of a size axis as the settings have them: predicted from two profiles, or typed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from profet_core import InstancePrediction, NoPredictionError
from profet_core.scaling.axes import axis_range
from profet_core.training.ends import AxisEnds, EndProfiles
from ui.predicted.outcome import Outcome, predict_slot
from ui.state.resources import Resources
from ui.state.settings import typed_end_key
from ui.state.slots import END_SLOTS, Slot


@dataclass(frozen=True)
class Ends(AxisEnds):
    """Latencies at both ends of an axis, and the two predictions they come from; empty if they were typed."""

    outcomes: tuple[Outcome, ...] = ()

    @property
    def predictions(self) -> dict[str, InstancePrediction]:
        """Instance -> its row at the smallest size, with the basis of both ends; empty where latencies were typed."""
        return {row.instance: row for row in self.outcomes[0].prediction.predictions} if self.outcomes else {}

    def only(self, instance: str) -> Ends:
        """The ends of one instance; none if one of them isn't known."""
        known = {instance} & set(self.both)
        return replace(
            self,
            min_ms={name: self.min_ms[name] for name in known},
            max_ms={name: self.max_ms[name] for name in known},
        )


def size_words(axis: str, size: int) -> str:
    """'batch 64', '128 pixels'."""
    return f"batch {size}" if axis == "batch" else f"{size} pixels"


def current_ends(resources: Resources, axis: str) -> Ends:
    """The ends as the settings have them: predicted from two profiles, or typed.

    Raises
    ------
    NoPredictionError : nothing can be predicted from one of the profiles; it says which.
    """
    if st.session_state["ends"] == "typed":
        return Ends(axis, _typed(resources, axis, "min"), _typed(resources, axis, "max"))
    low, high = (
        _predicted_end(resources, axis, slot, size)
        for slot, size in zip(END_SLOTS[axis], axis_range(axis), strict=True)
    )
    profiles = EndProfiles(low.held.profile, high.held.profile, low.prediction.anchor)
    return Ends(axis, low.prediction.latencies_ms, high.prediction.latencies_ms, profiles, (low, high))


def _predicted_end(resources: Resources, axis: str, slot: Slot, size: int) -> Outcome:
    try:
        return predict_slot(resources, slot)
    except NoPredictionError as error:
        raise NoPredictionError(f"At {size_words(axis, size)}: {error}") from None


def _typed(resources: Resources, axis: str, end: str) -> dict[str, float]:
    values = {name: st.session_state.get(typed_end_key(axis, end, name)) for name in resources.models.instances}
    return {name: value for name, value in values.items() if value is not None}
