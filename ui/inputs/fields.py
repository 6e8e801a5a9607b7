"""The kinds of field that pages ask with; each keeps its value while the visitor is on other pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core.units import LARGEST_NUMBER, SMALLEST_NUMBER
from ui.state.session import Field


def choice(
    label: str,
    field: Field[str] | str,
    options: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    """One of a few, all in sight.

    Parameters
    ----------
    options : each to how it reads; None: as the field has them. more : as `st.segmented_control` takes it.
    """
    key, options = _of(field, options)
    words = options.__getitem__
    st.segmented_control(
        label, tuple(options), format_func=words, key=key, required=True, persist_state="session", **more
    )


def select(
    label: str, field: Field[str] | Field[str | None] | str, options: Mapping[str, str] | None = None, **more: Any
) -> None:
    """One of many, behind a list; `options` as in `choice`, `more` as `st.selectbox` takes it."""
    key, options = _of(field, options)
    st.selectbox(label, tuple(options), format_func=options.__getitem__, key=key, persist_state="session", **more)


def toggle(label: str, field: Field[bool], tip: str) -> None:
    """Yes or no."""
    st.toggle(label, key=field.key, persist_state="session", help=tip)


def some_of(label: str, field: Field[list[str]], options: Collection[str], **more: Any) -> None:
    """Some of many; `more` as `st.multiselect` takes it."""
    st.multiselect(label, options, key=field.key, persist_state="session", **more)


def number_field(
    label: str,
    field: Field[Any] | str,
    bounds: tuple[float, float] = (SMALLEST_NUMBER, LARGEST_NUMBER),
    *,
    empty: str | None = None,
    tip: str | None = None,
    at: DeltaGenerator | None = None,
    on_change: Callable[[], None] | None = None,
) -> None:
    """A number above 0.

    Parameters
    ----------
    field : of the session, with its bounds, or a key.
    bounds : of a key: smallest and largest number; whole ones take whole numbers only.
    empty : stands in the field while it is empty; None: it may not be. at : where it is drawn, such as a column.
    """
    key, bounds = (field, bounds) if isinstance(field, str) else (field.key, field.bounds)
    kind: dict[str, Any] = {"format": "%d"} if isinstance(bounds[0], int) else {"format": "%g", "step": 0.1}
    (st if at is None else at).number_input(
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


def _of(field: Field[Any] | str, options: Mapping[str, str] | None) -> tuple[str, Mapping[str, str]]:
    if isinstance(field, str):
        return field, options or {}
    return field.key, options or field.options
