"""Ask for the network's profile, its anchor and latency, and say what to keep in mind about it."""

from __future__ import annotations

import calendar
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from profet_core import ProfetError, Profile
from profet_core.catalog import Instance
from profet_core.catalog.naming import price_age_years
from profet_core.messages import STEPS_CODES, Code, Note
from profet_core.prediction.checks import counted, steps_note
from profet_core.prediction.diagnosis import MOSTLY_BUSY, diagnose
from profet_core.profiles.guarded import read_guarded
from profet_core.profiles.limits import MAX_STEPS
from profet_core.units import format_ms
from ui.inputs.fields import choice, number_field, select, toggle
from ui.inputs.uploads import notes_on, upload_input
from ui.predicted import ANCHOR_LABEL, Predicted
from ui.server import others_first
from ui.state.own import MAX_NAME_LETTERS, add_own, change_own, held_in, own_in, own_profiles, remove_own
from ui.state.resources import Held, Resources
from ui.state.session import Field, Network, Own, Slot, session
from ui.words import inside_link, plain, record_link, sentence, show_error

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


def network_input(resources: Resources) -> None:
    """The profile, its anchor and its latency."""
    select(
        ANCHOR_LABEL,
        Network.anchor,
        resources.anchor_labels(),
        index=None,
        placeholder="GPU you profiled on",
        help="The instance or GPU that the profile was recorded on. Type part of its name to find it. Not listed? Add "
        "it under *Prices*, or measure it: see *Custom GPU* on About.",
    )
    held = _profile_input(resources, session.profile, "2 · Profile")
    _size_input(held, "batch_size", Network.profiled_batch, "Batch size of the profile")
    _size_input(held, "pixels", Network.profiled_pixels, "Image size of the profile")
    _latency_input(session.profile, "3 · Anchor latency (optional)")


def second_input(resources: Resources) -> None:
    """A profile of another size of the same network: sizes between are more accurate with it."""
    tip = "Of the same network on the same GPU at another batch or image size: sizes between are more accurate."
    toggle("Second profile", Network.second, tip)
    if session.network.second:
        with st.container(border=True):
            held = _profile_input(resources, session.second, "Second profile")
            _latency_input(session.second, "Its anchor latency (optional)")
            _size_input(held, "batch_size", Network.second_batch, "Its batch size")
            _size_input(held, "pixels", Network.second_pixels, "Its image size")


def _size_input(held: Held, axis: str, field: Field[int | None], label: str) -> None:
    """Asked for only where the profile doesn't say it."""
    if getattr(held.profile.meta, axis) is None:
        number_field(label, field, empty="images per step" if axis == "batch_size" else "pixels")


