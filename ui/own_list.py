"""Shows which of a visitor's own profiles is in use, and lets them choose, rename and remove."""

from __future__ import annotations

import streamlit as st

from ui.errors import plain
from ui.own_profiles import OwnProfile, change_own, own_profiles, remove_all_own, remove_own
from ui.settings import Slot


def own_choice(slot: Slot) -> None:
    """Which own profile `slot` shows, where there is more than one; and what can be done with it."""
    held = own_profiles()
    if not held:
        return
    key = slot.key("chosen")
    if st.session_state.get(key) not in held:
        st.session_state[key] = list(held)[-1]
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    if len(held) > 1:
        row.selectbox(
            f"Shown, of your {len(held)} profiles",
            tuple(held),
            format_func=lambda chosen: held[chosen].name if chosen in held else "",
            key=key,
            persist_state="session",
            width="stretch",
        )
    manage_own(held[st.session_state[key]], slot.prefix, row)


def manage_own(own: OwnProfile, prefix: str, where) -> None:
    """Rename or remove one, or remove all."""
    with where.popover("Rename, remove", icon=":material/edit:"):
        rename_input(own, prefix)
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


def rename_input(own: OwnProfile, prefix: str, label_visibility: str = "visible") -> None:
    """What the visitor calls it."""
    key = f"{prefix}:name:{own.key}"
    st.text_input(
        "Name",
        value=own.name,
        key=key,
        max_chars=60,
        on_change=_rename,
        args=(own.key, key),
        label_visibility=label_visibility,
    )


def _rename(own_key: str, key: str) -> None:
    change_own(own_key, name=st.session_state[key])
    # The list may have shortened it or numbered it; the field shows what it is called now.
    if own_key in own_profiles():
        st.session_state[key] = own_profiles()[own_key].name
