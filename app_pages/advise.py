"""Advise: a deadline, a budget or neither in, what to rent and how sure that is out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from profet_core.advice import Advice, advise
from profet_core.advice_words import answer_sentences, beaten_line, comparison_sentences
from profet_core.certainty import CAME_TRUE_80_TO_90, INTERVAL_LEVEL
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.offers import MARKETS, SPOT, offers_in_market
from profet_core.plans import BASIS_WORDS, CarriedStep, Limits, StepTime, Workload, compare
from ui.advice import SHORT_BASIS, data_row, labels, point, show_cards, text_row, upgrade_row
from ui.charts import trade_off
from ui.cost_latencies import StepLatencies, latencies_for_cost
from ui.errors import plain, show_error, show_warning
from ui.frame import run_page
from ui.measured import predict_measured
from ui.profile_input import latency_question, profile_phrase
from ui.resources import Resources
from ui.session import Outcome
from ui.settings import (
    CERTAINTY_RANGE,
    COMPARED_KEYS,
    PREDICT_SLOT,
    RETIRED,
    USUAL_PLAN,
    USUAL_REGION,
    advise_keys,
    regions,
    scale_keys,
)
from ui.tables import download_buttons, show_table
from ui.training_inputs import batch_inputs, own_prices, profiled_batch, training_inputs


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Which instance should you rent?")
    outcome = predict_measured(resources)
    st.markdown(f"For {profile_phrase(outcome)}.")
    st.page_link("app_pages/predict.py", label="Change the profile on Predict", icon=":material/arrow_back:")
    latency_question(resources, PREDICT_SLOT, outcome)
    for line in outcome.prediction.warnings:
        show_warning(line)
    with st.container(border=True):
        training_inputs()
        batch_inputs(resources, outcome)
    with st.container(border=True):
        _limit_inputs()
        _offer_inputs(resources)
        own = own_prices(resources, [row.instance for row in outcome.prediction.predictions])
    latencies = latencies_for_cost(resources, outcome, profiled_batch(outcome))
    for name, line in latencies.problems.items():
        show_error(f"{name}: {line}")
    _result(_advice(resources, outcome, latencies, own), latencies, _level(outcome))


def keys(resources: Resources) -> Iterable[str]:
    """Settings of the page's link; the ends of the batch axis too where the latencies come from them."""
    scaled = st.session_state["batch_from"] == "scaled"
    return (*advise_keys(resources), *(scale_keys(resources, "batch") if scaled else ()))


def _limit_inputs() -> None:
    deadline, budget, certainty = st.columns(3, gap="medium")
    deadline.number_input(
        "Deadline (hours)",
        value=None,
        min_value=0.0,
        step=1.0,
        format="%g",
        placeholder="none",
        key="deadline_h",
        persist_state="session",
        help="When the training must be done. Picked is the cheapest that is done in time.",
    )
    budget.number_input(
        "Budget (US dollars)",
        value=None,
        min_value=0.0,
        step=1.0,
        format="%g",
        placeholder="none",
        key="budget_usd",
        persist_state="session",
        help="What the training may cost. Picked is the fastest within it, or with a deadline the cheapest.",
    )
    certainty.number_input(
        "How sure it must be (%)",
        *CERTAINTY_RANGE,
        step=5,
        key="certainty",
        persist_state="session",
        help="The chance with which a limit must be kept to, as the intervals have it.",
    )


def _offer_inputs(resources: Resources) -> None:
    market, retired, region = st.columns(3, gap="medium")
    with market:
        st.segmented_control("Market", MARKETS, key="market", required=True, persist_state="session")
    with retired:
        st.segmented_control(
            "Retired instances",
            RETIRED,
            format_func={"out": "Left out", "in": "Taken in"}.get,
            key="retired",
            required=True,
            persist_state="session",
        )
    with region:
        known = regions(resources)
        if len(known) > 1:
            st.selectbox(
                "Region",
                (USUAL_REGION, *known),
                format_func=lambda name: "The usual one of each" if name == USUAL_REGION else name,
                key="region",
                persist_state="session",
            )
    if st.session_state["market"] in (SPOT, MARKETS[-1]):
        st.number_input(
            "Spot is cheaper by (%), where the catalogue has no spot price",
            1,
            99,
            value=None,
            step=5,
            placeholder="no guess",
            key="spot_discount",
            persist_state="session",
            help="A guess of yours: spot prices change by the hour and the region.",
        )


def _advice(resources: Resources, outcome: Outcome, latencies: StepLatencies, own: dict[str, float]) -> Advice:
    state = st.session_state
    # Only the field that is shown counts.
    discount = state["spot_discount"] if state["market"] in (SPOT, MARKETS[-1]) else None
    offers = offers_in_market(
        resources.catalog,
        state["market"],
        region=None if state["region"] == USUAL_REGION else state["region"],
        own_usd_per_hour=own,
        spot_discount=None if discount is None else discount / 100,
    )
    return advise(
        _rows(outcome, latencies),
        offers,
        Workload(state["images"], latencies.batch_size, state["epochs"], state["validation_images"]),
        Limits(state["deadline_h"], state["budget_usd"]),
        certainty=state["certainty"] / 100,
        include_retired=state["retired"] == "in",
        interval_level=_level(outcome),
    )


def _rows(outcome: Outcome, latencies: StepLatencies) -> Sequence[StepTime]:
    if latencies.carried:
        return [CarriedStep(name, latency_ms) for name, latency_ms in latencies.latencies_ms.items()]
    return outcome.prediction.predictions


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
    st.caption("; ".join(f"**{SHORT_BASIS[kind]}**: {BASIS_WORDS[kind]}" for kind in kinds) + ".")
    if advice.left_out:
        left_out = "; ".join(f"{one.instance}: {one.reason}" for one in advice.left_out)
        st.caption(f"Left out: {plain(left_out)}.")
    if len(advice.plans) > 1:
        _against(advice, level)


def _say_what_is_shown(advice: Advice, level: float) -> None:
    lines = []
    if advice.beaten:
        beaten = ", ".join(beaten_line(one) for one in advice.beaten)
        lines.append(f"Grey, beaten in time and money: {_text(beaten)}.")
    if any(plan.low_s is not None for plan in advice.plans):
        lines.append(
            f"Lines: the {level:.0%} interval of the step latency; time and money move along it together. Certainties "
            f"are computed from it. On left-out architectures {CAME_TRUE_80_TO_90:.0%} of the claims called 80% to 90% "
            "sure came true; for derived times and estimates nobody could count."
        )
    if any(plan.basis in ("derived", "transferred", "carried") for plan in advice.plans):
        lines.append("\\*: not predicted from profiles of that GPU at that size; the table says what it is.")
    for line in lines:
        st.caption(line)


def _against(advice: Advice, level: float) -> None:
    st.subheader("One against another", anchor="against")
    plans = labels(advice)
    cheapest = advice.cheapest
    second = cheapest.rival or next(plan for plan in advice.plans if plan != cheapest.plan)
    chosen = []
    columns = st.columns(2, gap="medium")
    usual_ones = ((cheapest.plan, "the cheapest"), (second, "next to it"))
    for key, (usual, words), column, title in zip(COMPARED_KEYS, usual_ones, columns, "AB", strict=True):
        if st.session_state[key] not in plans:
            st.session_state[key] = USUAL_PLAN
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
