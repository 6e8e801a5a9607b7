"""The offers that count: what the narrowing leaves of the catalogue, and prices and instances of one's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import streamlit as st

from profet_core.catalog import Catalog, Instance
from profet_core.catalog.narrowing import Narrowing, narrowed
from profet_core.catalog.nodes import without_larger_nodes
from profet_core.catalog.offers import NoOffersError, offers_in_market
from profet_core.units import listed_price
from ui.inputs.narrowing import chosen_narrowing, spot_counts
from ui.inputs.number_field import number_field
from ui.inputs.own_gpu import own_gpu_input
from ui.inputs.own_instances import own_instances_input
from ui.state.own_gpus import own_gpu_instances
from ui.state.resources import Resources
from ui.state.settings import price_key
from ui.texts import plain

#: Instances that a line names.
_NAMED = 3
_PRICED = "offers:priced"


def offers_input(resources: Resources) -> None:
    """Everything about prices, behind one button; what is behind it is drawn while it is open."""
    popover = st.popover("Prices", icon=":material/payments:", key="offers", on_change="rerun")
    if popover.open:
        with popover:
            prices_input(resources)


def prices_input(resources: Resources) -> None:
    """Own prices, own instances, own GPUs."""
    own_price, own_instance, own_gpu = st.tabs(["Own prices", "Own instances", "My GPU"])
    with own_price:
        _own_price_input(resources)
    with own_instance:
        own_instances_input(resources)
    with own_gpu:
        own_gpu_input(resources)


def chosen_offers(resources: Resources, opened: str = "", *, every_node: bool = False) -> tuple[Instance, ...]:
    """The offers that are wanted and can be rented, one of an instance and market.

    Parameters
    ----------
    every_node : larger nodes too, though nobody asks for them.
    opened : key of the open row, whose node stays where others are not asked for.

    Raises
    ------
    NoOffersError : there is none; one line that says what to widen.
    """
    narrowing = chosen_narrowing(resources)
    found: Sequence[Instance] = _wanted(resources, narrowing)
    if not st.session_state["retired"]:
        found = _available(found)
    # A row's key is its instance's name, and the market's where it is another than usual.
    return tuple(
        found if narrowing.gpu_count or every_node else without_larger_nodes(found, {opened.partition(" ")[0]})
    )


def chosen_instances(resources: Resources, opened: str = "") -> dict[str, Instance]:
    """Instance -> the cheapest of its offers among `chosen_offers`, whatever its market."""
    found: dict[str, Instance] = {}
    for offer in chosen_offers(resources, opened):
        if offer.name not in found or offer.usd_per_hour < found[offer.name].usd_per_hour:
            found[offer.name] = offer
    return found


def _wanted(resources: Resources, narrowing: Narrowing) -> tuple[Instance, ...]:
    """The offers that the narrowing leaves; says of how many instances the market has no price."""
    state, own = st.session_state, own_prices(resources)
    market = state["market"]
    discount = state["spot_discount"] / 100 if state["spot_discount"] and spot_counts() else None
    # A guess of spot is made from on-demand prices, and an own price counts in every market: the market narrows last.
    catalog = _narrowed_catalog(resources, replace(narrowing, market=None), own)
    try:
        found = offers_in_market(
            catalog,
            market,
            own_usd_per_hour={name: price for name, price in own.items() if name in catalog},
            spot_discount=discount,
        )
    except NoOffersError:
        narrowed(resources.catalog.all_offers, replace(narrowing, market=market), resources.gpus)
        raise
    without = len(catalog) - len({offer.name for offer in found})
    if without:
        st.caption(f"No {market} price is known of {without} instance{'s' if without > 1 else ''}: left out.")
    return found


def _narrowed_catalog(resources: Resources, narrowing: Narrowing, own: Collection[str]) -> Catalog:
    """The offers that are wanted; those of `own`, which have a price of the visitor's own, in every region."""
    if not narrowing.of_offers:
        return resources.catalog
    asked = narrowing.conditions(resources.gpus)
    anywhere = replace(narrowing, region=None).conditions(resources.gpus)
    return Catalog(
        offer
        for offer in resources.catalog.all_offers
        if all(asks(offer) for asks in (anywhere if offer.name in own else asked).values())
    )


def _available(offers: Sequence[Instance]) -> list[Instance]:
    found = [offer for offer in offers if offer.status != "retired"]
    if offers and not found:
        names = ", ".join(dict.fromkeys(offer.name for offer in offers[:_NAMED]))
        more = ", ..." if len(offers) > _NAMED else ""
        raise NoOffersError(f"No longer rented out: {names}{more}. Switch on Retired, or widen Offers.")
    return found


def own_prices(resources: Resources) -> dict[str, float]:
    """Instance -> the visitor's own price, US dollars an hour."""
    given = {name: st.session_state.get(price_key(name)) for name in resources.catalog}
    return {name: price for name, price in given.items() if price is not None}


def _own_price_input(resources: Resources) -> None:
    """One instance's own price, and those that were given; an own GPU says itself what an hour of it costs."""
    of_own_gpus = own_gpu_instances()
    st.selectbox(
        "Instance",
        tuple(name for name in resources.catalog if name not in of_own_gpus),
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
