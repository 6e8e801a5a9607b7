"""Asks which offers count: market and region, a guess of spot, and prices and instances of one's own."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from profet_core.catalog import Catalog, Instance
from profet_core.catalog.instance import ON_DEMAND, SPOT
from profet_core.catalog.offers import ANY_MARKET, MARKET_CHOICES, NoOffersError, offers_in_market
from profet_core.units import listed_price
from ui.inputs.fields import choice
from ui.inputs.number_field import number_field, whole_field
from ui.inputs.own_gpu import own_gpu_input
from ui.inputs.own_instances import own_instances_input
from ui.state.resources import Resources
from ui.state.settings import USUAL_REGION, price_key, regions
from ui.texts import plain

_PRICED = "offers:priced"


def offers_input(resources: Resources) -> None:
    """Everything about prices, behind one button; what is behind it is drawn while it is open."""
    popover = st.popover("Prices", icon=":material/payments:", key="offers", on_change="rerun")
    if popover.open:
        with popover:
            prices_input(resources)


def prices_input(resources: Resources) -> None:
    """Market and region, own prices, own instances, own GPUs."""
    market, own_price, own_instance, own_gpu = st.tabs(["Market", "Own prices", "Own instances", "My GPU"])
    with market:
        _market_input(resources)
    with own_price:
        _own_price_input(resources)
    with own_instance:
        own_instances_input(resources)
    with own_gpu:
        own_gpu_input(resources)


def chosen_offers(resources: Resources) -> tuple[Instance, ...]:
    """The offers of the chosen market and region, or the usual ones where it has none; says which are missing."""
    state = st.session_state
    region = None if state["region"] == USUAL_REGION else state["region"]
    own = own_prices(resources)
    discount = state["spot_discount"] / 100 if state["spot_discount"] and _spot_counts() else None
    try:
        found = offers_in_market(
            resources.catalog, state["market"], region=region, own_usd_per_hour=own, spot_discount=discount
        )
    except NoOffersError:
        st.info(_nothing_known(resources.catalog, state["market"], region), icon=":material/payments:")
        return offers_in_market(resources.catalog, own_usd_per_hour=own)
    left_out = [name for name in resources.catalog if name not in {offer.name for offer in found}]
    if left_out:
        st.caption(plain(f"No {_where(state['market'], region)} price is known of {', '.join(left_out)}: left out."))
    return found


def own_prices(resources: Resources) -> dict[str, float]:
    """Instance -> the visitor's own price, US dollars an hour."""
    given = {name: st.session_state.get(price_key(name)) for name in resources.catalog}
    return {name: price for name, price in given.items() if price is not None}


def _market_input(resources: Resources) -> None:
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
            tip="A guess of yours, where no spot price is known: they change by the hour and the region.",
        )


def _own_price_input(resources: Resources) -> None:
    """One instance's own price, and those that were given."""
    st.selectbox(
        "Instance",
        tuple(resources.catalog),
        format_func=resources.instance_label,
        key=_PRICED,
        persist_state="session",
    )
    name = st.session_state[_PRICED]
    number_field(
        "Your $ an hour",
        price_key(name),
        unit="$",
        empty=f"list: {listed_price(resources.catalog[name].usd_per_hour)}",
        tip="It replaces the list price in every market, and goes into the page's link. Empty: the list price.",
    )
    _show_given(own_prices(resources), resources.catalog)


def _show_given(own: dict[str, float], catalog: Catalog) -> None:
    if not own:
        return
    listed = {name: listed_price(catalog[name].usd_per_hour) for name in own}
    lines = (plain(f"{name}: {listed_price(price)}, list {listed[name]}") for name, price in own.items())
    st.markdown("\n".join(f"- {line}" for line in lines))
    st.button(
        f"Remove all {len(own)}" if len(own) > 1 else "Remove it",
        key="offers:list-prices",
        icon=":material/delete:",
        on_click=_remove_prices,
        args=(tuple(own),),
    )


def _remove_prices(names: Sequence[str]) -> None:
    for name in names:
        st.session_state[price_key(name)] = None


def _nothing_known(catalog: Catalog, market: str, region: str | None) -> str:
    """What is known where a market has no price: never a mere no."""
    usual = [catalog[name] for name in catalog if catalog[name].market == ON_DEMAND]
    dates = sorted({offer.as_of[:4] for offer in usual if offer.as_of})
    when = f" ({dates[0]} to {dates[-1]})" if dates else ""
    guess = ", or guess how much cheaper spot is" if market in (SPOT, ANY_MARKET) else ""
    return plain(
        f"No {_where(market, region)} price is known. Shown: {ON_DEMAND} prices of {len(usual)} instances{when}. "
        f"Add a price{guess} under Prices."
    )


def _where(market: str, region: str | None) -> str:
    """'spot', 'us-east-1 spot', 'us-east-1'."""
    return " ".join(part for part in (region, market) if part and part != ANY_MARKET)


def _spot_counts() -> bool:
    return st.session_state["market"] in (SPOT, ANY_MARKET)
