"""Asks which offers show: by a preset, by filters, and of which GPUs there are curves or bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import streamlit as st

from profet_core.advice.advise import Preset, PresetRow, preset_rows
from profet_core.catalog.collection import ANY_MARKET, CONFIDENCE_WORDS, MARKET_CHOICES, Narrowing
from profet_core.catalog.instance import SPOT
from profet_core.catalog.naming import cloud_words
from ui.inputs.fields import choice, number_field
from ui.state.resources import OfferChoices, Resources, offer_choices
from ui.texts import plain

_CONFIDENCE_LABELS = dict(zip(CONFIDENCE_WORDS, ("any", "fair or good", "good"), strict=True))
_COUNT_TIP = "None chosen: one, and the smallest node of a GPU that is rented in nodes only."
_CONFIDENCE_TIP = "Profiled GPUs can be good. Unprofiled GPUs are fair at best."
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
        number_field(
            "Spot is cheaper by (%)",
            "spot_discount",
            (1, 99),
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
        number_field("GiB a GPU, at least", "min_memory_gib", empty="any")
    st.toggle("Retired instances", key="retired", persist_state="session", help="Can't be rented any more.")
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        choice("How sure", "confidence", _CONFIDENCE_LABELS, tip=_CONFIDENCE_TIP)
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
        confidence=None if state["confidence"] == CONFIDENCE_WORDS[0] else state["confidence"],
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
    state["confidence"] = CONFIDENCE_WORDS[0]


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


PRESETS: dict[str, str] = {
    Preset.ORIGINAL: "Original 4",
    Preset.AWS: "AWS",
    Preset.GPUS: "One per GPU",
    Preset.ALL: "All offers",
}
#: GPUs that a chart shows until others are chosen.
MOST_DRAWN = 6

Row = TypeVar("Row", bound=PresetRow)


def preset_choice() -> None:
    """The preset, the same on every page."""
    choice("Instances", "preset", PRESETS)


def chosen_rows(rows: Iterable[Row], *, keep: str = "", every_node: bool | None = None) -> list[Row]:
    """The rows of the chosen preset.

    Parameters
    ----------
    keep : label of a row that stays. every_node : None: where nodes are asked for.
    """
    state = st.session_state
    nodes = state["whole_nodes"] or bool(state["gpu_count"]) if every_node is None else every_node
    return preset_rows(rows, Preset(state["preset"]), retired=state["retired"], every_node=nodes, keep=keep)


def drawn_rows(rows: Sequence[Row], *, keep: str = "") -> list[Row]:
    """As many of the rows as a chart can show: of each chosen GPU the cheapest; else of the cheapest GPUs."""
    preset = Preset(st.session_state["preset"])
    if preset is Preset.ORIGINAL:
        return list(rows)
    each = preset_rows(rows, Preset.GPUS, retired=True, every_node=True, keep=keep)
    gpus = list(dict.fromkeys(row.offer.gpu for row in sorted(each, key=_by_cost)))
    st.session_state["drawn"] = [gpu for gpu in st.session_state["drawn"] if gpu in gpus]
    if len(gpus) > MOST_DRAWN:
        st.multiselect(
            "GPUs",
            gpus,
            key="drawn",
            placeholder=f"The {MOST_DRAWN} cheapest",
            help="GPUs in the chart. The table has every instance.",
            persist_state="session",
            width=320,
        )
    wanted = st.session_state["drawn"] or gpus[:MOST_DRAWN]
    return [row for row in each if row.offer.gpu in wanted or row.is_anchor or (keep and row.label == keep)]


def _by_cost(row: PresetRow) -> tuple[bool, float]:
    return row.plan is None, row.offer.usd_per_hour if row.plan is None else row.plan.total_usd
