"""Asks what Advise needs beyond the training: deadline, budget, certainty, and the offers to choose from."""

from __future__ import annotations

import streamlit as st

from profet_core.catalog.instance import SPOT
from profet_core.catalog.offers import ANY_MARKET, MARKET_CHOICES
from ui.inputs.fields import choice
from ui.inputs.number_field import number_field, whole_field
from ui.state.resources import Resources
from ui.state.settings import CERTAINTY_RANGE, RETIRED, USUAL_REGION, regions

_DEADLINE_TIP = "When the training must be done. Picked is the cheapest that is done in time."
_BUDGET_TIP = "What the training may cost. Picked is the fastest within it, or with a deadline the cheapest."
_RETIRED_LABELS = {"out": "Left out", "in": "Taken in"}


def limit_inputs() -> None:
    """Deadline, budget and how surely they must be kept to."""
    deadline, budget, certainty = st.columns(3, gap="medium")
    with deadline:
        number_field("Deadline (hours)", "deadline_h", unit="h", empty="none", tip=_DEADLINE_TIP)
    with budget:
        number_field("Budget (US dollars)", "budget_usd", unit="$", empty="none", tip=_BUDGET_TIP)
    with certainty:
        whole_field(
            "How sure it must be (%)",
            "certainty",
            *CERTAINTY_RANGE,
            tip="The chance with which a limit must be kept to, as the intervals have it.",
        )


def offer_inputs(resources: Resources) -> None:
    """Market, retired instances, region, and a guess of spot prices where the market has them."""
    market, retired, region = st.columns(3, gap="medium")
    with market:
        choice("Market", "market", MARKET_CHOICES)
    with retired:
        choice("Retired instances", "retired", RETIRED, _RETIRED_LABELS)
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
    if _spot_counts():
        whole_field(
            "Spot is cheaper by (%), where the catalogue has no spot price",
            "spot_discount",
            1,
            99,
            empty="no guess",
            tip="A guess of yours: spot prices change by the hour and the region.",
        )


def spot_discount() -> float | None:
    """The guess as a share, 0 to 1; None where there is none or its field is hidden."""
    percent = st.session_state["spot_discount"] if _spot_counts() else None
    return None if percent is None else percent / 100


def _spot_counts() -> bool:
    return st.session_state["market"] in (SPOT, ANY_MARKET)
