"""A field for a number, typed with the marks of whatever habit; a wrong one is said beside it and changes nothing.

A browser's own number field drops a comma: "203,3" became 2033. What is typed here is text, read by
`profet_core.typed_numbers`; the number it stands for is the setting that pages and links know, and stays the last good
one while the text is none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core import InputError
from profet_core.typed_numbers import Number, TypedNumber, as_typed, as_understood, typed_positive, typed_whole
from ui.errors import show_error
from ui.state.link import page_shown


@dataclass(frozen=True, slots=True)
class _Standing:
    """What the text of a field stands for.

    Attributes
    ----------
    typed : the visitor wrote the text; else it was written for them, of the value.
    page : that the field is on; a text of another page's is not this one's.
    """

    value: float | None
    typed: bool
    page: str


def number_field(
    label: str,
    key: str,
    *,
    unit: str = "",
    empty: str | None = None,
    tip: str | None = None,
    on_change: Callable[[], None] | None = None,
    below: DeltaGenerator | None = None,
) -> float | None:
    """Ask for a number above 0; returns the one in effect, which is the setting `key`.

    Parameters
    ----------
    unit : of the number, as it is said back: "ms", "h", "$".
    empty : stands in the field while it is empty; None: it may not be.
    on_change : called when the setting has changed.
    below : takes what is wrong with the text, where the field itself is too narrow for a sentence.
    """
    return _field(label, key, typed_positive, unit, empty, tip, on_change, below)


def whole_field(
    label: str,
    key: str,
    smallest: int,
    largest: int,
    *,
    empty: str | None = None,
    tip: str | None = None,
    on_change: Callable[[], None] | None = None,
    below: DeltaGenerator | None = None,
) -> int | None:
    """As `number_field`, for a whole number within bounds."""
    read = partial(typed_whole, smallest=smallest, largest=largest)
    return _field(label, key, read, "", empty, tip, on_change, below)


def text_key(key: str) -> str:
    """The text field's own key in the session, beside that of its setting."""
    return f"typed:{key}"


def _field(
    label: str,
    key: str,
    read: Callable[[str], TypedNumber[Number]],
    unit: str,
    empty: str | None,
    tip: str | None,
    on_change: Callable[[], None] | None,
    below: DeltaGenerator | None,
) -> Number | None:
    value = st.session_state.get(key)
    standing = st.session_state.get(_standing_key(key))
    current = (value, page_shown())
    if text_key(key) not in st.session_state or standing is None or (standing.value, standing.page) != current:
        # A link, a profile or another page has said something since.
        standing = _stand(key, value, typed=False)
        st.session_state[text_key(key)] = "" if value is None else as_typed(value)
    text = st.text_input(
        label,
        key=text_key(key),
        placeholder=empty,
        help=tip,
        autocomplete="off",
        on_change=_take,
        args=(key, read, empty is not None, on_change),
    )
    if line := _wrong(text or "", read, empty is not None):
        until_then = "" if value is None else f" Until then: {_with_unit(value, unit)}."
        with below or nullcontext():
            show_error(f"{line}{until_then}")
    elif text and standing.typed and not read(text).obvious:
        st.caption(f"= {_with_unit(read(text).value, unit)}")
    return value


def _take(
    key: str, read: Callable[[str], TypedNumber[Number]], may_be_empty: bool, on_change: Callable[[], None] | None
) -> None:
    """Put what was typed into the setting, if it is good."""
    text = st.session_state[text_key(key)] or ""
    if _wrong(text, read, may_be_empty):
        _stand(key, st.session_state.get(key), typed=True)
        return
    st.session_state[key] = _stand(key, read(text).value if text.strip() else None, typed=True).value
    if on_change is not None:
        on_change()


def _wrong(text: str, read: Callable[[str], TypedNumber[Number]], may_be_empty: bool) -> str | None:
    """One line on what is wrong with the text; None if it is good."""
    if not text.strip():
        return None if may_be_empty else "Give a number."
    try:
        read(text)
    except InputError as error:
        return str(error)
    return None


def _stand(key: str, value: float | None, *, typed: bool) -> _Standing:
    st.session_state[_standing_key(key)] = _Standing(value, typed, page_shown())
    return st.session_state[_standing_key(key)]


def _with_unit(value: float, unit: str) -> str:
    number = as_understood(value)
    return f"${number}" if unit == "$" else f"{number} {unit}".strip()


def _standing_key(key: str) -> str:
    return f"typed-for:{key}"
