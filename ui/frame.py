"""The frame of every page: settings from the link, its body, one line if it fails, settings to the link.

Streamlit's own `bind="query-params"` writes the labels of a select box, not its values, and drops what the page
doesn't render; pages depend on settings of each other, so links are read and written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

import streamlit as st

from profet_core import InputError
from profet_core.catalog.collection import NoOffersError, fetched_versions, prices_version
from profet_core.catalog.tables import MAX_NAME_LENGTH
from ui.custom import (
    missing_link_words,
    profile_defaults,
    profile_in_slot,
    remember_recorded,
    shared_profile,
    take_shared_profile,
    visitors_resources,
)
from ui.first_paint import begin_run
from ui.offers import filter_hint
from ui.predicted import MissingAnchorError
from ui.profile import answer_from_name, missing_input, read_profiles
from ui.resources import Resources
from ui.server import in_turn
from ui.session import CUSTOM_ROWS, EMPTY, LINKED, NO_SETTINGS, PRICES, RENAMED, Part, session
from ui.streamlit_internals import went_back_or_forward
from ui.words import one_line_errors, plain, show_error, show_warning

#: What a page's link has: parts of the session, or single keys; called after the page is drawn, when it is final.
Linked = Callable[[], Iterable[Part | str]]
Draw = Callable[[Resources], None]
#: What a link of one page may ask another page to show: settings that follow no profile.
_ASKED_FOR = ("view", "inspect", "open")
#: Parameters of a link without a sensible value that are named, and letters of each that are shown.
_NAMED, _LETTERS = 5, 30


def run_page(
    title: str,
    main: Draw,
    linked: Linked,
    sidebar: Draw | None = None,
    *,
    titled: bool = True,
    alone: bool = False,
) -> None:
    """Run a page.

    `main`: draws what is below the title, and the title where the page isn't `titled`; where it is drawn `alone`, what
    is chosen in it draws nothing else, so that a slider is followed at once.
    """
    with in_turn(), one_line_errors():
        resources = visitors_resources()
        begin_run(is_first=session.custom.link_given is None)
        turned, session.custom.link_page = title != session.custom.link_page, title
        if turned:
            _keep_fields()
        if _follow_link(linked, resources, turned=turned):
            session.profile.shown = session.second.shown = None
            if problem := take_shared_profile(resources):
                show_error(problem)
        if sidebar is not None:
            for slot in session.slots:
                read_profiles(resources, slot)
        for slot in session.slots:
            profile_in_slot(resources, slot)
        answer_from_name(resources)
        session.custom.link_given = frozenset()
        if missing := missing_link_words():
            st.info(missing, icon=":material/info:")
        if session.custom.link_rows and not (session.custom.gpus or session.custom.instances):
            st.info("This link doesn't include custom instances and GPUs: add them again under *Prices*.")
        # What whoever runs the server has to put right.
        served = resources.served
        if served is not None and served.custom_skipped:
            show_warning(
                "This server's list of custom instances or GPUs is missing or damaged and was skipped: see its log."
            )
        if served is not None and served.is_outdated:
            show_warning("This server has newer models or lists than it shows: restart it.")
        prices = ", ".join(fetched_versions(resources.catalog.all_offers))
        if session.custom.link_prices not in ("", prices):
            here = prices_version(resources.catalog.all_offers)
            st.info(plain(f"The link was made with prices of {session.custom.link_prices}; these are of {here}."))
        if ignored := session.custom.link_ignored:
            others = " and others" if len(ignored) > _NAMED else ""
            st.info(plain(f"Ignored in the link: {', '.join(ignored[:_NAMED])}{others}."))
        with one_line_errors():
            if sidebar is not None:
                with st.sidebar:
                    sidebar(resources)
            remember_recorded(session.profile)
            if titled:
                st.title(title, anchor=False)
            if alone:
                _draw_alone(main, linked, _beside())
                # It wrote the link.
                return
            _draw_main(main, resources)
        write_link(linked, resources)


@st.fragment
def _draw_alone(main: Draw, linked: Linked, beside: tuple[object, ...]) -> None:
    """Draw a page's main part; all of the page where what was done in it changes what stands `beside` it."""
    with in_turn(), one_line_errors():
        if beside != _beside():
            st.rerun()
        resources = visitors_resources()
        with one_line_errors():
            _draw_main(main, resources)
        write_link(linked, resources)


def _draw_main(main: Draw, resources: Resources) -> None:
    """Draw a page's main part; where it has no number, the filter's hint or the question for what is missing."""
    try:
        main(resources)
    except NoOffersError as error:
        if not error.without:
            raise
        filter_hint(resources, error)
    except (MissingAnchorError, InputError):
        if not (held := profile_in_slot(resources, session.profile)).missing:
            raise
        missing_input(resources, held)


