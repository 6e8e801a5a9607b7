"""Advise: a deadline, a budget or neither in, what to rent and how sure that is out."""

from __future__ import annotations

import streamlit as st

from pages.advise.inputs import limit_inputs, offer_inputs, spot_discount
from pages.advise.plans import data_row, labels, point, show_cards, text_row, upgrade_row
from profet_core.advice.advise import Advice, advise
from profet_core.advice.certainty import CAME_TRUE_80_TO_90
from profet_core.advice.comparison import compare
from profet_core.advice.comparison_words import comparison_sentences
from profet_core.advice.request import Limits, Workload
from profet_core.advice.words import answer_sentences, dominated_lines
from profet_core.catalog.offers import offers_in_market
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.training.steps import TrainingSteps
from ui.basis import BADGES, SHORT_BASIS
from ui.charts import trade_off
from ui.cost_latencies import latencies_for_cost, source_words
from ui.errors import plain, show_error
from ui.frame import run_page
from ui.inputs.training import batch_inputs, own_prices, predicted_on_predict, profiled_batch, training_inputs
from ui.memory import fits_of
from ui.predicted.outcome import Outcome
from ui.state.page_keys import COMPARED_KEYS, advise_keys
from ui.state.resources import Resources
from ui.state.settings import USUAL_PLAN, USUAL_REGION
from ui.tables import download_buttons, show_table


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
    for name, line in latencies.problems.items():
        show_error(f"{name}: {line}")
    _result(_advice(resources, outcome, latencies, own), latencies)


def _advice(resources: Resources, outcome: Outcome, latencies: TrainingSteps, own: dict[str, float]) -> Advice:
    state = st.session_state
    offers = offers_in_market(
        resources.catalog,
        state["market"],
        region=None if state["region"] == USUAL_REGION else state["region"],
        own_usd_per_hour=own,
        spot_discount=spot_discount(),
    )
    return advise(
        latencies.step_times,
        offers,
        Workload(state["images"], latencies.batch_size, state["epochs"], state["validation_images"]),
        Limits(state["deadline_h"], state["budget_usd"], state["certainty"] / 100),
        include_retired=state["retired"] == "in",
        interval_level=outcome.prediction.interval_level,
        fits=fits_of(resources, outcome, latencies.latencies_ms, latencies.batch_size),
    )


def _result(advice: Advice, latencies: TrainingSteps) -> None:
    st.subheader("What to rent", anchor="answer")
    first, *others = answer_sentences(advice)
    st.markdown(f"**{_text(first)}**")
    for line in others:
        st.markdown(_text(line))
    show_cards(advice)
    work, (low, high) = advice.request.workload, MEASURED_EPOCH_FACTOR
    st.caption(
        f"For {work.images:,} images at batch size {work.batch_size}, {plain(source_words(latencies))}, "
        f"{work.epochs:,} epochs. Measured epochs took {100 * low - 100:.0f} % to {100 * high - 100:.0f} % longer than "
        "steps times latency: add that for loading data and start-up."
    )
    st.subheader("Time against money", anchor="trade-off")
    st.plotly_chart(
        trade_off(
            [point(advice, plan) for plan in advice.plans],
            advice.request.limits.deadline_h,
            advice.request.limits.budget_usd,
        ),
        config={"displayModeBar": False},
        key="advice-trade-off",
    )
    _say_what_is_shown(advice)
    if advice.upgrades:
        st.subheader("What one more dollar buys", anchor="one-more-dollar")
        show_table([upgrade_row(one) for one in advice.upgrades], "What more money buys")
    st.subheader("All offers", anchor="offers")
    show_table([text_row(advice, plan) for plan in advice.plans], "Advice per offer")
    download_buttons([data_row(advice, plan) for plan in advice.plans], "profet-advice")
    kinds = dict.fromkeys(plan.basis for plan in advice.plans)
    st.caption("; ".join(f"**{SHORT_BASIS[kind]}**: {kind.words}" for kind in kinds) + ".")
    resting = {plan.instance: plan.latency_note for plan in advice.plans if plan.latency_note}
    if resting:
        with st.expander("What derived times and estimates rest on"):
            st.markdown("\n".join(f"- **{plain(name)}**: {plain(text)}" for name, text in resting.items()))
    if advice.excluded:
        excluded = "; ".join(f"{one.instance}: {one.reason}" for one in advice.excluded)
        st.caption(f"Left out: {plain(excluded)}.")
    _against(advice)


def _say_what_is_shown(advice: Advice) -> None:
    lines, level = [], advice.request.interval_level
    dominated = dominated_lines(advice)
    if dominated:
        lines.append(f"Grey, beaten in time and money: {_text(', '.join(dominated))}.")
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


def _against(advice: Advice) -> None:
    plans = labels(advice)
    for key in COMPARED_KEYS:
        if st.session_state[key] not in plans:
            st.session_state[key] = USUAL_PLAN
    if len(plans) < 2:
        return
    st.subheader("One against another", anchor="against")
    cheapest = advice.cheapest
    others = (plan for plan in advice.plans if plan != cheapest.plan)
    second = cheapest.rival.plan if cheapest.rival else next(others)
    chosen = []
    columns = st.columns(2, gap="medium")
    usual_ones = ((cheapest.plan, "the cheapest"), (second, "next to it"))
    for key, (usual, words), column, title in zip(COMPARED_KEYS, usual_ones, columns, "AB", strict=True):
        column.selectbox(
            title,
            (USUAL_PLAN, *plans),
            format_func={USUAL_PLAN: f"{usual.label} ({words})", **{name: name for name in plans}}.get,
            key=key,
            persist_state="session",
        )
        chosen.append(plans.get(st.session_state[key], usual))
    a, b = chosen
    if a == b:
        st.info("Choose two different offers.")
        return
    for number, line in enumerate(comparison_sentences(compare(a, b, advice.request.interval_level))):
        st.markdown(f"**{_text(line)}**" if number < 2 else _text(line))


def _text(line: str) -> str:
    """A sentence as text, its percents on one line."""
    return plain(line).replace(" %", "\N{NO-BREAK SPACE}%")


run_page(body, advise_keys)
