"""Keeps the settings in the URL, so that a link, a reload or the back button reopens the same view.

Streamlit's own `bind="query-params"` writes the labels of a select box, not its values, and drops what the page
doesn't render; pages depend on settings of each other, so links are read and written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.state.resources import Resources
from ui.state.session import EMPTY, LINKED, MEASURED, PRICE, Part, PerInstance, positive, session

#: Carries a profile; every other parameter is a setting.
PARAMETER = "profile"
#: What a link of one page may ask another page to show: settings that follow no profile.
_ASKED_FOR = ("view", "inspect", "open", "part")
#: Begin the keys of what is given for single instances.
_OF_INSTANCES = (PRICE.key(""), MEASURED.key(""))


def link_keys(parts: Iterable[Part | PerInstance | str], resources: Resources) -> list[str]:
    """Keys of what a page's link carries: of whole parts of the session, or single ones."""
    keys: list[str] = []
    for part in parts:
        if isinstance(part, str):
            keys.append(part)
        elif isinstance(part, PerInstance):
            keys += part.keys(resources)
        else:
            keys += [key for key, one in part.fields.items() if one.parse is not None]
    return keys


def turned_to_another_page() -> bool:
    """Whether this run draws another page than the one before."""
    page, before = getattr(get_script_run_ctx(), "page_script_hash", ""), session.link.link_page
    session.link.link_page = page
    return page != before


def keep_fields() -> None:
    """Give the fields of the page that was turned to the values of those that the former page had.

    Streamlit takes two fields of one key on two pages for two, and hands a value on only once the first run of the
    other page is over: until then every field that both pages have would be empty.
    """
    own = (key for slot in session.slots for key in (slot.key("chosen"), slot.key("pasted")))
    of_instances = [key for key in st.session_state if str(key).startswith(_OF_INSTANCES)]
    for key in (*LINKED, *own, *of_instances, "carry_profile"):
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def follow_link(parts: Iterable[Part | PerInstance | str], resources: Resources, *, turned: bool) -> bool:
    """Take the settings from the URL when a session opens, and again when the visitor goes back or forward.

    A value that makes no sense counts as not given. Returns True if the URL was read.

    Parameters
    ----------
    parts : what the page's link carries. turned : the visitor has come from another page.
    """
    opening = session.link.link_given is None
    if not opening and not _went_back_or_forward():
        if turned:
            given = _given(resources)
            st.session_state.update({key: given[key] for key in _ASKED_FOR if key in given})
        for key, one in LINKED.items():
            if not one.follows_profile:
                st.session_state.setdefault(key, one.default_in(resources, key))
        return False
    given = _given(resources)
    of_instances = {*PRICE.keys(resources), *MEASURED.keys(resources)}
    on_page = {*(LINKED if opening else link_keys(parts, resources)), *given}
    for key in on_page:
        if key in given:
            st.session_state[key] = given[key]
        elif key in of_instances:
            del st.session_state[key]
        elif not LINKED[key].follows_profile:
            st.session_state[key] = LINKED[key].default_in(resources, key)
    session.link.link_given = frozenset(given)
    return True


def given_by_link() -> frozenset[str]:
    """Settings that the link gave and no profile has replaced yet."""
    return session.link.link_given or frozenset()


def forget_given(keys: Iterable[str]) -> None:
    """From now on these settings follow the profile that is shown."""
    session.link.link_given = given_by_link() - set(keys)


def write_link(
    keys: Iterable[str], resources: Resources, profile_defaults: Mapping[str, object], carried: Mapping[str, str]
) -> None:
    """Write what differs from the defaults to the URL, and what `carried` has; parameters that are not ours stay."""
    wanted = dict(carried)
    for key in keys:
        one = LINKED.get(key)
        default = profile_defaults.get(key) if one is None or one.follows_profile else one.default_in(resources, key)
        value = st.session_state.get(key, default)
        if value != default:
            wanted[key] = _text(value)
    shown = {key: st.query_params.get_all(key) for key in st.query_params}
    others = {
        key: values
        for key, values in shown.items()
        if key not in LINKED and key != PARAMETER and not key.startswith(_OF_INSTANCES)
    }
    if {key: values[-1] for key, values in shown.items() if key not in others} != wanted:
        st.query_params.from_dict({**others, **wanted})


def _given(resources: Resources) -> dict[str, object]:
    """What the URL says and makes sense."""
    kinds = {kind.key(name): positive for kind in (PRICE, MEASURED) for name in resources.catalog}
    parsers = kinds | {key: one.parse for key, one in LINKED.items()}
    found: dict[str, object] = {}
    for key, text in st.query_params.items():
        if (parse := parsers.get(key)) is not None:
            try:
                found[key] = parse(text, resources)
            except (ValueError, OverflowError):
                continue
    return found


def _text(value: object) -> str:
    if value is None:
        return EMPTY
    if isinstance(value, list):
        return ",".join(value)
    return format(value, ".12g") if isinstance(value, float) else str(value)


def _went_back_or_forward() -> bool:
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))
