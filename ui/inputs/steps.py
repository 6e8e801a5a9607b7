"""Asks what a visitor's file doesn't tell of its step: how many it covers, the precision, whether it was compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from profet_core import Profile
from profet_core.prediction.checks import counted, steps_note
from profet_core.profiles.limits import MAX_STEPS
from ui.inputs.fields import number_field
from ui.phrases import sentence
from ui.state.own_profiles import change_own
from ui.state.records import OwnProfile

_OTHER = "n"
_CHOICES: dict[int | str, str] = {1: "1 step", 2: "2 steps", _OTHER: "n steps"}
_KNOWN_BY = {
    "marked": "marked in the file",
    "counted": "counted from its operations",
    "stated": "as the file says",
    "given": "as you say",
    "inferred": "by its latency",
    "assumed": "assumed",
}
#: Field of `OwnProfile` -> label, answers and tip.
_QUESTIONS: Mapping[str, tuple[str, Mapping[str | bool | None, str], str]] = {
    "precision": (
        "Precision of the step",
        {None: "Don't know", "fp32": "FP32", "tf32": "TF32", "amp": "AMP (mixed FP16)", "bf16": "AMP (mixed BF16)"},
        "On Ampere and later, PyTorch and TensorFlow use TF32 by default.",
    ),
    "compiled": (
        "Compiled (XLA, torch.compile)?",
        {None: "Don't know", False: "No", True: "Yes"},
        "Compilers join operations, which the models have never seen.",
    ),
}
_HELP = "Times are divided by it. A wrong number is a wrong prediction: twice the steps, half the time."


def steps_input(own: OwnProfile | None, prefix: str, latency_ms: float | None) -> None:
    """The choice beside the profile; what is chosen stays with it, on every page.

    Parameters
    ----------
    latency_ms : of one step on the anchor, if known: it tells the number of steps until somebody chooses.
    """
    if own is None or not own.asks_steps:
        return
    shown = counted(own.profile, latency_ms)
    key = f"{prefix}:steps:{own.key}"
    other = st.session_state.get(_other_key(own.key), False) or shown.steps not in _CHOICES
    # What another page or the latency has said since this was last drawn comes first.
    st.session_state[key] = _OTHER if other else shown.steps
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    row.segmented_control(
        "This profile covers",
        tuple(_CHOICES),
        format_func=_CHOICES.__getitem__,
        key=key,
        required=True,
        help=_HELP,
        on_change=_choose,
        args=(own.key, key),
    )
    if other:
        with row:
            steps_number(own, prefix, "Steps", shown.steps)
    words = steps_words(shown)
    st.caption(steps_note(shown) or f"{sentence(words)}.")


def steps_number(own: OwnProfile, prefix: str, label: str, shown: int) -> None:
    """A field for the number of steps.

    Parameters
    ----------
    shown : the number that the profile is read as.
    """
    key = f"{prefix}:steps-number:{own.key}"
    st.session_state[key] = shown
    with st.container(width=200):
        number_field(label, key, (1, MAX_STEPS), on_change=lambda: _type_number(own.key, key))


def step_questions(own: OwnProfile | None, prefix: str) -> None:
    """Ask for precision and compilation beside the profile; the answers stay with it and lead to its warnings."""
    if own is None or not (own.asks_precision or own.asks_compiled):
        return
    with st.container(horizontal=True, gap="small"):
        if own.asks_precision:
            _ask(own, prefix, "precision")
        if own.asks_compiled:
            _ask(own, prefix, "compiled")


def _ask(own: OwnProfile, prefix: str, field: str) -> None:
    label, answers, tip = _QUESTIONS[field]
    key = f"{prefix}:{field}:{own.key}"
    st.selectbox(
        label,
        tuple(answers),
        index=[*answers].index(getattr(own, field)),
        format_func=answers.__getitem__,
        key=key,
        help=tip,
        width=230,
        on_change=lambda: change_own(own.key, **{field: st.session_state[key]}),
    )


def read_as_steps(own_key: str, steps: int) -> None:
    """From now on one of the visitor's own profiles covers so many steps, on every page."""
    st.session_state.pop(_other_key(own_key), None)
    change_own(own_key, steps=steps)


def steps_words(profile: Profile) -> str:
    """'one step, marked in the file', '5 steps, as you say'."""
    count = "one step" if profile.steps == 1 else f"{profile.steps:,} steps"
    return f"{count}, {_KNOWN_BY[profile.steps_basis]}"


def besides_steps(warnings: Iterable[str], profile: Profile, own: OwnProfile | None) -> tuple[str, ...]:
    """`warnings` but what stands beside the choice already."""
    beside = steps_note(profile) if own is not None and own.asks_steps else None
    return tuple(line for line in warnings if line != beside)


def _choose(own_key: str, key: str) -> None:
    chosen = st.session_state[key]
    if chosen == _OTHER:
        st.session_state[_other_key(own_key)] = True
    else:
        read_as_steps(own_key, chosen)


def _type_number(own_key: str, key: str) -> None:
    change_own(own_key, steps=st.session_state[key])


def _other_key(own_key: str) -> str:
    return f"steps:other:{own_key}"
