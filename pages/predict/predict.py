"""Predict: a profile and a training in, latency and cost of every instance out, as bars, scatter or table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st
from msgspec.structs import replace

from pages.predict.results import (
    Answered,
    opened_row,
    show_cards,
    show_details,
    show_none,
    show_plan_bars,
    show_scatter,
)
from profet_core import ProfetError
from profet_core.answers.advise import (
    AdviseAnswer,
    BestBatch,
    advise_training,
    answer_advise,
    best_batch,
    cheapest_batch,
    rented_offers,
    spot_plan,
)
from profet_core.answers.report import report_html, report_source
from profet_core.catalog.instance import offer_name, price_line
from profet_core.errors import Code
from profet_core.latency import LEVEL
from profet_core.training.advise import Advice, Preset, Sort, sorted_rows
from profet_core.training.plans import Period, Plan
from profet_core.training.recommend import Recommended
from profet_core.training.words import error_sentence
from ui import tables
from ui.columns import DOTS, predict_columns
from ui.custom import profile_in_slot
from ui.fields import (
    choice,
    costs_input,
    method_input,
    more_options,
    number_field,
    number_fields,
    parameters_input,
    recorded_sizes,
    select,
    size_sliders,
    toggle,
)
from ui.first_paint import keep_words
from ui.frame import run_page, write_link
from ui.offers import chosen_rows, offer_buttons, preset_choice, with_offers
from ui.predicted import MissingAnchorError, Predicted, current_network, shown_words
from ui.profile import latency_question, missing_input, network_input, second_input, show_notices
from ui.resources import Resources
from ui.session import LINKED, Part, session
from ui.words import plain

_QUESTION = "Which cloud GPU should I train my vision network on?"
TITLE = f":primary[PROFET]\N{EN SPACE}{_QUESTION}"
NO_PROFILE = "No profile?"
#: Keys of what is remembered between two moves of a slider, and of the choice of an instance.
_PROFILED, _CHEAPEST, _DETAILS = "predict:profiled", "predict:cheapest", "predict:details"
_BOUNDARY = "Training time only, without start-up, {}storage, or egress."


def sidebar(resources: Resources) -> None:
    """Everything that the numbers depend on, but for sizes and offers."""
    network_input(resources)
    number_fields("images", "epochs")
    select("precision")
    more_options("predict", partial(_other_inputs, resources))


def _other_inputs(resources: Resources) -> None:
    number_fields("deadline_hours", "budget_usd")
    number_field("certainty")
    number_field("validation_images")
    held = profile_in_slot(resources, session.profile)
    if held.is_network:
        choice("net_optimizer", help="Its state needs memory.")
        toggle("net_frozen", help="Only the last layer is trained.")
    else:
        second_input(resources)
    toggle("whole_nodes")
    if session.training.whole_nodes:
        parameters_input(held.profile.meta)
    select("training_code")
    toggle("checkpointing")
    costs_input()
    method_input(resources)


def main(resources: Resources) -> None:
    """Draw what is shown, the recommendation, sliders, and bars, scatter or table."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="header"):
        st.title(TITLE, anchor=False, width="content")
        # Filled once there is an answer.
        exports = st.container(width="content")
    try:
        network = current_network(resources)
        _strip(resources, network)
        _, answer, rows = _advised(resources, network)
    except ProfetError as error:
        # The way out may be another size or filter, or an anchor of the visitor's own.
        if not isinstance(error, MissingAnchorError):
            size_sliders(resources)
            _toolbar(resources)
        raise
    # Without a batch size only a step is known.
    per = Period.STEP if network.batch_size is None else Period(session.predict.per)
    plans = [row for row in rows if row.has_number]
    advice = answer.advice.among(plans) if plans else answer.advice
    if plans and per is Period.TRAINING and (spot := spot_plan(resources, advice)):
        st.markdown(plain(spot.sentence))
    missing_input(resources, network.held)
    latency_question(network)
    if plans:
        show_cards(advice.recommended, per)
        _below_cards(resources, answer, advice, per)
    else:
        show_none(rows, answer.training.batch_size if network.batch_size else None)
    size_sliders(resources)
    _toolbar(resources)
    show_notices(network, besides=(Code.MORE_CLASSES,))
    if plans:
        _show_result(resources, network, answer, advice.recommended, rows, per)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        # Larger machines of a GPU that one can rent alone are not among them.
        every = session.offers.preset == Preset.ALL and not (session.training.whole_nodes or session.offers.gpu_count)
        count = f"All single-GPU offers ({len(rows)}). " if every else ""
        data = "data, " if session.training.loading == "off" else ""
        dots = f" {DOTS}" if session.predict.chart == "table" else ""
        st.caption(f"{count}{_BOUNDARY.format(data)} {price_line(row.offer for row in rows)}{dots}", width="content")
        if session.predict.chart == "scatter":
            _details_choice(rows)
    if plans:
        with exports:
            _exports(resources, network, advice, plans, per)
    opened = opened_row(rows, session.predict_table.open)
    if opened is not None:
        link = partial(write_link, _linked, resources)
        show_details(resources, opened, per, lambda: _advised(resources, current_network(resources)), link)


