"""The kinds of field that pages ask with; each keeps its value while the visitor is on other pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import streamlit as st

from profet_core.units import LARGEST_NUMBER, SMALLEST_NUMBER
from ui.state.session import Field


def choice(
    label: str,
    field: Field[str] | str,
    options: Mapping[str, str] | None = None,
    *,
    disabled: bool = False,
    tip: str | None = None,
) -> None:
    """One of a few, all in sight; `options` map each to how it reads, by default as the field has them."""
    key, options = _of(field, options)
    st.segmented_control(
        label,
        tuple(options),
        format_func=options.__getitem__,
        key=key,
        required=True,
        disabled=disabled,
        help=tip,
        persist_state="session",
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
    on_change: Callable[[], None] | None = None,
) -> None:
    """A number above 0.

    Parameters
    ----------
    field : of the session, with its bounds, or a key.
    bounds : of a key: smallest and largest number; whole ones take whole numbers only.
    empty : stands in the field while it is empty; None: it may not be.
    """
    key, bounds = (field, bounds) if isinstance(field, str) else (field.key, field.bounds)
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


def _of(field: Field[Any] | str, options: Mapping[str, str] | None) -> tuple[str, Mapping[str, str]]:
    if isinstance(field, str):
        return field, options or {}
    return field.key, options or field.options
