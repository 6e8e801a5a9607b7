"""Accuracy: how far off the predictions were on networks the models had never seen, and when not to trust them."""

from __future__ import annotations

import streamlit as st

from pages.accuracy.memory import show_memory
from pages.accuracy.profiled import show_profiled
from pages.accuracy.real import show_real
from pages.accuracy.reports import accuracy_of, real_report_of, transfer_accuracy_of, transfer_model_of
from pages.accuracy.summary import show_lead, show_worst
from pages.accuracy.unprofiled import show_unprofiled
from pages.accuracy.unprofiled_words import Unprofiled
from profet_core import ArtifactError
from ui.errors import show_error
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.paths import page_path
from ui.state.page_keys import accuracy_keys
from ui.state.resources import Resources
from ui.state.settings import LATENCY_GIVEN
from ui.texts import plain

_LATENCY_LABELS = {"given": "Given", "not": "Not given"}


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("How far off is it?")
    try:
        accuracy = accuracy_of(resources)
    except ArtifactError as error:
        show_error(str(error))
        return
    count = len(accuracy.architectures)
    st.markdown(
        f"Each of {count} networks was left out in turn and predicted by models that had never seen it. The figures "
        "are mean errors: how far the predicted step latency lay from the measured one. All were measured on PROFET's "
        "own recordings (TensorFlow 2.5, FP32); what strangers' profiles showed stands last."
    )
    choice("The anchor's step latency", "latency_is", LATENCY_GIVEN, _LATENCY_LABELS)
    latency_known = st.session_state["latency_is"] == "given"
    show_lead(accuracy, latency_known)
    show_worst(accuracy, latency_known)
    show_profiled(resources, accuracy, latency_known)
    _beyond_the_profiled(resources, latency_known)
    _real(resources, latency_known)
    st.caption(
        f"Measured on {plain(accuracy.made)} for the loaded models (checksum {accuracy.models_checksum[:12]}). "
        "The original: PROFET's own method on the same networks, left out in the same way."
    )
    st.page_link(page_path("guide"), label="How the numbers are made", icon=":material/menu_book:")


def _beyond_the_profiled(resources: Resources, latency_known: bool) -> None:
    try:
        transfer, accuracy = transfer_model_of(resources), transfer_accuracy_of(resources)
    except ArtifactError as error:
        st.subheader("GPUs that nobody profiled, and memory", anchor="unprofiled")
        show_error(str(error))
        return
    show_unprofiled(Unprofiled(resources.catalog, transfer, accuracy, latency_known))
    show_memory(resources, accuracy.memory)
    st.caption(
        f"Both measured on {plain(accuracy.made)} for the loaded transfer.json (checksum "
        f"{accuracy.transfer_checksum[:12]}) and memory.json ({accuracy.memory_checksum[:12]}). Their card: "
        "models/TRANSFER_CARD.md."
    )


def _real(resources: Resources, latency_known: bool) -> None:
    try:
        report = real_report_of(resources)
    except ArtifactError as error:
        st.subheader("Profiles of strangers", anchor="strangers")
        show_error(str(error))
        return
    if report is None:
        st.subheader("Profiles of strangers", anchor="strangers")
        st.info("There is no report on profiles of strangers for these models: profet validate --real DIR --card.")
    else:
        show_real(report, latency_known)


run_page(body, accuracy_keys)
