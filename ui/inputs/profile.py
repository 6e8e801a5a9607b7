"""Ask for a profile: a sample, an upload or pasted text, and what the file doesn't say of its step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from profet_core import ProfetError, Profile
from profet_core.messages import STEPS_CODES, Note
from profet_core.prediction.checks import counted, steps_note
from profet_core.profiles.guarded import read_guarded
from profet_core.profiles.limits import MAX_STEPS
from ui.inputs.fields import choice, number_field, select
from ui.inputs.uploads import notes_on, upload_input
from ui.notices import inside_link, record_link, show_error
from ui.state.profiles import (
    MAX_NAME_LETTERS,
    add_own,
    change_own,
    held_in,
    own_in,
    own_profiles,
    remove_all_own,
    remove_own,
)
from ui.state.records import Held
from ui.state.resources import Resources
from ui.state.session import Own, Slot, session
from ui.turns import others_first
from ui.words import plain, sentence, shown_name

_KNOWN_BY = {
    "marked": "marked in the file",
    "counted": "counted from its operations",
    "stated": "as the file says",
    "given": "as you say",
    "inferred": "by its latency",
    "assumed": "assumed",
}
#: Field of `Held` -> label, answers and tip.
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
_PASTED_NAME = "pasted text"
_PASTE_EXAMPLE = '{"Device_Conv2D": 51425.8, "Device_MatMul": 1203.4, "Host_IDLE": 613483.8}'


def step_questions(held: Held, prefix: str, latency_ms: float | None) -> None:
    """Ask of a visitor's file what it doesn't say: steps, precision, compilation. The answers stay with the profile.

    Parameters
    ----------
    latency_ms : of one step on the anchor, if known: the number of steps may be inferred from it.
    """
    if not held.is_own:
        return
    shown, key = counted(held.profile, latency_ms), f"{prefix}:steps:{held.key}"
    # What another page or the latency has said since this was last drawn comes first.
    st.session_state[key] = shown.steps
    number_field(
        "Steps in the file",
        key,
        (1, MAX_STEPS),
        tip="Times are divided by it. A wrong number is a wrong prediction: twice the steps, half the time.",
        at=st.container(width=200),
        on_change=lambda: change_own(held.key, steps=st.session_state[key]),
    )
    st.caption(next(iter(steps_note(shown)), f"{sentence(steps_words(shown))}."))
    with st.container(horizontal=True, gap="small"):
        for field in held.unknown:
            _ask(held, prefix, field)


def _ask(held: Held, prefix: str, field: str) -> None:
    label, answers, tip = _QUESTIONS[field]
    key = f"{prefix}:{field}:{held.key}"
    st.selectbox(
        label,
        tuple(answers),
        index=[*answers].index(getattr(held, field)),
        format_func=answers.__getitem__,
        key=key,
        help=tip,
        width=230,
        on_change=lambda: change_own(held.key, **{field: st.session_state[key]}),
    )


def steps_words(profile: Profile) -> str:
    """'one step, marked in the file', '5 steps, as you say'."""
    count = "one step" if profile.steps == 1 else f"{profile.steps:,} steps"
    return f"{count}, {_KNOWN_BY[profile.steps_basis]}"


def besides_steps(warnings: Iterable[Note], held: Held) -> tuple[Note, ...]:
    """`warnings` without the one that an own profile's choice of steps shows already."""
    return tuple(note for note in warnings if not (held.is_own and note.code in STEPS_CODES))


def own_choice(slot: Slot) -> None:
    """Which own profile `slot` shows, where there is more than one; and what can be done with it."""
    every, own = own_profiles(), own_in(slot)
    if own is None:
        return
    if slot.chosen != own.key:
        slot.chosen = own.key
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    if len(every) > 1:
        row.selectbox(
            f"Shown, of your {len(every)} profiles",
            tuple(every),
            format_func=lambda key: every[key].name if key in every else "",
            key=slot.key("chosen"),
            persist_state="session",
            width="stretch",
        )
    with row.popover("Edit", icon=":material/edit:"):
        rename_input(own, slot.prefix)
        remove, key = f"Remove {plain(own.name)}", f"{slot.prefix}:remove"
        st.button(remove, key=key, icon=":material/delete:", on_click=remove_own, args=(own.key,))
        remove_all_button(slot.prefix)


