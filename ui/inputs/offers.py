"""Ask which offers show: by preset, filter, and custom prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, replace
from typing import Any, TypeVar

import streamlit as st

from profet_core import InputError
from profet_core.advice.advise import Preset, PresetRow, preset_rows
from profet_core.catalog.collection import ANY_MARKET, CONFIDENCE_WORDS, MARKET_CHOICES, Narrowing
from profet_core.catalog.instance import SPOT
from profet_core.catalog.naming import cloud_words
from profet_core.fields.questions import AdviseQuestion
from profet_core.typed_numbers import as_typed, typed_positive
from profet_core.units import listed_price
from ui.inputs.fields import choice, number_field, select, some_of, toggle
from ui.inputs.own_catalog import own_gpu_input, own_instances_input
from ui.inputs.own_table import own_table
from ui.inputs.training import typed_network
from ui.notices import one_line_errors
from ui.state.own_catalog import own_gpu_instances, visitors_resources
from ui.state.resources import Resources, offer_choices
from ui.state.session import PRICE, Drawn, Offers, session
from ui.words import plain

#: A longer summary counts what narrows.
_MOST_WORDS = 28


def filter_button(resources: Resources) -> None:
    """Everything that narrows offers behind one button, drawn while it is open, what is chosen beside it."""
    # A button whose label changed would be another one, and closed.
    popover = st.popover("Filter", key="narrowing", on_change="rerun")
    if popover.open:
        with popover:
            narrowing_fields(resources)
    if words := _summary(chosen_narrowing(resources)):
        st.caption(plain(words), width="content")


def narrowing_fields(resources: Resources) -> None:
    """A field for each."""
    chosen_narrowing(resources)
    known = offer_choices(resources)
    clouds, gpus = st.columns(2, gap="small")
    with clouds:
        some_of("Cloud", Offers.provider, known["provider"], format_func=cloud_words, placeholder="any")
    with gpus:
        some_of("GPU", Offers.gpu, known["gpu"], placeholder="any")
    choice("Market", Offers.market)
    if spot_counts():
        number_field(
            "Spot is cheaper by (%)",
            Offers.spot_discount,
            empty="no guess",
            tip="A guess of yours, where no spot price is known: they change by the hour and the region.",
        )
    region, memory = st.columns(2, gap="small")
    with region:
        # No region is none of the options: a visitor's own may have any name.
        select("Region", Offers.region, {one: one for one in known["region"]}, index=None, placeholder="anywhere")
    number_field("GiB per GPU, at least", Offers.min_memory_gib, empty="any", at=memory)
    st.pills(
        "GPUs in a machine",
        known["gpu_count"],
        selection_mode="multi",
        key=Offers.gpu_count.key,
        help="None chosen: one, and the smallest node of a GPU that is rented in nodes only.",
        persist_state="session",
    )
    toggle("Retired instances", Offers.retired, "Can't be rented any more.")
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        choice("Confidence", Offers.confidence, help="Profiled GPUs can be good. Unprofiled GPUs are fair at best.")
        st.button("Every offer", key="narrowing:widen", icon=":material/filter_alt_off:", on_click=_widen)


def chosen_narrowing(resources: Resources) -> Narrowing:
    """What the settings ask of an offer; what is there no more, such as an own GPU that was removed, is forgotten."""
    offers = session.offers
    for name, options in offer_choices(resources).items():
        chosen = getattr(offers, name)
        if isinstance(chosen, list):
            kept: object = [value for value in chosen if value in options]
        else:
            kept = chosen if chosen in options else None
        if kept != chosen:
            setattr(offers, name, kept)
    return Narrowing(
        provider=tuple(offers.provider),
        region=offers.region,
        market=None if offers.market == MARKET_CHOICES[0] else offers.market,
        gpu=tuple(offers.gpu),
        gpu_count=tuple(int(count) for count in offers.gpu_count),
        min_memory_gib=offers.min_memory_gib,
        confidence=None if offers.confidence == CONFIDENCE_WORDS[0] else offers.confidence,
    )


def spot_counts() -> bool:
    """Whether the chosen market has spot prices."""
    return session.offers.market in (SPOT, ANY_MARKET)


def _widen() -> None:
    for name in ("provider", "gpu", "gpu_count", "market", "region", "min_memory_gib", "confidence"):
        setattr(session.offers, name, copy(vars(Offers)[name].default))


def _summary(narrowing: Narrowing) -> str:
    """'GCP, Lambda · V100 · spot'; how many where that is long; empty where nothing narrows."""
    parts = [
        ", ".join(map(cloud_words, narrowing.provider)),
        ", ".join(narrowing.gpu),
        narrowing.region or "",
        narrowing.market or "",
        f"≥ {narrowing.min_memory_gib:g} GiB" if narrowing.min_memory_gib else "",
        f"{', '.join(map(str, narrowing.gpu_count))} GPUs" if narrowing.gpu_count else "",
        narrowing.confidence or "",
    ]
    words = " · ".join(part for part in parts if part)
    return words if len(words) <= _MOST_WORDS else f"{sum(map(bool, parts))} limits"


#: GPUs that a chart shows until others are chosen.
MOST_DRAWN = 6

Row = TypeVar("Row", bound=PresetRow)


def preset_choice() -> None:
    """The preset, the same on every page."""
    choice("Instances", Offers.preset)


def chosen_rows(rows: Iterable[Row], *, keep: str = "", every_node: bool | None = None) -> list[Row]:
    """The rows of the chosen preset.

    Parameters
    ----------
    keep : label of a row that stays. every_node : None: where nodes are asked for.
    """
    offers = session.offers
    nodes = session.nodes.whole_nodes or bool(offers.gpu_count) if every_node is None else every_node
    return preset_rows(rows, Preset(offers.preset), retired=offers.retired, every_node=nodes, keep=keep)


def drawn_rows(rows: Sequence[Row], *, keep: str = "") -> list[Row]:
    """As many of the rows as a chart can show: of each chosen GPU the cheapest; else of the cheapest GPUs."""
    if session.offers.preset == Preset.ORIGINAL:
        return list(rows)
    each = preset_rows(rows, Preset.GPUS, retired=True, every_node=True, keep=keep)
    gpus = list(dict.fromkeys(row.offer.gpu for row in sorted(each, key=_by_cost)))
    session.drawn.drawn = [gpu for gpu in session.drawn.drawn if gpu in gpus]
    if len(gpus) > MOST_DRAWN:
        tip = "GPUs in the chart. The table has every instance."
        some_of("GPUs", Drawn.drawn, gpus, placeholder=f"The {MOST_DRAWN} cheapest", help=tip, width=320)
    wanted = session.drawn.drawn or gpus[:MOST_DRAWN]
    return [row for row in each if row.offer.gpu in wanted or row.is_anchor or (keep and row.offer.label == keep)]


def _by_cost(row: PresetRow) -> tuple[bool, float]:
    return row.plan is None, row.offer.usd_per_hour if row.plan is None else row.plan.total_usd


def offer_buttons(resources: Resources) -> None:
    """What narrows offers, and everything about prices in a dialog; closing it draws the page with what was changed."""
    filter_button(resources)

    @st.dialog("Prices", width="large", on_dismiss="rerun")
    def dialog() -> None:
        with one_line_errors():
            # With what was added since the dialog opened.
            prices_input(visitors_resources())

    if st.button("Prices", key="offers"):
        dialog()


def with_offers(resources: Resources, question: AdviseQuestion) -> AdviseQuestion:
    """The question about the offers that the filter leaves, at the visitor's own prices."""
    whole_nodes = session.nodes.whole_nodes
    network, parameters = typed_network() if whole_nodes else (None, None)
    return replace(
        question,
        **offer_values(resources),
        include_retired=True,
        whole_nodes=whole_nodes,
        network=network,
        parameters=parameters,
    )


