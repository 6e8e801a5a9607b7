"""Shows which of a visitor's own profiles is in use, and lets them choose, rename and remove."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.inputs.steps import steps_number
from ui.state.own_profiles import MAX_NAME_LETTERS, change_own, own_profiles, remove_all_own, remove_own
from ui.state.records import OwnProfile
from ui.state.session import Slot
from ui.texts import plain


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
