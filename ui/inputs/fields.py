"""The kinds of field that several pages ask with; each keeps its value while the visitor is on other pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from profet_core.units import LARGEST_NUMBER, SMALLEST_NUMBER


def choice(
    label: str,
    key: str,
    options: Mapping[str, str] | Sequence[str],
    *,
    disabled: bool = False,
    tip: str | None = None,
) -> None:
    """One of a few, all in sight; `options` may map each to how it reads."""
    st.segmented_control(
        label,
        tuple(options),
        format_func=options.__getitem__ if isinstance(options, Mapping) else str,
        key=key,
        required=True,
        disabled=disabled,
        help=tip,
        persist_state="session",
    )


def number_field(
    label: str,
    key: str,
    bounds: tuple[float, float] = (SMALLEST_NUMBER, LARGEST_NUMBER),
    *,
    empty: str | None = None,
    tip: str | None = None,
    on_change: Callable[[], None] | None = None,
) -> None:
    """A number above 0, which is the setting `key`.

    Parameters
    ----------
    bounds : smallest and largest number; whole ones take whole numbers only.
    empty : stands in the field while it is empty; None: it may not be.
    """
    kind: dict[str, Any] = {"format": "%d"} if isinstance(bounds[0], int) else {"format": "%g", "step": 0.1}
    st.number_input(
        label,
        *bounds,
        value="min" if empty is None else None,
        key=key,
        placeholder=empty,
        help=tip,
        on_change=on_change,
        persist_state="session",
        **kind,
    )
