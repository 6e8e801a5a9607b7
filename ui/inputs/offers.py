"""Asks which offers count: market, region, a guess of spot, prices and instances of one's own."""

from __future__ import annotations

import streamlit as st

from profet_core.catalog import Instance
from profet_core.catalog.instance import ON_DEMAND, SPOT
from profet_core.catalog.offers import ANY_MARKET, MARKET_CHOICES, NoOffersError, offers_in_market
from profet_core.units import format_usd
from ui.errors import show_warning
from ui.inputs.fields import choice
from ui.inputs.number_field import number_field, whole_field
from ui.inputs.own_instances import own_instances_input
from ui.state.resources import Resources
from ui.state.settings import USUAL_REGION, price_key, regions


def offers_input(resources: Resources) -> None:
    """Everything about prices, behind one button."""
    with st.popover("Prices", icon=":material/payments:"):
        choice("Market", "market", MARKET_CHOICES)
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
                "Spot is cheaper by (%)",
                "spot_discount",
                1,
                99,
                empty="no guess",
                tip="A guess of yours, where the catalogue has no spot price: they change by the hour and the region.",
            )
        own_instances_input(resources)
        for name in resources.catalog:
            label = f"{name} (list: {format_usd(resources.catalog[name].usd_per_hour)})"
            number_field(label, price_key(name), unit="$", empty="list price")


def chosen_offers(resources: Resources) -> tuple[Instance, ...]:
    """The offers of the chosen market and region; where there are none, the usual ones, which the page says."""
    state = st.session_state
    region = None if state["region"] == USUAL_REGION else state["region"]
    own = {name: price for name in resources.catalog if (price := state.get(price_key(name))) is not None and price > 0}
    discount = state["spot_discount"] / 100 if state["spot_discount"] and _spot_counts() else None
    try:
        return offers_in_market(
            resources.catalog, state["market"], region=region, own_usd_per_hour=own, spot_discount=discount
        )
    except NoOffersError as error:
        show_warning(f"{error} Until then these are the usual {ON_DEMAND} prices.")
        return offers_in_market(resources.catalog, own_usd_per_hour=own)


def _spot_counts() -> bool:
    return st.session_state["market"] in (SPOT, ANY_MARKET)
