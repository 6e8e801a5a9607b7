"""Two plans set against each other: how sure it is that one is faster, and that one is cheaper."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from profet_core.advice.advise import Advice
from profet_core.advice.comparison import compare
from profet_core.advice.comparison_words import comparison_sentences
from profet_core.advice.plans import Plan
from ui.state.page_keys import COMPARED_KEYS
from ui.state.settings import USUAL_PLAN
from ui.texts import percents_unbroken


def show_against(advice: Advice) -> None:
    """Two choices, and what can be said of them."""
    # There is one offer of an instance and market.
    plans = {plan.label: plan for plan in advice.plans}
    for key in COMPARED_KEYS:
        if st.session_state[key] not in plans:
            st.session_state[key] = USUAL_PLAN
    if len(plans) < 2:
        return
    st.subheader("One against another", anchor="against")
    cheapest = advice.cheapest
    others = (plan for plan in advice.plans if plan != cheapest.plan)
    rival = cheapest.rival.plan if cheapest.rival else next(others)
    left, right = st.columns(2, gap="medium")
    with left:
        first = _choice("A", COMPARED_KEYS[0], plans, cheapest.plan, "the cheapest")
    with right:
        second = _choice("B", COMPARED_KEYS[1], plans, rival, "next to it")
    if first == second:
        st.info("Choose two different offers.")
        return
    for number, line in enumerate(comparison_sentences(compare(first, second, advice.request.interval_level))):
        text = percents_unbroken(line)
        st.markdown(f"**{text}**" if number < 2 else text)


def _choice(title: str, key: str, plans: Mapping[str, Plan], usual: Plan, why: str) -> Plan:
    """One of the plans by its label, or the usual one and why it is that."""
    labels = {USUAL_PLAN: f"{usual.label} ({why})"} | {label: label for label in plans}
    st.selectbox(title, tuple(labels), format_func=labels.__getitem__, key=key, persist_state="session")
    return plans.get(st.session_state[key], usual)
