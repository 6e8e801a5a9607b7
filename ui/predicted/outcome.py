"""Predicts the profile of a slot, without its latency while that is in doubt."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from profet_core import InputError, LatencyDoubtError, NoPredictionError, Prediction, predict
from profet_core.prediction.steps import counted
from ui.state.held import Held, held_in
from ui.state.latency import typed_latency_ms
from ui.state.resources import Resources
from ui.state.slots import Slot


@dataclass(frozen=True, slots=True)
class Outcome:
    """A prediction, and the reason if the latency that was typed could not be used for it.

    Attributes
    ----------
    held : its profile with the number of steps that was predicted from.
    doubt : the latency makes no sense beside the profile and the visitor has not said yet what to do.
    invalid : one line on a latency that is no latency at all.
    unused_measurement : one line on why a latency measured on a target could not correct the prediction.
    """

    held: Held
    prediction: Prediction
    doubt: LatencyDoubtError | None = None
    invalid: str | None = None
    unused_measurement: str | None = None


def predict_slot(resources: Resources, slot: Slot) -> Outcome:
    """Predict the profile in `slot` with its latency, or without it while the latency is in doubt.

    Raises
    ------
    NoPredictionError : nothing can be predicted from the profile.
    """
    held = held_in(resources, slot)
    anchor = st.session_state[slot.anchor_key]
    if held.sample is not None and held.sample.anchor not in resources.anchors:
        # Beside models of other machines alone, the anchor that stands there recorded something else.
        raise NoPredictionError(
            f"No sample was recorded on {', '.join(resources.anchors[:3])}: upload a profile of yours."
        )
    without = {
        "models": resources.models,
        "catalog": resources.catalog,
        "profile": held.profile,
        "anchor": anchor,
        "method": st.session_state["method"],
        "tf32": st.session_state["tf32"],
    }
    try:
        latency_ms = typed_latency_ms(slot)
        trusted = latency_ms is not None and st.session_state.get(_trust_key(slot)) == _trust(held, anchor, latency_ms)
        prediction = predict(**without, latency_ms=latency_ms, trust_latency=trusted)
        return Outcome(replace(held, profile=counted(held.profile, latency_ms)), prediction)
    except LatencyDoubtError as doubt:
        return Outcome(held, predict(**without), doubt=doubt)
    except InputError as error:
        return Outcome(held, predict(**without), invalid=str(error))


def trust_latency(resources: Resources, slot: Slot, latency_ms: float) -> None:
    """The visitor says that the latency is right as it was typed."""
    held = held_in(resources, slot)
    st.session_state[_trust_key(slot)] = _trust(held, st.session_state[slot.anchor_key], latency_ms)


def _trust(held: Held, anchor: str, latency_ms: float) -> tuple[str, int, str, float]:
    """What a visitor trusts: that number beside that profile, read as so many steps."""
    return held.identity, held.profile.steps, anchor, latency_ms


def _trust_key(slot: Slot) -> str:
    return f"trusted:{slot.prefix}"
