"""Ask which offers show: by preset and filter, at the visitor's own prices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import streamlit as st
from msgspec.structs import asdict, replace

from profet_core import Prediction
from profet_core.answers.context import filtered_rows, market_offers
from profet_core.catalog.collection import (
    ANY_MARKET,
    NoOffersError,
    OfferFilter,
    filter_words,
)
from profet_core.catalog.instance import SPOT, cloud_words
from profet_core.questions import AdviseQuestion, StepsQuestion, ask
from profet_core.training.advise import Preset, preset_rows
from profet_core.training.cost import Workload
from profet_core.training.plans import CostTable, Plan, costed
from ui.custom import custom_prices
from ui.fields import choice, number_field, select, several_of, some_of, toggle
from ui.prices import prices_dialog
from ui.resources import Resources
from ui.session import LINKED, session
from ui.words import plain, sentence

#: GPUs that a chart shows until others are chosen.
_MAX_DRAWN = 6


def _filter(resources: Resources) -> None:
    """Everything that filters offers behind one button, drawn while it is open."""
    # A button whose label changed would be another one, and closed.
    popover = st.popover("Filter", key="offer_filter", on_change="rerun")
    if not popover.open:
        return
    chosen_filter(resources)
    options = resources.catalog.filter_options
    with popover:
        clouds, gpus = st.columns(2, gap="small")
        look: Any = {"placeholder": "Any", "help": "To exclude some, select all, then remove those.", "wrap": True}
        with clouds:
            some_of("provider", options["provider"], format_func=cloud_words, **look)
        with gpus:
            some_of("gpu", options["gpu"], **look)
        choice("market")
        if session.offers.market in (SPOT, ANY_MARKET):
            tip = "Your guess, used where no spot price is listed. Spot prices change by hour and region."
            number_field("spot_discount", empty="No guess", help=tip)
        region, memory = st.columns(2, gap="small")
        with region:
            # No region is none of the options: a visitor's own may have any name.
            select("region", options["region"], index=None, placeholder="Anywhere")
        number_field("min_memory_gib", empty="Any", at=memory)
        tip = "Default: one, or the smallest machine of a GPU that is only rented several at a time."
        several_of("gpu_count", options["gpu_count"], help=tip)
        toggle("include_retired")
        choice("confidence", help="Profiled GPUs can be good. Unprofiled GPUs are fair at best.")


def offer_buttons(resources: Resources) -> None:
    """Show what filters offers, a dialog about prices, and the filters, each to remove with one click."""
    _filter(resources)
    if st.button("Prices", key="offers", help="Prices and custom GPUs"):
        prices_dialog()
    if chosen := filter_words(chosen_filter(resources), resources.catalog.filter_options):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="chips"):
            for name, words in chosen.items():
                more: Any = {"icon": ":material/close:", "icon_position": "right", "args": (name,)}
                st.button(plain(sentence(words)), key=f"chip:{name}", on_click=_remove, **more)
            st.button("Clear filters", key="chip:all", type="tertiary", on_click=_remove, args=tuple(chosen))


def filter_hint(resources: Resources, error: NoOffersError) -> None:
    """Say what no offer matches, with a button for each filter without which some do."""
    chosen = filter_words(chosen_filter(resources), resources.catalog.filter_options)
    gpu, cloud = chosen.get("gpu", "offer"), f" at {chosen['provider']}" if "provider" in chosen else ""
    others = ", ".join(words for name, words in chosen.items() if name not in ("gpu", "provider"))
    st.info(plain(f"No {gpu}{cloud}{others and f' with {others}'}."), icon=":material/filter_alt:")
    with st.container(horizontal=True, gap="small"):
        for name, count in error.without.items():
            label = plain(f"Remove {chosen[name]} ({count} offer{'s' * (count > 1)})")
            st.button(label, key=f"hint:{name}", on_click=_remove, args=(name,))


def _remove(*filters: str) -> None:
    for name in filters:
        setattr(session.offers, name, copy(LINKED[name].default))


def chosen_filter(resources: Resources) -> OfferFilter:
    """Return what the settings ask of an offer; what is no longer there, such as a removed GPU, is dropped."""
    offers = session.offers
    for name, options in resources.catalog.filter_options.items():
        chosen = getattr(offers, name)
        if isinstance(chosen, list):
            kept: object = [value for value in chosen if value in options]
        else:
            kept = chosen if chosen in options else None
        if kept != chosen:
            setattr(offers, name, kept)
    return ask(StepsQuestion, offers.answers(StepsQuestion)).offer_filter


def preset_choice() -> None:
    """Ask for the preset, the same on every page."""
    choice("preset")


def chosen_rows(rows: Iterable[Plan], *, keep: str = "", every_node: bool | None = None) -> list[Plan]:
    """Return the rows of the chosen preset.

    `keep`: label of a row that stays. `every_node`: None: where whole nodes are chosen.
    """
    offers = session.offers
    nodes = session.training.whole_nodes or bool(offers.gpu_count) if every_node is None else every_node
    return preset_rows(rows, Preset(offers.preset), retired=offers.include_retired, every_node=nodes, keep=keep)


def drawn_rows(rows: Sequence[Plan], *, keep: str = "") -> list[Plan]:
    """As many of the rows as a chart can show: of each chosen GPU the cheapest; else of the cheapest GPUs."""
    if session.offers.preset == Preset.ORIGINAL:
        return list(rows)
    cheapest = preset_rows(rows, Preset.GPUS, retired=True, every_node=True, keep=keep)
    by_cost = sorted(cheapest, key=lambda row: row.total_usd if row.has_number else math.inf)
    gpus = list(dict.fromkeys(row.offer.gpu for row in by_cost))
    session.sizes.drawn = [gpu for gpu in session.sizes.drawn if gpu in gpus]
    if len(gpus) > _MAX_DRAWN:
        some_of("drawn", gpus, placeholder=f"{_MAX_DRAWN} cheapest, anchor", width=220)
    wanted = session.sizes.drawn or gpus[:_MAX_DRAWN]
    return [row for row in cheapest if row.offer.gpu in wanted or row.is_anchor or (keep and row.label == keep)]


def with_offers(resources: Resources, question: AdviseQuestion) -> AdviseQuestion:
    """Return the question about the offers that the filter leaves, at the visitor's own prices."""
    whole_nodes = session.training.whole_nodes
    more: Any = {"include_retired": True, "whole_nodes": whole_nodes, "network": None}
    return replace(question, **offer_values(resources), **more | (session.training.shared if whole_nodes else {}))