def _latency_input(slot: Slot, label: str) -> None:
    """One training step's time on the anchor, with its unit."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    # Narrow enough that Streamlit leaves out the buttons beside the number.
    number_field(label, slot.key("latency"), empty="not known", at=row.container(width=119))
    tip = "Of one training step on the anchor, without the profiler running. Empty: predicted without it."
    with row:
        select("Unit", slot.key("unit"), {"ms": "ms", "us": "µs", "s": "s"}, width=90, help=tip)


def latency_question(network: Predicted) -> None:
    """Ask about a latency that makes no sense; until the answer it is not used."""
    doubt, slot = network.doubt, session.profile
    if doubt is None:
        return
    st.warning(
        f"{plain(doubt.args[0])} Until you answer, the numbers below are predicted **without** a latency.",
        icon=":material/help:",
    )
    with st.container(horizontal=True):
        if (steps := doubt.suggested_steps) is not None and network.held.is_own:
            change = partial(change_own, network.held.key, steps=steps)
            st.button(f"Read it as {steps} step{'s' if steps > 1 else ''}", key=":use-steps", on_click=change)
        if (meant_ms := doubt.suggested_ms) is not None:
            use = partial(slot.use_ms, meant_ms)
            st.button(f"Use {format_ms(meant_ms)}", key=":use-suggested", on_click=use)
        st.button("Use it as typed", key=":use-typed", on_click=network.trust_latency)


def _profile_input(resources: Resources, slot: Slot, label: str) -> Held:
    """Where the profile comes from; returns the one that is shown."""
    choice(label, slot.key("source"), Slot.source.options)
    if slot.source == "sample":
        titles = {name: sample.name for name, sample in resources.samples.items()}
        select("Sample", slot.key("sample"), titles, help="A real measurement, to try the app with.")
    elif slot.source == "upload":
        upload_input(resources, slot.prefix, lambda own: setattr(slot, "chosen", own.key))
        if slot is session.profile:
            record_link(hint=bool(notes_on(slot.prefix).errors))
    else:
        _paste_input(resources, slot)
    if slot.source != "sample":
        _own_choice(slot)
    held = held_in(resources, slot)
    if slot.source != "sample":
        st.caption(_shown_words(held))
    if slot is session.profile:
        inside_link("What is in it?", None if held.is_own else held.key)
        if held.is_own:
            _carry_input(held)
    step_questions(held, slot.prefix, slot.usable_ms)
    return held


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


def _own_choice(slot: Slot) -> None:
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


def rename_input(own: Held, prefix: str) -> None:
    """What the visitor calls it."""
    key = f"{prefix}:name:{own.key}"
    # What it is called now: the list may have shortened or numbered what was typed.
    st.session_state[key] = own.name
    rename = partial(_change_to, own.key, "name", key)
    st.text_input("Name", key=key, max_chars=MAX_NAME_LETTERS, on_change=rename)


def _change_to(own: str, field: str, key: str) -> None:
    """Change a field of an own profile to what a widget has."""
    change_own(own, **{field: st.session_state[key]})


def remove_all_button(prefix: str, **more: Any) -> None:
    """Empties the list, where there is more than one."""
    if len(keys := tuple(own_profiles())) > 1:
        icon, key = ":material/delete_sweep:", f"{prefix}:remove-all"
        st.button(f"Remove all {len(keys)}", key=key, icon=icon, on_click=remove_own, args=keys, **more)


def _shown_words(held: Held) -> str:
    """The profile in use, with what its file says."""
    kind = {"sample": "the sample", "upload": "your upload", "paste": "your", "link": "the profile"}[held.origin]
    name = f"{kind} {plain(held.name)}"
    if not held.is_own:
        return f"No profile of yours yet: the page still shows {name}."
    meta = held.profile.meta
    known = [
        plain(held.profile.source_format),
        f"{len(held.profile.operations)} operation types",
        f"batch size {meta.batch_size}" if meta.batch_size else "",
        f"{meta.pixels} pixels" if meta.pixels else "",
        plain(meta.gpu or ""),
        plain(meta.framework or ""),
    ]
    return f"Shown: {name} ({', '.join(filter(None, known))})."


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


def step_questions(held: Held, prefix: str, latency_ms: float | None) -> None:
    """Ask of a visitor's file what it doesn't say: steps, precision, compilation. The answers stay with the profile.

    `latency_ms`: of one step on the anchor, if known: the number of steps may be inferred from it.
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
        on_change=partial(_change_to, held.key, "steps", key),
    )
    st.caption(next(iter(steps_note(shown)), f"{sentence(steps_words(shown))}."))
    with st.container(horizontal=True, gap="small"):
        for field in held.unknown:
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
                on_change=partial(_change_to, held.key, field, key),
            )


def steps_words(profile: Profile) -> str:
    """'one step, marked in the file', '5 steps, as you say'."""
    count = "one step" if profile.steps == 1 else f"{profile.steps:,} steps"
    return f"{count}, {_KNOWN_BY[profile.steps_basis]}"


def besides_steps(warnings: Iterable[Note], held: Held) -> tuple[Note, ...]:
    """`warnings` without the one that an own profile's choice of steps shows already."""
    return tuple(note for note in warnings if not (held.is_own and note.code in STEPS_CODES))


def show_notices(network: Predicted, *, besides: Collection[Code] = ()) -> None:
    """What could not be used, what the profile warns of, and what another GPU doesn't change.

    `besides`: codes of what the page shows elsewhere.
    """
    profile = network.training.profile
    for problem in network.problems:
        show_error(problem)
    warnings = besides_steps(network.training.warnings, network.held)
    lines: list[str] = [note for note in warnings if note.code not in (*besides, Code.CORRECTED)]
    found = diagnose(profile, network.training.prediction.anchor_latency_ms)
    partly = found.gpu_busy_share is not None and found.gpu_busy_share < MOSTLY_BUSY
    # A wait for input is among the warnings, with what the numbers leave out.
    warned = found.kind == "input" and any(note.code is Code.INPUT_WAIT for note in network.training.warnings)
    if not warned and (partly or not found.another_gpu_helps):
        lines.append(found.sentence)
    if lines:
        mark = "- " if len(lines) > 1 else ""
        st.warning("\n".join(f"{mark}{plain(line)}" for line in lines), icon=":material/warning:")
    # Nothing is wrong with the numbers for these.
    for corrected in (note for note in warnings if note.code is Code.CORRECTED):
        st.caption(plain(corrected))
    for note in profile.ignored:
        st.caption(f"Left out of the file: {plain(note)}.")


def price_line(offers: Iterable[Instance]) -> str:
    """When the newest prices are from."""
    dates = sorted({offer.as_of for offer in offers if offer.as_of})
    if not dates:
        return ""
    year, _, more = dates[-1].partition("-")
    newest = f"{calendar.month_name[int(more[:2])]} {year}" if more else year
    return f"Prices as of {newest}{'; older ones show their year' if price_age_years(dates[0]) else ''}."