def _below_cards(resources: Resources, answer: AdviseAnswer, advice: Advice, per: Period) -> None:
    """Say how far off such predictions were, and which batch size is cheaper."""
    # Errors on other GPUs than one are unknown for transformers.
    is_transformer = any(note.code is Code.TRANSFORMER for note in answer.training.warnings)
    lines = [] if is_transformer else [error_sentence(advice.recommended, *resources.models.held_out_errors)]
    if per is Period.TRAINING and (cheapest := _best_batch(resources, replace(answer, advice=advice))):
        lines.append(cheapest.sentence)
    with st.container(key="below-cards"):
        st.caption(plain(" ".join(filter(None, lines))))


def _best_batch(resources: Resources, answer: AdviseAnswer) -> BestBatch | None:
    """Find the cheapest batch size among the shown plans; it is kept while only the batch size moves."""
    rented = rented_offers(answer.advice)
    asked = replace(answer.question, at_batch=None), rented, session.custom.gpus
    before, cheapest = st.session_state.get(_CHEAPEST, (None, None))
    if before != asked:
        cheapest = cheapest_batch(resources, answer, rented)
        st.session_state[_CHEAPEST] = asked, cheapest
    return best_batch(answer, cheapest)


def _show_result(
    resources: Resources,
    network: Predicted,
    answer: AdviseAnswer,
    recommended: Recommended,
    rows: Sequence[Plan],
    per: Period,
) -> None:
    """Draw bars, scatter or table of the rows, of which one has a number."""
    limits, view = answer.advice.limits, session.predict.chart
    if view == "bars":
        profiled, level = _profiled_plans(resources, network, answer), network.training.prediction.interval_level
        show_plan_bars(rows, recommended, profiled, per, limits, level or LEVEL)
    elif view == "scatter":
        show_scatter(rows, per, limits)
    else:
        plans = [row for row in rows if row.has_number]
        tables.result_table(
            [plan.per(per) for plan in plans],
            predict_columns(per, per.unit(plans), resources.gpus),
            choices=session.predict_table,
            stem="profet-predict",
            title=f"{per.capitalize()}: time and cost",
            sorted_by={Sort.COST: "cost", Sort.LATENCY: "time", Sort.NAME: "plan"}[Sort(session.predict.sort)],
            charts=None,
        )