def offer_values(resources: Resources) -> dict[str, Any]:
    """Fields of a question: which offers, at which prices, and how sure of them."""
    chosen = session.offers.answers(AdviseQuestion)
    prices = {"price": custom_prices(resources), "market": chosen["market"], "spot_discount": chosen["spot_discount"]}
    return {**asdict(chosen_filter(resources)), **prices}


def offered_plans(resources: Resources, prediction: Prediction, batch_size: int) -> CostTable:
    """Cost the training on each offer that the filter leaves and a step is known of, at the visitor's prices."""
    values, offer_filter = offer_values(resources), chosen_filter(resources)
    training = session.training.answers(AdviseQuestion)
    # Without costs beside the steps.
    work = Workload(
        batch_size=batch_size, **{name: training[name] for name in Workload.__struct_fields__ if name in training}
    )
    prices = {name: values[name] for name in ("price", "spot_discount")}
    offers, names = market_offers(resources, offer_filter, values["market"], **prices)
    steps = prediction.predictions
    selected = filtered_rows(steps, offer_filter, names, "")
    numbers = {step.instance: step.number for step in selected if step.latency_ms is not None}
    offers = tuple(offer for offer in offers if offer.name in numbers)
    return costed(work, steps.take([numbers[offer.name] for offer in offers], offers), anchor=prediction.anchor)
