"""Ask for a profile: a sample, an upload or pasted text, and what the file doesn't say of its step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core import ProfetError, Profile
from profet_core.prediction.checks import counted, steps_note
from profet_core.profiles.guarded import read_guarded
from profet_core.profiles.limits import MAX_STEPS
from ui.inputs.fields import choice, number_field, select
from ui.inputs.uploads import notes_on, upload_input
from ui.notices import inside_link, record_link, show_error
from ui.state.profiles import (
    MAX_NAME_LETTERS,
    add_own,
    carried_text,
    change_own,
    held_in,
    own_profiles,
    remove_all_own,
    remove_own,
)
from ui.state.records import Held, OwnProfile
from ui.state.resources import Resources
from ui.state.session import Own, Slot, session
from ui.turns import others_first
from ui.words import plain, sentence, shown_name

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


def own_choice(slot: Slot) -> None:
    """Which own profile `slot` shows, where there is more than one; and what can be done with it."""
    held = own_profiles()
    if not held:
        return
    chosen = slot.chosen
    if chosen is None or chosen not in held:
        chosen = slot.chosen = list(held)[-1]
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    if len(held) > 1:
        row.selectbox(
            f"Shown, of your {len(held)} profiles",
            tuple(held),
            format_func=lambda chosen: held[chosen].name if chosen in held else "",
            key=slot.key("chosen"),
            persist_state="session",
            width="stretch",
        )
    manage_own(held[chosen], slot.prefix, row)


def manage_own(own: OwnProfile, prefix: str, where: DeltaGenerator) -> None:
    """Rename or remove one, correct the steps that its file tells, or remove all."""
    with where.popover("Edit", icon=":material/edit:"):
        rename_input(own, prefix)
        if not own.asks_steps:
            steps_number(own, prefix, "Steps in the file", own.profile.steps)
        st.button(
            f"Remove {plain(own.name)}",
            key=f"{prefix}:remove",
            icon=":material/delete:",
            on_click=remove_own,
            args=(own.key,),
        )
        count = len(own_profiles())
        if count > 1:
            remove_all_button(f"{prefix}:remove-all")


def remove_all_button(key: str) -> None:
    """Empties the list."""
    st.button(
        f"Remove all {len(own_profiles())}",
        key=key,
        icon=":material/delete_sweep:",
        on_click=remove_all_own,
    )


def rename_input(own: OwnProfile, prefix: str) -> None:
    """What the visitor calls it."""
    key = f"{prefix}:name:{own.key}"
    # What it is called now: the list may have shortened or numbered what was typed.
    st.session_state[key] = own.name
    st.text_input("Name", key=key, max_chars=MAX_NAME_LETTERS, on_change=_rename, args=(own.key, key))


def _rename(own_key: str, key: str) -> None:
    change_own(own_key, name=st.session_state[key])


_PASTED_NAME = "pasted text"
_PASTE_EXAMPLE = '{"Device_Conv2D": 51425.8, "Device_MatMul": 1203.4, "Host_IDLE": 613483.8}'


def profile_input(resources: Resources, slot: Slot, label: str) -> Held:
    """Where the profile comes from; returns the one that is shown."""
    choice(label, slot.key("source"), Slot.source.options)
    if slot.source == "sample":
        titles = {name: sample.title for name, sample in resources.samples.items()}
        select("Sample", slot.key("sample"), titles, help="A real measurement, to try the app with.")
    else:
        (_upload_input if slot.source == "upload" else _paste_input)(resources, slot)
        own_choice(slot)
    held = held_in(resources, slot)
    _name_shown(held, slot.source)
    if slot is session.profile:
        inside_link("What is in it?", held.sample.name if held.sample else None)
    if held.own and slot is session.profile:
        _carry_input(held.own)
    steps_input(held.own, slot.prefix, slot.usable_ms)
    step_questions(held.own, slot.prefix)
    return held


def _upload_input(resources: Resources, slot: Slot) -> None:
    def choose(own: OwnProfile) -> None:
        slot.chosen = own.key

    upload_input(resources, slot.prefix, choose)
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
        own, _ = add_own(profile, _PASTED_NAME, "paste", resources.anchor_of(profile))
    except ProfetError as error:
        show_error(str(error))
        return
    slot.chosen, slot.pasted_done = own.key, True
    st.rerun()


def _carry_input(own: OwnProfile) -> None:
    """Whether the address holds the profile: totals only, but whoever has the link has them."""
    fits = carried_text(own) is not None
    st.toggle(
        "Keep this profile in the page's address",
        key=Own.carry_profile.key,
        persist_state="session",
        disabled=not fits,
        help="Then it survives a reload, and a link to this page carries it: the time of each operation type, and "
        "what is known of the step."
        if fits
        else "It is too long for an address.",
    )


def _name_shown(held: Held, source: str) -> None:
    """Name the profile in use where it isn't plain from the widgets."""
    if source == "sample":
        return
    if held.own is None:
        st.caption(f"No profile of yours yet: the page still shows {shown_name(held)}.")
        return
    meta = held.profile.meta
    known = [
        plain(held.profile.source_format),
        f"{len(held.profile.operations)} operation types",
        "" if held.own.asks_steps else steps_words(held.profile),
        f"batch size {meta.batch_size}" if meta.batch_size else "",
        f"{meta.pixels} pixels" if meta.pixels else "",
        plain(meta.gpu) if meta.gpu else "",
        plain(meta.framework) if meta.framework else "",
    ]
    st.caption(f"Shown: {shown_name(held)} ({', '.join(part for part in known if part)}).")
