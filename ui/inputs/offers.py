"""Ask which offers show: by preset and filter, at the visitor's own prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, replace
from typing import Any, TypeVar

import streamlit as st

from profet_core.advice.advise import Preset, PresetRow, preset_rows
from profet_core.catalog.collection import ANY_MARKET, CONFIDENCE_WORDS, MARKET_CHOICES, Narrowing
from profet_core.catalog.instance import SPOT
from profet_core.catalog.naming import cloud_words
from profet_core.fields.questions import AdviseQuestion
from ui.inputs.fields import choice, number_field, select, some_of, toggle, typed_network
from ui.inputs.prices import prices_dialog
from ui.state.own import own_prices
from ui.state.resources import Resources, offer_choices
from ui.state.session import Offers, SizesView, session
from ui.words import plain

#: A longer summary counts what narrows.
_MOST_WORDS = 28
#: GPUs that a chart shows until others are chosen.
_MOST_DRAWN = 6


def _filter(resources: Resources) -> None:
    """Everything that narrows offers behind one button, drawn while it is open, what is chosen beside it."""
    # A button whose label changed would be another one, and closed.
    popover = st.popover("Filter", key="narrowing", on_change="rerun")
    if popover.open:
        with popover:
            _fields(resources)
    if words := _summary(chosen_narrowing(resources)):
        st.caption(plain(words), width="content")


def _fields(resources: Resources) -> None:
    chosen_narrowing(resources)
    known = offer_choices(resources)
    clouds, gpus = st.columns(2, gap="small")
    with clouds:
        some_of("Cloud", Offers.provider, known["provider"], format_func=cloud_words, placeholder="any")
    with gpus:
        some_of("GPU", Offers.gpu, known["gpu"], placeholder="any")
    choice("Market", Offers.market)
    if _spot_counts():
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
    given = offers.provider or offers.region or offers.gpu or offers.gpu_count
    for name, options in offer_choices(resources).items() if given else ():
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


def _spot_counts() -> bool:
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


Row = TypeVar("Row", bound=PresetRow)


def preset_choice() -> None:
    """The preset, the same on every page."""
    choice("Instances", Offers.preset)


def chosen_rows(rows: Iterable[Row], *, keep: str = "", every_node: bool | None = None) -> list[Row]:
    """The rows of the chosen preset.

    `keep`: label of a row that stays. `every_node`: None: where nodes are asked for.
    """
    offers = session.offers
    nodes = session.training.whole_nodes or bool(offers.gpu_count) if every_node is None else every_node
    return preset_rows(rows, Preset(offers.preset), retired=offers.retired, every_node=nodes, keep=keep)


def drawn_rows(rows: Sequence[Row], *, keep: str = "") -> list[Row]:
    """As many of the rows as a chart can show: of each chosen GPU the cheapest; else of the cheapest GPUs."""
    if session.offers.preset == Preset.ORIGINAL:
        return list(rows)
    each = preset_rows(rows, Preset.GPUS, retired=True, every_node=True, keep=keep)
    gpus = list(dict.fromkeys(row.offer.gpu for row in sorted(each, key=_by_cost)))
    session.sizes.drawn = [gpu for gpu in session.sizes.drawn if gpu in gpus]
    if len(gpus) > _MOST_DRAWN:
        tip = "GPUs in the chart. The table has every instance."
        some_of("GPUs", SizesView.drawn, gpus, placeholder=f"The {_MOST_DRAWN} cheapest", help=tip, width=320)
    wanted = session.sizes.drawn or gpus[:_MOST_DRAWN]
    return [row for row in each if row.offer.gpu in wanted or row.is_anchor or (keep and row.offer.label == keep)]


def _by_cost(row: PresetRow) -> tuple[bool, float]:
    return row.plan is None, row.offer.usd_per_hour if row.plan is None else row.plan.total_usd


def offer_buttons(resources: Resources) -> None:
    """What narrows offers, and everything about prices in a dialog."""
    _filter(resources)
    if st.button("Prices", key="offers"):
        prices_dialog()


def with_offers(resources: Resources, question: AdviseQuestion) -> AdviseQuestion:
    """The question about the offers that the filter leaves, at the visitor's own prices."""
    whole_nodes = session.training.whole_nodes
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
        "price": own_prices(resources),
        "spot_discount": offers.spot_discount / 100 if offers.spot_discount and _spot_counts() else None,
    }
