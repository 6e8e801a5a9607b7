"""The kinds of field that several pages ask with; each keeps its value while the visitor is on other pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st


def choice(
    label: str,
    key: str,
    options: Sequence[str],
    labels: Mapping[str, str] | None = None,
    *,
    disabled: bool = False,
    tip: str | None = None,
) -> None:
    """One of a few, all in sight.

    Parameters
    ----------
    labels : option -> how it reads; None: as it is called.
    """
    st.segmented_control(
        label,
        options,
        format_func=str if labels is None else labels.__getitem__,
        key=key,
        required=True,
        disabled=disabled,
        help=tip,
        persist_state="session",
    )
