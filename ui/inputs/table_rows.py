"""Asks how many of the offers have a row, where there are many."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import streamlit as st

from profet_core.advice.plans import Plan
from profet_core.advice.shortlist import MOST_SHORTLISTED, plan_a_gpu, shortlist
from ui.inputs.fields import choice
from ui.state.settings import ROWS

_BEST, _GPUS, _ALL = ROWS


def plans_with_a_row(plans: Sequence[Plan], keep: Collection[Plan]) -> list[Plan]:
    """As many of the plans as are chosen, the cheapest first; `keep` in any case, and of each GPU a retired offer.

    Retired ones are there only where somebody asks for them.
    """
    chosen = st.session_state["rows"]
    if chosen == _ALL:
        return list(plans)
    kept = [*keep, *plan_a_gpu(plan for plan in plans if plan.offer.status == "retired")]
    return plan_a_gpu(plans, kept) if chosen == _GPUS else shortlist(plans, kept)


def plans_with_a_mark(plans: Sequence[Plan], keep: Collection[Plan]) -> list[Plan]:
    """Those that a chart shows: as the table, but of all offers of a GPU the cheapest."""
    few = len(plans) <= MOST_SHORTLISTED
    return plans_with_a_row(plans, keep) if few or st.session_state["rows"] != _ALL else plan_a_gpu(plans, keep)


def rows_choice(plans: Sequence[Plan]) -> None:
    """Few, one of each GPU, or all."""
    if len(plans) > MOST_SHORTLISTED:
        choice("Rows", "rows", ROWS, {_BEST: "Best", _GPUS: "GPUs", _ALL: "All"})
