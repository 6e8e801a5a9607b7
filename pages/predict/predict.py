"""Predict: a profile and a training in, latency and cost of every instance out, as bars, scatter or table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from pages.predict.charts import show_bars, show_cards, show_scatter
from pages.predict.details import show_details
from profet_core import ProfetError
from profet_core.advice.advise import OfferRow, Sort, sorted_rows
from profet_core.answers.advise import AdviseAnswer, answer_advise
from profet_core.cost import training_energy
from profet_core.documents.report import report_html, report_source
from ui.columns import COSTED_STEPS, Per, TableRow, predict_columns
from ui.frame import run_page
from ui.inputs.fields import (
    choice,
    method_input,
    number_field,
    precision_input,
    select,
    size_sliders,
    toggle,
    validation_input,
    whole_nodes_input,
    workload_input,
)
from ui.inputs.offers import chosen_rows, offer_buttons, preset_choice, with_offers
from ui.inputs.profile import latency_question, missing_input, network_input, price_line, second_input, show_notices
from ui.predicted import PAGE, MissingAnchorError, Predicted, current_network
from ui.state.own import held_in
from ui.state.resources import Resources
from ui.state.session import PredictView, Training, session
from ui.tables import download_button, result_table

TITLE = "Training time and cost on every cloud GPU, from one profiled step"
_BOUNDARY = (
    "Time counts training and validation steps, not start-up, checkpoints or downloads. Cost is time × hourly price, "
    "without storage, egress, minimum billing or spot interruptions."
)


def sidebar(resources: Resources) -> None:
    """Everything that the numbers depend on, but for sizes and offers."""
    network_input(resources)
    workload_input()
    precision_input()
    deadline, budget = st.columns(2, gap="small")
    number_field("Deadline (h)", Training.deadline_h, empty="none", at=deadline)
    number_field("Budget ($)", Training.budget_usd, empty="none", at=budget)
    with st.expander("More options"):
        validation_input()
        second_input(resources)
        whole_nodes_input(held_in(resources, session.profile).profile.meta)
        number_field(
            "Confidence for deadline and budget (%)",
            Training.certainty,
            tip="Cards recommend an instance only if it meets both with this probability.",
        )
        toggle("Add data loading", Training.loading, "Adds the 6% to 9% that measured epochs took beyond their steps.")
        method_input(resources)


def main(resources: Resources) -> None:
    """Draw sliders, cards, and bars, scatter or table."""
    size_sliders(resources)
    try:
        network = current_network(resources)
        missing_input(resources, network.held)
        latency_question(network)
        answer = answer_advise(resources, with_offers(resources, network.question), PAGE, network.training)
    except MissingAnchorError:
        raise
    except ProfetError:
        # The way out may be a wider filter, or an anchor of the visitor's own.
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            offer_buttons(resources)
        raise
    # Without a batch size only a step is known.
    per = Per.STEP if network.batch_size is None else Per(session.predict.per)
    rows = sorted_rows(chosen_rows(answer.rows, keep=session.predict_table.open), Sort(session.predict.sort))
    cards = st.container()
    _choices(resources, network)
    request = answer.advice.request
    with cards:
        show_notices(network)
        plans = [row.plan for row in rows if row.plan is not None]
        show_cards(plans, request.limits, request.workload, per)
    view = session.predict.chart
    if view == "bars":
        level = answer.training.prediction.interval_level or request.interval_level
        show_bars(rows, request.workload, per, request.limits, level)
    elif view == "scatter":
        show_scatter(rows, request.workload, per, request.limits)
    else:
        _table(resources, network, answer, rows, per)
    st.caption(f"{_BOUNDARY} {price_line(row.offer for row in rows)}")
    opened = next((row for row in rows if row.label == session.predict_table.open), None)
    if opened is not None:
        show_details(resources, network, request, rows, opened)


def _choices(resources: Resources, network: Predicted) -> None:
    """What is shown, and how."""
    known = network.batch_size is not None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="choices"):
        preset_choice()
        choice(
            "Per",
            PredictView.per if known else "per:step",
            PredictView.per.options,
            disabled=not known,
            help=None if known else "Epochs need the batch size of the profile.",
            **({} if known else {"default": "step"}),
        )
        choice("View", PredictView.chart)
        if session.predict.chart == "bars":
            select("Sort", PredictView.sort, width=105)
        offer_buttons(resources)


def _table(resources: Resources, network: Predicted, answer: AdviseAnswer, rows: list[OfferRow], per: Per) -> None:
    workload, shown = answer.advice.request.workload, []
    for row in rows:
        if row.plan is not None:
            plan = per.of(workload, row.plan)
            total_s = plan.total_s * (COSTED_STEPS if per is Per.STEP else 1)
            energy = training_energy(total_s, plan.offer, resources.gpus, plan.gpus)
            shown.append(TableRow(plan, row.fit, *((energy.kwh, energy.co2e_kg) if energy else (None, None))))

    def report_button() -> None:
        """One page, which is made when it is asked for."""
        prediction = network.training.prediction
        advice = replace(answer.advice, plans=tuple(row.plan for row in rows if row.plan is not None))
        source = report_source(network.held.name, prediction, resources.models, prediction.warnings)
        made, tip = partial(report_html, advice, source), "One page to print or send."
        name, icon = "profet-report.html", ":material/print:"
        download_button("Report", made, name, "text/html", "report", icon=icon, help=tip)

    result_table(
        shown,
        predict_columns(per),
        choices=session.predict_table,
        stem="profet-predict",
        title=f"{PredictView.per.options[per]}: time and cost",
        row_key=lambda row: row.plan.label,
        beside=report_button,
    )


run_page(
    TITLE,
    main,
    lambda: (*session.asked, session.training, session.offers, session.predict, session.predict_table),
    sidebar,
    alone=True,
)
