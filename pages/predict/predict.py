"""Predict: one profile in, step latency and cost on every instance out."""

from __future__ import annotations

import streamlit as st

from pages.predict.callouts import show_callouts
from pages.predict.intervals import interval_title, show_interval, show_likeness
from pages.predict.left_out import show_left_out
from pages.predict.members import method_phrase, show_members
from pages.predict.view import Predicted, cost_bars, data_rows, latency_bars, text_rows
from profet_core import Prediction
from profet_core.prediction.diagnosis import MOSTLY_BUSY, diagnose
from profet_core.prediction.input_wait import input_wait_warning
from ui.basis import show_basis
from ui.charts.bars import bars
from ui.charts.style import show_chart
from ui.errors import inside_link, show_error, show_warning
from ui.frame import run_page
from ui.inputs.measured import measured_input
from ui.inputs.method import method_input, tf32_input
from ui.inputs.profile import profile_input
from ui.inputs.record_link import record_link
from ui.inputs.recorded import anchor_input, latency_input, latency_question
from ui.inputs.steps import besides_steps
from ui.memory import fits_of, say_fits
from ui.paths import page_path
from ui.phrases import profile_phrase
from ui.predicted.measured import predict_measured
from ui.predicted.outcome import Outcome
from ui.state.held import held_in
from ui.state.own_profiles import own_profiles
from ui.state.page_keys import predict_keys
from ui.state.resources import Resources
from ui.state.slots import PREDICT_SLOT
from ui.tables import download_buttons, show_table
from ui.texts import plain


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Which cloud GPU should train this network?")
    st.markdown(
        "Give the profile of one training step on a GPU you have; see what a step takes and costs on the others."
    )
    with st.container(border=True):
        left, right = st.columns(2, gap="medium")
        with left:
            profile_input(resources, PREDICT_SLOT, "Profile")
            _further_links(resources)
        with right:
            anchor_input(resources, PREDICT_SLOT.anchor_key)
            latency_input(PREDICT_SLOT)
            method_input(resources)
            tf32_input()
    measured_input(resources)
    outcome = predict_measured(resources)
    latency_question(resources, PREDICT_SLOT, outcome)
    _warnings(outcome)
    _answer(resources, outcome)
    show_left_out(outcome)


def _further_links(resources: Resources) -> None:
    with st.container(horizontal=True, gap="medium"):
        sample = held_in(resources, PREDICT_SLOT).sample
        inside_link("What is in it?", sample.name if sample else None)
        record_link()
        count = len(own_profiles())
        if count > 1:
            st.page_link(page_path("profiles"), label=f"Compare all {count}", icon=":material/compare_arrows:")


def _warnings(outcome: Outcome) -> None:
    if outcome.unused_measurement:
        show_error(outcome.unused_measurement)
    for line in besides_steps(outcome.prediction.warnings, outcome.held.profile, outcome.held.own):
        show_warning(line)
    _what_waits(outcome)
    for note in outcome.held.profile.ignored:
        st.caption(f"Left out: {plain(note)}.")


def _what_waits(outcome: Outcome) -> None:
    """What of the step another GPU doesn't change."""
    profile = outcome.held.profile
    found = diagnose(profile, outcome.prediction.anchor_latency_ms)
    if found.kind == "input" and input_wait_warning(profile):
        # Said among the warnings, with what the numbers leave out.
        return
    if not found.another_gpu_helps:
        st.info(plain(found.sentence), icon=":material/hourglass_empty:")
    elif found.gpu_busy_share is not None and found.gpu_busy_share < MOSTLY_BUSY:
        st.caption(plain(found.sentence))


def _answer(resources: Resources, outcome: Outcome) -> None:
    prediction = outcome.prediction
    st.subheader("Latency and cost per instance", anchor="answer")
    st.caption(f"{method_phrase(resources.models, prediction)} For {profile_phrase(outcome)}.")
    fits = fits_of(resources, outcome, [row.instance for row in prediction.predictions])
    predicted = Predicted(resources.catalog, prediction, fits)
    show_callouts(resources, prediction, fits)
    show_likeness(prediction)
    say_fits(fits)
    left, right = st.columns(2, gap="medium")
    with left:
        show_chart(bars(latency_bars(prediction), f"Latency of one step{interval_title(prediction)}"), "latency-bars")
    with right:
        show_chart(bars(cost_bars(prediction), "Cost of 1,000 steps"), "cost-bars")
    show_interval(resources, prediction)
    show_table(text_rows(predicted), "Prediction per instance")
    show_basis(prediction.predictions)
    _show_price_only(resources, prediction)
    download_buttons(data_rows(predicted), "profet-prediction")
    show_members(resources.models, prediction)
    st.page_link(
        page_path("about"),
        label="How these numbers are made, and what they can't tell",
        icon=":material/info:",
        query_params={"open": "method"},
    )


def _show_price_only(resources: Resources, prediction: Prediction) -> None:
    shown = {row.instance for row in prediction.predictions}
    others = [name for name in resources.catalog if name not in shown]
    if others and prediction.method == resources.models.default_method:
        st.caption(f"A price only, as nothing is known of their GPU: {plain(', '.join(others))}.")


run_page(body, predict_keys)