def remove_all_button(prefix: str, **more: Any) -> None:
    """Empties the list, where there is more than one."""
    if (count := len(own_profiles())) > 1:
        icon, key = ":material/delete_sweep:", f"{prefix}:remove-all"
        st.button(f"Remove all {count}", key=key, icon=icon, on_click=remove_all_own, **more)


def rename_input(own: Held, prefix: str) -> None:
    """What the visitor calls it."""
    key = f"{prefix}:name:{own.key}"
    # What it is called now: the list may have shortened or numbered what was typed.
    st.session_state[key] = own.name

    def rename() -> None:
        change_own(own.key, name=st.session_state[key])

    st.text_input("Name", key=key, max_chars=MAX_NAME_LETTERS, on_change=rename)


def profile_input(resources: Resources, slot: Slot, label: str) -> Held:
    """Where the profile comes from; returns the one that is shown."""
    choice(label, slot.key("source"), Slot.source.options)
    if slot.source == "sample":
        titles = {name: sample.name for name, sample in resources.samples.items()}
        select("Sample", slot.key("sample"), titles, help="A real measurement, to try the app with.")
    else:
        (_upload_input if slot.source == "upload" else _paste_input)(resources, slot)
        own_choice(slot)
    held = held_in(resources, slot)
    if slot.source != "sample":
        _name_shown(held)
    if slot is session.profile:
        inside_link("What is in it?", None if held.is_own else held.key)
        if held.is_own:
            _carry_input(held)
    step_questions(held, slot.prefix, slot.usable_ms)
    return held


def _upload_input(resources: Resources, slot: Slot) -> None:
    upload_input(resources, slot.prefix, lambda own: setattr(slot, "chosen", own.key))
    if slot is session.profile:
        record_link(hint=bool(notes_on(slot.prefix).errors))


def _paste_input(resources: Resources, slot: Slot) -> None:
    if slot.pasted_done:
        slot.pasted, slot.pasted_done = "", False
    text = st.text_area(
        "Profile as JSON", placeholder=_PASTE_EXAMPLE, height=150, key=slot.key("pasted"), persist_state="session"
    )
    st.button("Read it", key=f"{slot.prefix}:read-pasted")
    if not text.strip():
        return
    try:
        with others_first():
            profile = read_guarded(text.encode("utf-8", "replace"), _PASTED_NAME)
        own, _ = add_own(resources, profile, _PASTED_NAME, "paste")
    except ProfetError as error:
        show_error(str(error))
        return
    slot.chosen, slot.pasted_done = own.key, True
    st.rerun()


def _carry_input(own: Held) -> None:
    """Whether the address holds the profile: totals only, but whoever has the link has them."""
    st.toggle(
        "Keep this profile in the page's address",
        key=Own.carry_profile.key,
        persist_state="session",
        disabled=own.link_text is None,
        help="It is too long for an address."
        if own.link_text is None
        else "Then it survives a reload, and a link to this page carries it: the time of each operation type, and "
        "what is known of the step.",
    )


def _name_shown(held: Held) -> None:
    """Name the profile in use, with what its file says."""
    if not held.is_own:
        st.caption(f"No profile of yours yet: the page still shows {shown_name(held)}.")
        return
    meta = held.profile.meta
    known = [
        plain(held.profile.source_format),
        f"{len(held.profile.operations)} operation types",
        f"batch size {meta.batch_size}" if meta.batch_size else "",
        f"{meta.pixels} pixels" if meta.pixels else "",
        plain(meta.gpu or ""),
        plain(meta.framework or ""),
    ]
    st.caption(f"Shown: {shown_name(held)} ({', '.join(filter(None, known))}).")