def _exports(resources: Resources, network: Predicted, advice: Advice, plans: Sequence[Plan], per: Period) -> None:
    """Draw the buttons that save the result; a file is made when it is saved."""
    # A file is made outside of the session.
    order, chosen = session.predict_table.sort, session.predict_table.columns
    name, models, prediction = network.held.name, resources.models, network.training.prediction

    def report() -> str:
        return report_html(advice, report_source(name, prediction, models, prediction.warnings))

    def exported() -> tables.Rows:
        columns = predict_columns(per, per.unit(plans), resources.gpus)
        rows = tables.in_order([plan.per(per) for plan in plans], columns, order)
        return tables.exported_rows(rows, tables.chosen_columns(columns, chosen))

    charts = session.predict.chart != "table"
    tables.export_row("profet-predict", exported, charts=charts, report=report)


def _advised(resources: Resources, network: Predicted) -> Answered:
    answer = advise_training(resources, with_offers(resources, network.question), network.training)
    rows = chosen_rows(answer.rows, keep=session.predict_table.open)
    return network, answer, sorted_rows(rows, Sort(session.predict.sort))


def _profiled_plans(resources: Resources, network: Predicted, answer: AdviseAnswer) -> Mapping[str, Plan]:
    """Label -> plan at the profiled size; empty where that is shown. They are kept: a slider moves more often."""
    wanted = replace(answer.question, at_batch=None, at_pixels=None)
    sizes = network.question.at_batch or network.batch_size, network.chosen_pixels
    is_profiled = sizes == (network.batch_size, network.training.prediction.pixels)
    if network.held.is_network and network.question.latency_ms is None:
        return {}
    question, plans = st.session_state.get(_PROFILED, (None, {}))
    if is_profiled or question != wanted:
        profiled = answer if is_profiled else answer_advise(resources, wanted)
        plans = {row.label: row for row in profiled.rows if row.has_number}
        st.session_state[_PROFILED] = wanted, plans
    return {} if is_profiled else plans


def _details_choice(rows: Sequence[Plan]) -> None:
    """Offer what a click on a point does to who has no mouse."""
    names = {row.label: f"{offer_name(row.offer)} ({row.code})" for row in rows}
    look: Any = {"index": None, "placeholder": "Open an instance …", "label_visibility": "collapsed", "width": 250}
    # It opens one after another: the choice is not kept.
    st.session_state[_DETAILS] = None
    choose = lambda: session.predict_table.choose(st.session_state[_DETAILS] or "")  # noqa: E731
    select(_DETAILS, names, label="Open an instance", on_change=choose, **look)


def _strip(resources: Resources, network: Predicted) -> None:
    """Which network and training the numbers are for."""
    is_sample, words = network.held.sample is not None, shown_words(resources, network)
    keep_words(_QUESTION, words, is_sample=is_sample)
    mark = "\N{EN SPACE}:primary-badge[Sample]" if is_sample else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="shown"):
        st.markdown(plain(words) + mark, width="content")
        if mark:
            choose = partial(setattr, session.profile, "source", "upload")
            st.button("Use my own profile", key="use-own", icon=":material/upload:", on_click=choose)
            choose = partial(setattr, session.profile, "source", "name")
            tip = "Use the name of a network, or a time that you measured."
            st.button(f":primary[{NO_PROFILE}]", key="no-profile", type="tertiary", on_click=choose, help=tip)


def _toolbar(resources: Resources) -> None:
    """Ask what is shown, and how."""
    has_batch = recorded_sizes(resources)["batch"] is not None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="toolbar"):
        choice(
            "per" if has_batch else "per:step",
            LINKED["per"].options,
            label=LINKED["per"].label,
            disabled=not has_batch,
            help=None if has_batch else "Epochs need the batch size of the profile.",
            default=None if has_batch else "step",
        )
        preset_choice()
        choice("chart")
        if session.predict.chart == "bars" and session.offers.preset != Preset.ORIGINAL:
            select("sort", width=95)
        offer_buttons(resources)


def _linked() -> Iterable[Part | str]:
    return *session.prediction_inputs, session.training, session.offers, session.predict, session.predict_table


run_page("Predict", main, _linked, sidebar, titled=False, alone=True)
