"""No profile: step latency, memory and cost of a network on every offer, told from its layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.estimate.columns import EstimateRow, estimate_columns
from pages.estimate.inputs import network_question
from pages.estimate.weights import show_weights
from profet_core import NoPredictionError
from profet_core.advice.plans import plan_of
from profet_core.advice.request import Limits, Request, Workload
from profet_core.answers.estimate import EstimateQuestion, other_sizes
from profet_core.answers.narrowed import narrowed_rows
from profet_core.estimate.disagreement import disagreement_words, disagreements
from profet_core.estimate.estimate import Estimate, estimate
from profet_core.estimate.model import estimate_model_of
from profet_core.prediction.records import Prediction
from ui.errors import show_warning
from ui.frame import run_page
from ui.inputs.narrowing import chosen_narrowing, narrowing_input
from ui.inputs.offers import chosen_instances, offers_input
from ui.inputs.table_rows import plans_with_a_row, rows_choice
from ui.predicted.outcome import predict_slot
from ui.result_table.show import result_table
from ui.state.held import held_in
from ui.state.page_keys import estimate_keys
from ui.state.resources import Resources
from ui.state.settings import ESTIMATE_TABLE
from ui.state.slots import PROFILE_SLOT
from ui.texts import plain


def body(resources: Resources) -> None:
    """Draw the page."""
    with st.sidebar:
        question = network_question()
    st.title("No profile yet?")
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        narrowing_input(resources)
        offers_input(resources)
        rows_place = st.container(width="content")
    if question is None:
        st.info("Give a network's file to see how long its step takes.")
        return
    found = _estimated(resources, question)
    st.markdown(plain(_network_words(found)))
    for text in (*question.caveats, *found.warnings):
        show_warning(text)
    profiled, said = _profiled(resources, question)
    rows = _rows(resources, found, profiled)
    with rows_place:
        rows_choice([row.plan for row in rows])
    if profiled is not None:
        st.markdown(plain(disagreement_words(disagreements(found.rows, profiled))))
        for text in said:
            show_warning(text)
    _table(rows, f"profet-no-profile-{question.batch_size}", compared=profiled is not None)
    with st.expander(
        "What these numbers are made of", icon=":material/function:", key="estimate:weights", on_change="rerun"
    ) as fold:
        if fold.open:
            show_weights(estimate_model_of(resources.models), found.network, found.batch_size)
    st.caption("A profile of one training step says more: Answer takes it. About says how far off both were.")


def _estimated(resources: Resources, question: EstimateQuestion) -> Estimate:
    state = st.session_state
    found = estimate(
        resources.models,
        resources.catalog,
        question.network,
        batch_size=question.batch_size,
        name=question.name if question.is_named else "",
        method=state["net_method"],
        optimiser=state["net_optimiser"],
        tf32=state["tf32"],
    )
    return replace(found, name=question.name)


def _network_words(found: Estimate) -> str:
    network = found.network
    return (
        f"{found.name}, {network.pixels} pixels, batch {found.batch_size}: {network.layers:,} layers, "
        f"{network.parameters / 1e6:.3g} million parameters, {network.flops / 1e9:.3g} GFLOPs an image forward."
    )


def _profiled(resources: Resources, question: EstimateQuestion) -> tuple[Prediction | None, Sequence[str]]:
    """What a profile of the visitor's own says, or a sample of this very step; and what to keep in mind of it."""
    held = held_in(resources, PROFILE_SLOT)
    if held.own is None:
        sample, asked = held.sample, (question.name, question.network.pixels, question.batch_size)
        if sample is None or (sample.model, sample.pixels, sample.batch_size) != asked:
            return None, ()
    try:
        prediction = predict_slot(resources, PROFILE_SLOT).prediction
    except NoPredictionError:
        return None, ()
    if held.own is None:
        return prediction, ()
    unknown = "Whether your profile is of this network is not known: compare only if it is."
    return prediction, (unknown, *other_sizes(held.profile, question))


def _rows(resources: Resources, found: Estimate, profiled: Prediction | None) -> list[EstimateRow]:
    """A row for each offer that counts, the cheapest first."""
    state = st.session_state
    workload = Workload(
        state["images"], found.batch_size, state["epochs"], state["validation_images"], state["loading"]
    )
    request = Request(workload, Limits())
    offers = chosen_instances(resources, ESTIMATE_TABLE.open_row)
    steps = {row.instance: row for row in found.rows if row.instance in offers}
    sure = narrowed_rows(steps.values(), chosen_narrowing(resources), offers, "")
    compared = {} if profiled is None else {row.instance: row for row in disagreements(sure, profiled)}
    rows = [
        EstimateRow(
            plan=plan_of(request, step, offers[step.instance]),
            ends=step.interval,
            epochs=state["epochs"],
            fit=found.fits.get(step.instance),
            regime=found.regimes[step.instance],
            by_method=step.members,
            profiled=compared.get(step.instance),
        )
        for step in sure
    ]
    return sorted(rows, key=lambda row: (row.plan.total_usd, row.plan.total_s))


def _table(rows: Sequence[EstimateRow], stem: str, *, compared: bool) -> None:
    """As many of the offers as are chosen; `stem` of the names of exports, `compared` with a profile."""
    kept = [row.plan for row in rows if row.instance == ESTIMATE_TABLE.open_row]
    shown = plans_with_a_row([row.plan for row in rows], kept)
    opened = result_table(
        [row for row in rows if row.plan in shown],
        estimate_columns(compared=compared),
        key=ESTIMATE_TABLE.table,
        stem=stem,
        title="Every offer, without a profile",
        row_key=lambda row: row.instance,
    )
    if opened is not None:
        _show_opened(opened)


def _show_opened(row: EstimateRow) -> None:
    fit = "" if row.fit is None else f" Memory: {row.fit.verdict}, {row.fit.why}."
    st.markdown(plain(f"{row.plan.title}: {row.plan.basis}, {row.plan.latency_note}.{fit}"))


run_page(body, estimate_keys)
