"""The best instances for the profile, each with how sure it is that no other GPU is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from profet_core import InputError, Prediction
from profet_core.advice.advise import Advice, advise
from profet_core.advice.picks import Pick
from profet_core.advice.plans import Plan
from profet_core.advice.request import Workload
from profet_core.advice.words import pick_line
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_ms, format_usd
from ui.basis import BADGES, RETIRED_BADGE
from ui.phrases import sentence
from ui.state.resources import Resources
from ui.texts import plain

#: What is picked from: the price is of a thousand steps.
_STEPS = 1000


def show_callouts(resources: Resources, prediction: Prediction, fits: Mapping[str, FitAnswer]) -> None:
    """Fastest and cheapest; what does not fit in memory is none of them."""
    every, rentable = (_advice(resources, prediction, fits, include_retired) for include_retired in (True, False))
    if every is None:
        return
    columns = st.columns(3 if rentable else 2, gap="medium", border=True)
    with columns[0]:
        _callout("Fastest", every.fastest, _latency_line)
    with columns[1]:
        _callout("Cheapest", every.cheapest, _cost_line)
    if rentable:
        with columns[2]:
            _callout("Cheapest you can rent today", rentable.cheapest, _latency_and_cost_line)
    retired = [row.instance for row in prediction.predictions if row.status == "retired"]
    if retired:
        st.caption(
            f"Grey and hatched: retired, no longer rented out, shown because they were measured ({', '.join(retired)})."
        )


def _advice(
    resources: Resources, prediction: Prediction, fits: Mapping[str, FitAnswer], include_retired: bool
) -> Advice | None:
    """What to rent for a thousand steps; None if nothing is left to choose from."""
    try:
        return advise(
            prediction.predictions,
            resources.catalog.values(),
            Workload(images=_STEPS, batch_size=1, epochs=1),
            include_retired=include_retired,
            fits=fits,
            interval_level=prediction.interval_level,
        )
    except InputError:
        return None


def _callout(title: str, pick: Pick, line: Callable[[Plan], str]) -> None:
    plan = pick.plan
    badges = (RETIRED_BADGE if plan.offer.status == "retired" else "", BADGES.get(plan.basis, ""))
    st.metric(title, plan.instance)
    st.markdown(" ".join(part for part in (plain(line(plan)), *badges) if part))
    sure = pick_line(pick)
    if sure:
        st.caption(plain(sentence(sure)))


def _latency_line(plan: Plan) -> str:
    return f"{format_ms(plan.latency_ms)} a step"


def _cost_line(plan: Plan) -> str:
    return f"{format_usd(plan.total_usd)} per 1,000 steps"


def _latency_and_cost_line(plan: Plan) -> str:
    return f"{format_ms(plan.latency_ms)} a step, {format_usd(plan.total_usd)} per 1,000"