def _beside() -> tuple[object, ...]:
    """Return what is shown outside of a page's main part: the visitor's own, and the profile with its fields."""
    custom, fields = session.custom, ((slot.source, slot.latency, slot.steps) for slot in session.slots)
    catalog = custom.profiles, custom.gpus, custom.instances
    return (*catalog, session.network.anchor, session.predict.chart, *fields)


def _keep_fields() -> None:
    """Give the fields of the page that was turned to the values of those that the former page had.

    Streamlit takes two fields of one key on two pages for two, and hands a value on only once the first run of the
    other page is over: until then every field that both pages have would be empty.
    """
    keys = {*LINKED, session.custom.key("share_profile")}
    keys.update(slot.key(name) for slot in session.slots for name in ("chosen", "pasted"))
    # Asked for once: each question goes through all that the session holds.
    held = st.session_state.to_dict()
    st.session_state.update({key: held[key] for key in keys if key in held})


def _follow_link(linked: Linked, resources: Resources, *, turned: bool) -> bool:
    """Take the settings from the URL when a session opens, and again when the visitor goes back or forward.

    A value that makes no sense counts as not given. Returns True if the URL was read.
    """
    custom = session.custom
    opening = custom.link_given is None
    moved = opening or went_back_or_forward()
    given: dict[str, Any] = {}
    if moved or turned:
        given, custom.link_ignored = _given(resources)
    if moved:
        custom.link_given, custom.link_rows = frozenset(given), CUSTOM_ROWS in st.query_params
        custom.link_prices = st.query_params.get(PRICES, "")[:MAX_NAME_LENGTH]
    elif turned:
        given = {key: value for key, value in given.items() if key in _ASKED_FOR}
    keys = _keys(linked) if moved and not opening else LINKED
    if not moved:
        # Asked for once: each question looks through what widgets hold.
        held = st.session_state.to_dict()
        keys = [key for key in keys if key not in held]
    free = {key: copy(LINKED[key].default) for key in keys if not LINKED[key].follows_profile}
    st.session_state.update({**free, **given})
    if moved:
        custom.chosen_anchor = session.network.anchor if "anchor" in given else None
    return moved


def _keys(linked: Linked) -> list[str]:
    """Of the settings in a page's link."""
    parts = ([part] if isinstance(part, str) else part.settings for part in linked())
    return [key for keys in parts for key in keys if key in LINKED]


def _key_of(parameter: str) -> tuple[str, str]:
    """Key of the setting that a parameter is; and of "price_p3.2xlarge" the instance."""
    parameter = RENAMED.get(parameter, parameter)
    key, _, instance = parameter.partition("_")
    return (key, instance) if parameter not in LINKED and key in LINKED and LINKED[key].is_mapping else (parameter, "")


def _given(resources: Resources) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what the URL says and makes sense, and which parameters make none."""
    values: dict[str, Any] = {}
    ignored = []
    for parameter, text in st.query_params.items():
        key, instance = _key_of(parameter)
        if (setting := LINKED.get(key)) is None:
            continue
        try:
            value = setting.parse(text, resources)
            if not setting.is_mapping:
                values[key] = value
            elif instance in resources.catalog:
                values[key] = values.get(key, {}) | {instance: value}
            else:
                ignored.append(f"{parameter[:_LETTERS]} (no such instance)")
        except ValueError:
            ignored.append(f"{parameter}={text[:_LETTERS]}{setting.wanted}")
    return values, tuple(ignored)


def write_link(linked: Linked, resources: Resources) -> None:
    """Write what differs from the defaults to the URL, and the profile; parameters that are not ours stay."""
    defaults = {key: value for slot in session.slots for key, value in profile_defaults(resources, slot).items()}
    wanted = shared_profile()
    if fetched := fetched_versions(resources.catalog.all_offers):
        wanted[PRICES] = ", ".join(fetched)
    if session.custom.gpus or session.custom.instances:
        wanted[CUSTOM_ROWS] = "True"
    for key in _keys(linked):
        setting = LINKED[key]
        default = defaults.get(key) if setting.follows_profile else setting.default
        value = st.session_state.get(key, default)
        if setting.is_mapping:
            wanted |= {f"{key}_{name}": _text(number) for name, number in value.items() if name in resources.catalog}
        elif value != default:
            wanted[key] = _text(value)
    shown, ours = {key: st.query_params.get_all(key) for key in st.query_params}, (*LINKED, *NO_SETTINGS)
    others = {name: values for name, values in shown.items() if _key_of(name)[0] not in ours}
    if {key: values[-1] for key, values in shown.items() if key not in others} != wanted:
        st.query_params.from_dict({**others, **wanted})


def _text(value: object) -> str:
    if value is None:
        return EMPTY
    if isinstance(value, list):
        return ",".join(value)
    return format(value, ".12g") if isinstance(value, float) else str(value)
