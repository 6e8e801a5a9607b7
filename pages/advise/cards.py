"""The plans that the advice picks, a card each."""

from __future__ import annotations

import streamlit as st

from profet_core.advice.advise import Advice
from profet_core.advice.certainty import format_certainty
from profet_core.advice.picks import Pick
from profet_core.advice.plans import Plan
from profet_core.advice.request import Limits
from profet_core.advice.within import Within
from profet_core.advice.words import pick_line
from profet_core.units import format_duration, format_usd
from ui.basis import BADGES, RETIRED_BADGE
from ui.phrases import sentence
from ui.texts import plain


def show_cards(advice: Advice) -> None:
    """Cheapest, fastest, and what keeps to the limits."""
    within = advice.within
    columns = st.columns(3 if within else 2, gap="medium", border=True)
    with columns[0]:
        _pick_card("Cheapest", advice.cheapest)
    with columns[1]:
        _pick_card("Fastest", advice.fastest)
    if within:
        with columns[2]:
            _within_card(within)


def _within_card(within: Within) -> None:
    title, plan = _limits_title(within.limits), within.sure or within.expected
    if plan is None:
        st.metric(title, "none")
        st.markdown(f"Nearest: {plain(within.nearest.label)}, {_figures(within.nearest)}")
        return
    chance = plan.within_limits
    short = "" if within.sure else ", less than asked for"
    _card(title, plan, "no interval is known" if chance is None else f"{format_certainty(chance)} sure{short}")


def _limits_title(limits: Limits) -> str:
    if limits.deadline_h is None:
        return "Fastest within the budget"
    return "Cheapest in time" if limits.budget_usd is None else "Cheapest within both limits"


def _pick_card(title: str, pick: Pick) -> None:
    _card(title, pick.plan, pick_line(pick))


def _card(title: str, plan: Plan, line: str) -> None:
    st.metric(title, plan.label)
    st.markdown(f"{_figures(plan)}{_badges(plan)}")
    if line:
        st.caption(plain(sentence(line)))


def _figures(plan: Plan) -> str:
    return plain(f"{format_duration(plan.total_s)}, {format_usd(plan.total_usd)}")


def _badges(plan: Plan) -> str:
    found = [BADGES.get(plan.basis, "")]
    if plan.offer.status == "retired":
        found.append(RETIRED_BADGE)
    if plan.whole_node:
        found.append(f":gray-badge[{plan.offer.gpu_count} GPUs paid, one used]")
    return "".join(f" {badge}" for badge in found if badge)
