"""Asks which offers count: cloud, region, market, GPU, memory, number of GPUs, and how sure the numbers must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from profet_core.catalog.instance import SPOT
from profet_core.catalog.naming import cloud_words
from profet_core.catalog.narrowing import SURENESS_WORDS, Narrowing
from profet_core.catalog.offers import ANY_MARKET, MARKET_CHOICES
from ui.inputs.fields import choice
from ui.inputs.number_field import number_field, whole_field
from ui.state.offer_choices import OfferChoices, offer_choices
from ui.state.resources import Resources
from ui.texts import plain

_SURENESS_LABELS = dict(zip(SURENESS_WORDS, ("any", "fair or good", "good"), strict=True))
_COUNT_TIP = "None chosen: one, and the smallest node of a GPU that is rented in nodes only."
_SURENESS_TIP = "Good are GPUs that were profiled. One that nobody profiled is fair at best."
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
    known = offer_choices(resources)
    chosen_narrowing(resources)
    clouds, gpus = st.columns(2, gap="small")
    with clouds:
        _some_of("Cloud", "provider", known.providers, cloud_words)
    with gpus:
        _some_of("GPU", "gpu", known.gpus)
    market, region = st.columns([3, 2], gap="small")
    with market:
        choice("Market", "market", MARKET_CHOICES)
    with region:
        # No region is none of the options: a visitor's own may have any name.
        st.selectbox("Region", known.regions, index=None, key="region", placeholder="anywhere", persist_state="session")
    if spot_counts():
        whole_field(
            "Spot is cheaper by (%)",
            "spot_discount",
            1,
            99,
            empty="no guess",
            tip="A guess of yours, where no spot price is known: they change by the hour and the region.",
        )
    count, memory = st.columns(2, gap="small")
    with count:
        st.pills(
            "GPUs in a machine",
            known.gpu_counts,
            selection_mode="multi",
            key="gpu_count",
            help=_COUNT_TIP,
            persist_state="session",
        )
    with memory:
        number_field("GiB a GPU, at least", "min_memory_gib", unit="GiB", empty="any")
    st.toggle("Retired instances", key="retired", persist_state="session", help="Can't be rented any more.")
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        choice("How sure", "sureness", SURENESS_WORDS, _SURENESS_LABELS, tip=_SURENESS_TIP)
        st.button("Every offer", key="narrowing:widen", icon=":material/filter_alt_off:", on_click=_widen)


def chosen_narrowing(resources: Resources) -> Narrowing:
    """What the settings ask of an offer; what is there no more, such as an own GPU that was removed, is forgotten."""
    _forget_gone(offer_choices(resources))
    state = st.session_state
    return Narrowing(
        provider=tuple(state["provider"]),
        region=state["region"],
        market=None if state["market"] == MARKET_CHOICES[0] else state["market"],
        gpu=tuple(state["gpu"]),
        gpu_count=tuple(int(count) for count in state["gpu_count"]),
        min_memory_gib=state["min_memory_gib"],
        sureness=None if state["sureness"] == SURENESS_WORDS[0] else state["sureness"],
    )


def spot_counts() -> bool:
    """Whether the chosen market has spot prices."""
    return st.session_state["market"] in (SPOT, ANY_MARKET)


def _forget_gone(known: OfferChoices) -> None:
    state = st.session_state
    for key, options in (("provider", known.providers), ("gpu", known.gpus), ("gpu_count", known.gpu_counts)):
        kept = [value for value in state[key] or () if value in options]
        if kept != state[key]:
            state[key] = kept
    if state["region"] not in (None, *known.regions):
        state["region"] = None


def _some_of(label: str, key: str, options: Sequence[str], words: Callable[[str], str] = str) -> None:
    st.multiselect(label, options, format_func=words, key=key, placeholder="any", persist_state="session")


def _widen() -> None:
    state = st.session_state
    state["provider"], state["gpu"], state["gpu_count"] = [], [], []
    state["market"], state["region"], state["min_memory_gib"] = MARKET_CHOICES[0], None, None
    state["sureness"] = SURENESS_WORDS[0]


def _summary(narrowing: Narrowing) -> str:
    """'GCP, Lambda · V100 · spot'; how many where that is long; empty where nothing narrows."""
    parts = [
        ", ".join(map(cloud_words, narrowing.provider)),
        ", ".join(narrowing.gpu),
        narrowing.region or "",
        narrowing.market or "",
        f"≥ {narrowing.min_memory_gib:g} GiB" if narrowing.min_memory_gib else "",
        f"{', '.join(map(str, narrowing.gpu_count))} GPUs" if narrowing.gpu_count else "",
        narrowing.sureness or "",
    ]
    words = " · ".join(part for part in parts if part)
    return words if len(words) <= _MOST_WORDS else f"{sum(map(bool, parts))} limits"
