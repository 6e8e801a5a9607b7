"""Asks what a profile can't tell about its step: the precision, and whether it was compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from ui.state.own_profiles import OwnProfile, change_own


@dataclass(frozen=True, slots=True)
class _Question:
    """One field of `OwnProfile`, with the answers that can be chosen and how they read."""

    field: str
    label: str
    answers: Mapping[str | bool | None, str]
    tip: str


_PRECISION = _Question(
    "precision",
    "Precision of the step",
    {None: "Don't know", "fp32": "FP32", "tf32": "TF32", "amp": "AMP (mixed FP16)", "bf16": "AMP (mixed BF16)"},
    "On Ampere and later, PyTorch and TensorFlow use TF32 by default.",
)
_COMPILED = _Question(
    "compiled",
    "Compiled (XLA, torch.compile)?",
    {None: "Don't know", False: "No", True: "Yes"},
    "Compilers join operations, which the models have never seen.",
)


def step_questions(own: OwnProfile | None, prefix: str) -> None:
    """Ask beside the profile; the answers stay with it and lead to its warnings."""
    if own is None or not (own.asks_precision or own.asks_compiled):
        return
    with st.container(horizontal=True, gap="small"):
        if own.asks_precision:
            _ask(own, prefix, _PRECISION)
        if own.asks_compiled:
            _ask(own, prefix, _COMPILED)


def _ask(own: OwnProfile, prefix: str, question: _Question) -> None:
    key, options = f"{prefix}:{question.field}:{own.key}", tuple(question.answers)
    st.selectbox(
        question.label,
        options,
        index=options.index(getattr(own, question.field)),
        format_func=question.answers.__getitem__,
        key=key,
        help=question.tip,
        width=230,
        on_change=_answer,
        args=(own.key, question.field, key),
    )


def _answer(own_key: str, field: str, key: str) -> None:
    change_own(own_key, **{field: st.session_state[key]})
