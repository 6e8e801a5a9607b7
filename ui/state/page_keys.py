"""Which settings the link of each page carries: those that what it shows depends on."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from ui.state.resources import Resources
from ui.state.settings import measured_key, price_key, typed_end_key
from ui.state.slots import END_SLOTS, MEASURED_SLOT, PREDICT_SLOT

_ADVISE_KEYS = ("deadline_h", "budget_usd", "certainty", "market", "region", "spot_discount", "retired")
#: The samples on the list of Profiles.
LISTED = "compare_samples"
#: The two plans that are set against each other, by their labels.
COMPARED_KEYS = ("against_a", "against_b")


def predict_keys(resources: Resources) -> tuple[str, ...]:
    """Settings that the predictions depend on."""
    measured = (measured_key(name) for name in resources.models.instances)
    return (*PREDICT_SLOT.keys, "method", "tf32", *measured, "measured_at", *MEASURED_SLOT.keys)


def scale_keys(resources: Resources) -> tuple[str, ...]:
    """Settings of the curves along the chosen axis."""
    return ("axis", "show", *_curve_keys(resources, st.session_state["axis"]))


def cost_keys(resources: Resources) -> tuple[str, ...]:
    """Settings of the costs; the ends of the batch axis too where the latencies come from them."""
    return (*_training_keys(resources), *_scaled_keys(resources))


def advise_keys(resources: Resources) -> tuple[str, ...]:
    """As for the costs, and what is advised on."""
    return (*_training_keys(resources), *_ADVISE_KEYS, *COMPARED_KEYS, *_scaled_keys(resources))


def profiles_keys(resources: Resources) -> tuple[str, ...]:
    """What is listed and how it is shown; a visitor's own profiles can't be in a link.

    What Answer shows is as it is there: where that is a sample of the list, all that its numbers depend on.
    """
    chosen, samples = st.session_state["inspect"], st.session_state[LISTED]
    # A chosen sample is listed in any case: a link to it stays as it is.
    listing = ("inspect",) if chosen and samples == [chosen] else ("inspect", LISTED) if chosen else (LISTED,)
    on_answer = st.session_state["source"] == "sample" and st.session_state["sample"] in samples
    settings = predict_keys(resources) if on_answer else ("method", "tf32")
    return ("view", *listing, "compare_by", *settings)


def about_keys(_: Resources) -> tuple[str, ...]:
    """The sections that are open, and what is shown in them."""
    opened = st.session_state["open"]
    recorder = ("framework",) if "record" in opened else ()
    accuracy = ("part", "latency_is", "points_anchor", "points_target") if "accuracy" in opened else ()
    return ("open", *recorder, *accuracy)


def _curve_keys(resources: Resources, axis: str) -> tuple[str, ...]:
    typed = (typed_end_key(axis, end, name) for end in ("min", "max") for name in resources.models.instances)
    return ("ends", axis, "method", *_unique(key for slot in END_SLOTS[axis] for key in slot.keys), *typed)


def _training_keys(resources: Resources) -> tuple[str, ...]:
    prices = (price_key(name) for name in resources.catalog)
    return (*predict_keys(resources), "images", "validation_images", "epochs", "batch_from", "profiled_batch", *prices)


def _scaled_keys(resources: Resources) -> tuple[str, ...]:
    return _curve_keys(resources, "batch") if st.session_state["batch_from"] == "scaled" else ()


def _unique(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(keys))
