"""Advise: a deadline, a budget or neither in, what to rent and how sure that is out."""

from __future__ import annotations

import streamlit as st

from pages.advise.against import show_against
from pages.advise.cards import show_cards
from pages.advise.inputs import limit_inputs, offer_inputs, spot_discount
from pages.advise.plans import data_rows, points, text_rows, upgrade_row
from profet_core.advice.advise import Advice, advise
from profet_core.advice.certainty import CAME_TRUE_80_TO_90
from profet_core.advice.request import Limits, Workload
from profet_core.advice.words import answer_sentences, dominated_lines
from profet_core.catalog import Instance
from profet_core.catalog.instance import ON_DEMAND
from profet_core.catalog.offers import NoOffersError, offers_in_market
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.training.steps import TrainingSteps
from ui.basis import BADGES, basis_line, show_notes
from ui.charts.style import show_chart
from ui.charts.trade_off import trade_off
from ui.cost_latencies import latencies_for_cost, source_words
from ui.errors import show_errors, show_warning
from ui.frame import run_page
from ui.inputs.training import batch_inputs, own_prices, predicted_on_predict, profiled_batch, training_inputs
from ui.memory import fits_of
from ui.predicted.outcome import Outcome
from ui.state.page_keys import advise_keys
from ui.state.resources import Resources
from ui.state.settings import USUAL_REGION
from ui.tables import download_buttons, show_table
from ui.texts import percents_unbroken, plain


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Which instance should you rent?")
    outcome = predicted_on_predict(resources)
    with st.container(border=True):
        training_inputs()
        batch_inputs(resources, outcome)
    with st.container(border=True):
        limit_inputs()
        offer_inputs(resources)
        own = own_prices(resources, [row.instance for row in outcome.prediction.predictions])
    latencies = latencies_for_cost(resources, outcome, profiled_batch(outcome))
    show_errors(latencies.problems)
    _result(_advice(resources, outcome, latencies, own), latencies)


def _advice(resources: Resources, outcome: Outcome, latencies: TrainingSteps, own: dict[str, float]) -> Advice:
    state = st.session_state
    return advise(
        latencies.step_times,
        _offers(resources, own),
        Workload(state["images"], latencies.batch_size, state["epochs"], state["validation_images"]),
        Limits(state["deadline_h"], state["budget_usd"], state["certainty"] / 100),
        include_retired=state["retired"] == "in",
        interval_level=outcome.prediction.interval_level,
        fits=fits_of(resources, outcome, latencies.latencies_ms, latencies.batch_size),
    )


def _offers(resources: Resources, own: dict[str, float]) -> tuple[Instance, ...]:
    """The offers of the chosen market and region; where there are none, the usual ones, which the page says."""
    state = st.session_state
    region = None if state["region"] == USUAL_REGION else state["region"]
    try:
        return offers_in_market(
            resources.catalog, state["market"], region=region, own_usd_per_hour=own, spot_discount=spot_discount()
        )
    except NoOffersError as error:
        show_warning(f"{error} Until then these are the usual {ON_DEMAND} prices.")
        return offers_in_market(resources.catalog, own_usd_per_hour=own)


def _result(advice: Advice, latencies: TrainingSteps) -> None:
    st.subheader("What to rent", anchor="answer")
    first, *others = answer_sentences(advice)
    st.markdown(f"**{percents_unbroken(first)}**")
    for line in others:
        st.markdown(percents_unbroken(line))
    show_cards(advice)
    work, source, (low, high) = advice.request.workload, plain(source_words(latencies)), MEASURED_EPOCH_FACTOR
    st.caption(
        f"For {work.images:,} images at batch size {work.batch_size}, {source}, {work.epochs:,} "
        f"epochs. Measured epochs took {100 * low - 100:.0f} % to {100 * high - 100:.0f} % longer than steps times "
        "latency: add that for loading data and start-up."
    )
    st.subheader("Time against money", anchor="trade-off")
    limits = advice.request.limits
    show_chart(trade_off(points(advice), limits.deadline_h, limits.budget_usd), "advice-trade-off")
    _legend(advice)
    if advice.upgrades:
        st.subheader("What one more dollar buys", anchor="one-more-dollar")
        show_table([upgrade_row(one) for one in advice.upgrades], "What more money buys")
    st.subheader("All offers", anchor="offers")
    show_table(text_rows(advice), "Advice per offer")
    download_buttons(data_rows(advice), "profet-advice")
    st.caption(basis_line(plan.basis for plan in advice.plans))
    notes = {plan.instance: plan.latency_note for plan in advice.plans if plan.latency_note}
    if notes:
        show_notes(notes)
    if advice.excluded:
        excluded = "; ".join(f"{one.instance}: {one.reason}" for one in advice.excluded)
        st.caption(f"Left out: {plain(excluded)}.")
    show_against(advice)


def _legend(advice: Advice) -> None:
    lines, level = [], advice.request.interval_level
    dominated = dominated_lines(advice)
    if dominated:
        lines.append(f"Grey, beaten in time and money: {percents_unbroken(', '.join(dominated))}.")
    if any(plan.interval for plan in advice.plans):
        lines.append(
            f"Lines: the {level:.0%} interval of the step latency; time and money move along it together. Certainties "
            f"are computed from it. On left-out architectures {CAME_TRUE_80_TO_90:.0%} of the claims called 80% to 90% "
            "sure came true; for derived times and estimates nobody could count."
        )
    if any(plan.basis in BADGES for plan in advice.plans):
        lines.append("\\*: not predicted from profiles of that GPU at that size; the table says what it is.")
    for line in lines:
        st.caption(line)


run_page(body, advise_keys)
