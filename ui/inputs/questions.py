"""Asks what a profile can't tell about its step: the precision, and whether it was compiled."""

from __future__ import annotations

import streamlit as st

from ui.state.own_profiles import OwnProfile, change_own

_PRECISIONS = {None: "Don't know", "fp32": "FP32", "tf32": "TF32", "mixed precision": "Mixed (FP16, BF16)"}
_COMPILED = {None: "Don't know", False: "No", True: "Yes"}


def step_questions(own: OwnProfile | None, prefix: str) -> None:
    """Ask beside the profile; the answers stay with it and lead to its warnings."""
    if own is None or not (own.asks_precision or own.asks_compiled):
        return
    with st.container(horizontal=True, gap="small"):
        if own.asks_precision:
            _ask(
                own,
                prefix,
                "precision",
                "Precision of the step",
                _PRECISIONS,
                "The models were trained on FP32. On Ampere and newer, PyTorch and TensorFlow may use TF32 unasked.",
            )
        if own.asks_compiled:
            _ask(
                own,
                prefix,
                "compiled",
                "Compiled (XLA, torch.compile)?",
                _COMPILED,
                "Compilers join operations, which the models have never seen.",
            )


def _ask(own: OwnProfile, prefix: str, field: str, label: str, answers: dict, tip: str) -> None:
    key = f"{prefix}:{field}:{own.key}"
    st.selectbox(
        label,
        tuple(answers),
        index=tuple(answers).index(getattr(own, field)),
        format_func=answers.__getitem__,
        key=key,
        help=tip,
        width=230,
        on_change=_answer,
        args=(own.key, field, key),
    )


def _answer(own_key: str, field: str, key: str) -> None:
    change_own(own_key, **{field: st.session_state[key]})
