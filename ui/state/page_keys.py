"""Which settings the link of each page carries: those that what it shows depends on."""

from __future__ import annotations

import streamlit as st

from ui.state.resources import Resources
from ui.state.settings import (
    ESTIMATE_TABLE,
    PREDICT_TABLE,
    SCALE_OUT_TABLE,
    SIZES_TABLE,
    measured_key,
    price_key,
    scaler_key,
)
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT

_TRAINING_KEYS = ("images", "validation_images", "epochs", "batch", "pixels", "loading")
_OFFER_KEYS = (
    *("provider", "gpu", "gpu_count", "min_memory_gib", "confidence"),
    *("market", "region", "spot_discount", "retired"),
)
#: The samples on the list of Profiles.
LISTED = "compare_samples"


def network_keys(resources: Resources) -> tuple[str, ...]:
    """Settings that the predictions depend on."""
    measured = (measured_key(name) for name in resources.catalog)
    second = ("second", "second_batch", "second_pixels", *SECOND_SLOT.keys) if st.session_state["second"] else ()
    recorded = ("profiled_batch", "profiled_pixels")
    return (*PROFILE_SLOT.keys, *recorded, *second, "method", "precision", *measured, "measured_at")


def _offer_keys(resources: Resources) -> tuple[str, ...]:
    """Settings of the offers and their prices."""
    return (*_OFFER_KEYS, "preset", *(price_key(name) for name in resources.catalog))


def predict_keys(resources: Resources) -> tuple[str, ...]:
    """Settings of the training, its limits and the offers."""
    limits = ("deadline_h", "budget_usd", "certainty", "whole_nodes", "network")
    shown = ("per", "chart", "sort", "against", *PREDICT_TABLE.keys)
    return (*network_keys(resources), *_TRAINING_KEYS, *limits, *_offer_keys(resources), *shown)


def sizes_keys(resources: Resources) -> tuple[str, ...]:
    """Settings of the training, the offers and the curves along the chosen axis; or of the scaler."""
    axis = st.session_state["axis"]
    if st.session_state["sizes_view"] == "scaler":
        scaler = (scaler_key(what, axis) for what in ("min", "max", "at"))
        return ("sizes_view", "axis", "scale", "scaler_instance", "scaler_method", *scaler)
    curves = ("axis", "shows", "scale", "each_at", "drawn", "whole_nodes", "network", *SIZES_TABLE.keys)
    return (*network_keys(resources), *_TRAINING_KEYS, *_offer_keys(resources), *curves)


def estimate_keys(resources: Resources) -> tuple[str, ...]:
    """The network and its step, the training and the offers; a network's file can't be in a link."""
    training = ("images", "validation_images", "epochs", "loading")
    network = ("net_from", "net", "net_pixels", "net_batch", "net_optimiser", "net_method", "precision")
    return (*network, *training, *_offer_keys(resources), *ESTIMATE_TABLE.keys)


def scale_out_keys(resources: Resources) -> tuple[str, ...]:
    """Settings of the one GPU's step, of how many share it, and of the offers."""
    typed = st.session_state["one_gpu"] == "typed"
    step = ("one_gpu_ms", "one_gpu_batch", "one_gpu_on") if typed else (*network_keys(resources), "batch", "pixels")
    shared = ("one_gpu", "network", "gradients", "strategy", "batch_kept", "batch_of_all", "gpus", "out_shows")
    return (*step, *shared, "images", "validation_images", *_offer_keys(resources), *SCALE_OUT_TABLE.keys)


def compare_keys(resources: Resources) -> tuple[str, ...]:
    """What is listed and how it is shown; a visitor's own profiles can't be in a link.

    What Answer shows is as it is there: where that is a sample of the list, all that its numbers depend on.
    """
    chosen, samples = st.session_state["inspect"], st.session_state[LISTED]
    # A chosen sample is listed in any case: a link to it stays as it is.
    listing = ("inspect",) if chosen and samples == [chosen] else ("inspect", LISTED) if chosen else (LISTED,)
    on_answer = st.session_state["source"] == "sample" and st.session_state["sample"] in samples
    settings = network_keys(resources) if on_answer else ("method", "precision")
    return ("view", *listing, "compare_by", "preset", "drawn", *settings)


def manycore_keys() -> tuple[str, ...]:
    """The network by the way that is chosen, and its training."""
    by = {
        "published": ("manycore_network",),
        "named": ("manycore_name", "manycore_pixels"),
        "flops": ("manycore_flops",),
    }
    asked = by[st.session_state["manycore_from"]]
    training = ("manycore_images", "manycore_test_images", "manycore_epochs")
    return ("manycore_from", *asked, *training, "manycore_threads", "manycore_shows")
