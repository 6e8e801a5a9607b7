"""Which settings the link of each page carries: those that what it shows depends on."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from ui.state.resources import Resources
from ui.state.settings import measured_key, price_key, typed_end_key
from ui.state.slots import END_SLOTS, MEASURED_SLOT, PREDICT_SLOT

_ADVISE_KEYS = ("deadline_h", "budget_usd", "certainty", "market", "region", "spot_discount", "retired")
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


def compare_keys(_: Resources) -> tuple[str, ...]:
    """The samples and what is compared; a visitor's own profiles can't be in a link."""
    return ("compare_samples", "compare_by", "method")


def inspect_keys(_: Resources) -> tuple[str, ...]:
    """A sample; a visitor's own profile can't be in a link."""
    return ("inspect",) if st.session_state.get("inspect") else ()


def accuracy_keys(_: Resources) -> tuple[str, ...]:
    """Whether the anchor's latency is known, and the pair whose points are shown."""
    return ("latency_is", "points_anchor", "points_target")


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
