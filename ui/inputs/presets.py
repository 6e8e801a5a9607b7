"""Asks which offers show, by a preset, and of which GPUs there are curves or bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import streamlit as st

from profet_core.advice.rows import Preset, PresetRow, preset_rows
from ui.inputs.fields import choice

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
    choice("Instances", "preset", tuple(PRESETS), PRESETS)


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
