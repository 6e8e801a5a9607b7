"""Keeps the settings in the URL, so that a link, a reload or the back button reopens the same view.

Streamlit's own `bind="query-params"` writes the labels of a select box, not its values, and drops what the page
doesn't render; pages depend on settings of each other, so links are read and written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.state.settings import ASKED_FOR, EMPTY, Setting

#: Carries a profile; every other parameter is a setting.
PARAMETER = "profile"
_GIVEN = "link:given"
_PAGE = "link:page"


def turned_to_another_page() -> bool:
    """Whether this run draws another page than the one before."""
    page, before = _page_of_run(), st.session_state.get(_PAGE)
    st.session_state[_PAGE] = page
    return page != before


def page_shown() -> str:
    """What tells the page of this run from others."""
    return st.session_state.get(_PAGE, "")


def keep_fields(keys: Iterable[str]) -> None:
    """Give the fields of the page that was turned to the values of those that the former page had.

    Streamlit takes two fields of one key on two pages for two, and hands a value on only once the first run of the
    other page is over: until then every field that both pages have would be empty.
    """
    for key in keys:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def follow_link(settings: Mapping[str, Setting], keys: Iterable[str], *, turned: bool) -> bool:
    """Take the settings from the URL when a session opens, and again when the visitor goes back or forward.

    A value that makes no sense counts as not given. Returns True if the URL was read.

    Parameters
    ----------
    turned : the visitor has come from another page.
    """
    opening = _GIVEN not in st.session_state
    if not opening and not _went_back_or_forward():
        if turned:
            _take_asked_for(settings)
        _fill_gaps(settings)
        return False
    given = {key: value for key in settings if (value := _parsed(settings[key])) is not _INVALID}
    on_page = set(settings) if opening else set(keys)
    for key in on_page:
        if key in given or not (settings[key].follows_profile or settings[key].sparse):
            st.session_state[key] = given.get(key, settings[key].default)
        elif settings[key].sparse and key in st.session_state:
            del st.session_state[key]
    st.session_state[_GIVEN] = frozenset(given)
    return True


def given_by_link() -> frozenset[str]:
    """Settings that the link gave and no profile has replaced yet."""
    return st.session_state.get(_GIVEN, frozenset())


def forget_given(keys: Iterable[str]) -> None:
    """From now on these settings follow the profile that is shown."""
    st.session_state[_GIVEN] = given_by_link() - set(keys)


def write_link(
    settings: Mapping[str, Setting],
    keys: Iterable[str],
    profile_defaults: Mapping[str, object],
    carried: Mapping[str, str],
) -> None:
    """Write what differs from the defaults to the URL, and what `carried` has; parameters that are not ours stay."""
    wanted = dict(carried)
    for key in keys:
        default = profile_defaults.get(key) if settings[key].follows_profile else settings[key].default
        value = st.session_state.get(key, default)
        if value != default:
            wanted[key] = _text(value)
    ours = {*settings, PARAMETER}
    others = {key: st.query_params.get_all(key) for key in st.query_params if key not in ours}
    if {key: st.query_params[key] for key in st.query_params if key in ours} != wanted:
        st.query_params.from_dict({**others, **wanted})


_INVALID = object()


def _parsed(setting: Setting) -> object:
    text = st.query_params.get(setting.key)
    if text is None:
        return _INVALID
    try:
        return setting.parse(text)
    except (ValueError, OverflowError):
        return _INVALID


def _text(value: object) -> str:
    if value is None:
        return EMPTY
    if isinstance(value, list):
        return ",".join(value)
    return format(value, ".12g") if isinstance(value, float) else str(value)


def _fill_gaps(settings: Mapping[str, Setting]) -> None:
    for key, setting in settings.items():
        if not (setting.follows_profile or setting.sparse):
            st.session_state.setdefault(key, setting.default)


def _take_asked_for(settings: Mapping[str, Setting]) -> None:
    """What a link of another page asks to be shown."""
    for key in ASKED_FOR:
        if (value := _parsed(settings[key])) is not _INVALID:
            st.session_state[key] = value


def _page_of_run() -> str:
    return getattr(get_script_run_ctx(), "page_script_hash", "")


def _went_back_or_forward() -> bool:
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))