def offer_values(resources: Resources) -> dict[str, Any]:
    """Fields of a question: which offers, at which prices, and how sure of them."""
    narrowing, offers = chosen_narrowing(resources), session.offers
    return {
        **asdict(narrowing),
        "market": offers.market,
        "price": PRICE.given(resources),
        "spot_discount": offers.spot_discount / 100 if offers.spot_discount and spot_counts() else None,
    }


def prices_input(resources: Resources) -> None:
    """Draw the tables of custom prices, instances and GPUs."""
    st.caption("Click the empty row to add one. Select rows to delete them.")
    own_price, own_instance, own_gpu = st.tabs(["Prices", "Custom instances", "Custom GPU"])
    with own_price:
        _own_price_input(resources)
    with own_instance:
        own_instances_input(resources)
    with own_gpu:
        own_gpu_input()


def _own_price_input(resources: Resources) -> None:
    """Draw the table of custom prices; a custom GPU has its price in its own table."""
    of_own_gpus = own_gpu_instances()
    names = tuple(name for name in resources.catalog if name not in of_own_gpus)

    def label(option: object) -> str:
        name = str(option)
        return f"{resources.instance_label(name)}, list {listed_price(resources.catalog[name].usd_per_hour)}/h"

    st.caption("A price here replaces the list price in every market, and the page's link keeps it.")
    own_table(
        "own-prices",
        {
            "instance": st.column_config.SelectboxColumn(
                "Instance", options=names, required=True, format_func=label, width="large"
            ),
            "usd": st.column_config.NumberColumn("Your price ($/h)", required=True, min_value=0),
        },
        list(PRICE.given(resources).items()),
        lambda row: {"instance": row[0], "usd": as_typed(row[1])},
        lambda cells: (cells["instance"], typed_positive(cells["usd"])),
        _put_prices,
    )


def _put_prices(rows: Sequence[tuple[str, float]]) -> None:
    names = [name for name, _ in rows]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} has two prices: keep one.")
    for name in PRICE.given(visitors_resources()):
        st.session_state[PRICE.key(name)] = None
    for name, usd in rows:
        st.session_state[PRICE.key(name)] = usd
