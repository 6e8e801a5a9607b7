"""Which settings the link of each page carries: those that what it shows depends on."""

from __future__ import annotations

import streamlit as st

from ui.state.resources import Resources
from ui.state.settings import ANSWER_TABLE, SIZES_TABLE, measured_key, price_key, typed_end_key
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT

_TRAINING_KEYS = ("images", "validation_images", "epochs", "batch", "pixels", "loading")
_OFFER_KEYS = ("deadline_h", "budget_usd", "certainty", "market", "region", "spot_discount", "retired")


def network_keys(resources: Resources) -> tuple[str, ...]:
    """Settings that the predictions depend on."""
    measured = (measured_key(name) for name in resources.models.instances)
    second = ("second", "second_batch", *SECOND_SLOT.keys) if st.session_state["second"] else ()
    return (*PROFILE_SLOT.keys, "profiled_batch", *second, "method", "tf32", *measured, "measured_at")


def answer_keys(resources: Resources) -> tuple[str, ...]:
    """Settings of the training, its limits and the offers."""
    prices = (price_key(name) for name in resources.catalog)
    return (*network_keys(resources), *_TRAINING_KEYS, *_OFFER_KEYS, *prices, "per", "against", *ANSWER_TABLE.keys)


def sizes_keys(resources: Resources) -> tuple[str, ...]:
    """Settings of the curves along the chosen axis; those of the training, which their times and costs are of."""
    axis = st.session_state["axis"]
    typed = (typed_end_key(axis, end, name) for end in ("min", "max") for name in resources.models.instances)
    prices = (price_key(name) for name in resources.catalog)
    curves = ("axis", "shows", "each_at", "ends", *typed, *SIZES_TABLE.keys)
    return (*network_keys(resources), *_TRAINING_KEYS, "market", "region", "spot_discount", "retired", *prices, *curves)


def compare_keys(_: Resources) -> tuple[str, ...]:
    """The samples and what is compared; a visitor's own profiles can't be in a link."""
    return ("compare_samples", "compare_by", "method")


def inspect_keys(_: Resources) -> tuple[str, ...]:
    """A sample; a visitor's own profile can't be in a link."""
    return ("inspect",) if st.session_state.get("inspect") else ()


def accuracy_keys(_: Resources) -> tuple[str, ...]:
    """Whether the anchor's latency is known, and the pair whose points are shown."""
    return ("latency_is", "points_anchor", "points_target")
