"""Cards that name the cheapest, the fastest and the best-value instance."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.predict.rows import Per
from profet_core.advice.certainty import format_certainty
from profet_core.advice.plans import Limits, Plan, Workload
from profet_core.advice.recommend import Recommendation, recommendations, within
from profet_core.catalog.naming import machine_words
from profet_core.units import format_usd_range
from ui.tables import plan_gpus
from ui.words import plain


def show_cards(plans: Sequence[Plan], limits: Limits, workload: Workload, per: Per) -> None:
    """One card per recommendation among the plans that are shown."""
    if not plans:
        st.info("No instance here has a number. Choose another preset or widen the filter.", icon=":material/info:")
        return
    limited = limits.deadline_h is not None or limits.budget_usd is not None
    kept = within(plans, limits)
    if limited and not kept:
        st.warning("No instance here meets your deadline and budget.", icon=":material/timer_off:")
    found = recommendations(kept or plans)
    for column, card in zip(st.columns(len(found)), found, strict=True):
        with column, st.container(border=True, height="stretch", gap=None, key=f"card-{card.goals[0].name.lower()}"):
            st.markdown("  \n".join(_lines(card, workload, per, limited=limited and bool(kept))))


def _lines(card: Recommendation, workload: Workload, per: Per, *, limited: bool) -> list[str]:
    plan, shown = card.plan, per.of(workload, card.plan)
    goals = " and ".join(card.goals).capitalize()
    spread = f":small[({plain(format_usd_range(*shown.cost_ends_usd))})]" if shown.cost_ends_usd else ""
    lines = [
        f"{goals}: **{plain(plan_gpus(plan))}** :small[{plain(machine_words(plan.offer))}]",
        f"**{plain(shown.words)}** {spread}",
    ]
    if card.runner_up is not None:
        other = card.runner_up
        lines.append(f":small[{plain(f'or {plan_gpus(other)}: {per.of(workload, other).words}')}]")
    if limited and plan.within_limits is not None:
        lines.append(f":small[{plain(f'Meets your limits: {format_certainty(plan.within_limits)} likely')}]")
    return lines
