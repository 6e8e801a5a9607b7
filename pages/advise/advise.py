"""Advise: a deadline, a budget or neither in, what to rent and how sure that is out."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from pages.advise.inputs import limit_inputs, offer_inputs, spot_discount
from pages.advise.plans import data_row, labels, point, show_cards, text_row, upgrade_row
from profet_core.advice.advise import Advice, advise
from profet_core.advice.certainty import CAME_TRUE_80_TO_90, INTERVAL_LEVEL
from profet_core.advice.comparison import comparison_sentences
from profet_core.advice.plans import Limits, Workload, compare
from profet_core.advice.words import answer_sentences, beaten_lines
from profet_core.catalog.offers import offers_in_market
from profet_core.cost import MEASURED_EPOCH_FACTOR
from ui.basis import BADGES, SHORT_BASIS
from ui.charts import trade_off
from ui.cost_latencies import StepLatencies, latencies_for_cost, step_times
from ui.errors import plain, show_error
from ui.frame import run_page
from ui.inputs.training import batch_inputs, own_prices, predicted_on_predict, profiled_batch, training_inputs
from ui.memory import fits_of
from ui.state.resources import Resources
from ui.state.session import Outcome
from ui.state.settings import (
    COMPARED_KEYS,
    USUAL_PLAN,
    USUAL_REGION,
    advise_keys,
    scale_keys,
)
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
    _result(_advice(resources, outcome, latencies, own), latencies, _level(outcome))


def keys(resources: Resources) -> Iterable[str]:
    """Settings of the page's link; the ends of the batch axis too where the latencies come from them."""
    scaled = st.session_state["batch_from"] == "scaled"
    return (*advise_keys(resources), *(scale_keys(resources, "batch") if scaled else ()))


def _advice(resources: Resources, outcome: Outcome, latencies: StepLatencies, own: dict[str, float]) -> Advice:
    state = st.session_state
    offers = offers_in_market(
        resources.catalog,
        state["market"],
        region=None if state["region"] == USUAL_REGION else state["region"],
        own_usd_per_hour=own,
        spot_discount=spot_discount(),
    )
    return advise(
        step_times(outcome, latencies),
        offers,
        Workload(state["images"], latencies.batch_size, state["epochs"], state["validation_images"]),
        Limits(state["deadline_h"], state["budget_usd"]),
        certainty=state["certainty"] / 100,
        include_retired=state["retired"] == "in",
        interval_level=_level(outcome),
        fits=fits_of(resources, outcome, latencies.latencies_ms, latencies.batch_size),
    )


def _level(outcome: Outcome) -> float:
    return outcome.prediction.interval_level or INTERVAL_LEVEL


def _result(advice: Advice, latencies: StepLatencies, level: float) -> None:
    st.subheader("What to rent", anchor="answer")
    first, *others = answer_sentences(advice)
    st.markdown(f"**{_text(first)}**")
    for line in others:
        st.markdown(_text(line))
    show_cards(advice)
    work, (low, high) = advice.workload, MEASURED_EPOCH_FACTOR
    st.caption(
        f"For {work.images:,} images at batch size {work.batch_size}, {plain(latencies.source)}, {work.epochs:,} "
        f"epochs. Measured epochs took {100 * low - 100:.0f} % to {100 * high - 100:.0f} % longer than steps times "
        "latency: add that for loading data and start-up."
    )
    st.subheader("Time against money", anchor="trade-off")
    st.plotly_chart(
        trade_off([point(advice, plan) for plan in advice.plans], advice.limits.deadline_h, advice.limits.budget_usd),
        config={"displayModeBar": False},
        key="advice-trade-off",
    )
    _say_what_is_shown(advice, level)
    if advice.upgrades:
        st.subheader("What one more dollar buys", anchor="one-more-dollar")
        show_table([upgrade_row(one) for one in advice.upgrades], "What more money buys")
    st.subheader("All offers", anchor="offers")
    show_table([text_row(advice, plan) for plan in advice.plans], "Advice per offer")
    download_buttons([data_row(advice, plan) for plan in advice.plans], "profet-advice")
    kinds = dict.fromkeys(plan.basis for plan in advice.plans)
    st.caption("; ".join(f"**{SHORT_BASIS[kind]}**: {kind.words}" for kind in kinds) + ".")
    resting = {plan.instance: plan.rests_on for plan in advice.plans if plan.rests_on}
    if resting:
        with st.expander("What derived times and estimates rest on"):
            st.markdown("\n".join(f"- **{plain(name)}**: {plain(text)}" for name, text in resting.items()))
    if advice.left_out:
        left_out = "; ".join(f"{one.instance}: {one.reason}" for one in advice.left_out)
        st.caption(f"Left out: {plain(left_out)}.")
    _against(advice, level)


def _say_what_is_shown(advice: Advice, level: float) -> None:
    lines = []
    beaten = beaten_lines(advice)
    if beaten:
        lines.append(f"Grey, beaten in time and money: {_text(', '.join(beaten))}.")
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


def _against(advice: Advice, level: float) -> None:
    plans = labels(advice)
    for key in COMPARED_KEYS:
        if st.session_state[key] not in plans:
            st.session_state[key] = USUAL_PLAN
    if len(plans) < 2:
        return
    st.subheader("One against another", anchor="against")
    cheapest = advice.cheapest
    second = cheapest.rival or next(plan for plan in advice.plans if plan != cheapest.plan)
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
    for number, line in enumerate(comparison_sentences(compare(a, b, level))):
        st.markdown(f"**{_text(line)}**" if number < 2 else _text(line))


def _text(line: str) -> str:
    """A sentence as text, its percents on one line."""
    return plain(line).replace(" %", "\N{NO-BREAK SPACE}%")


run_page(body, keys)
