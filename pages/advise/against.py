"""Two plans set against each other: how sure it is that one is faster, and that one is cheaper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from profet_core.advice.advise import Advice
from profet_core.advice.comparison import compare
from profet_core.advice.comparison_words import comparison_sentences
from profet_core.advice.plans import Plan
from ui.state.page_keys import COMPARED_KEYS
from ui.state.settings import USUAL_PLAN
from ui.texts import percents_unbroken


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two: its field, the plan in it until another is chosen, and why it is that."""

    title: str
    key: str
    usual: Plan
    why: str


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
    first_key, second_key = COMPARED_KEYS
    left, right = st.columns(2, gap="medium")
    with left:
        first = _choice(plans, _Side("A", first_key, cheapest.plan, "the cheapest"))
    with right:
        second = _choice(plans, _Side("B", second_key, rival, "next to it"))
    if first == second:
        st.info("Choose two different offers.")
        return
    for number, line in enumerate(comparison_sentences(compare(first, second, advice.request.interval_level))):
        text = percents_unbroken(line)
        st.markdown(f"**{text}**" if number < 2 else text)


def _choice(plans: Mapping[str, Plan], side: _Side) -> Plan:
    """One of the plans by its label, or the usual one."""
    labels = {USUAL_PLAN: f"{side.usual.label} ({side.why})"} | {label: label for label in plans}
    st.selectbox(side.title, tuple(labels), format_func=labels.__getitem__, key=side.key, persist_state="session")
    return plans.get(st.session_state[side.key], side.usual)
