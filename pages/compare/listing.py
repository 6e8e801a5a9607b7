"""The list of profiles: one of them is chosen; more are added here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from pages.compare.candidates import Compared, own_key
from profet_core.units import format_ms
from ui.inputs.record_link import record_link
from ui.inputs.uploads import has_notes, upload_input
from ui.state.own_profiles import OwnProfile
from ui.state.page_keys import LISTED
from ui.state.resources import Resources
from ui.state.settings import ON_PREDICT
from ui.texts import plain

_PREFIX = "compare"
_EXAMPLES = 3
_WIDGET, _SAMPLE_WIDGET = "inspected", "profiles:sample"
#: What the visitor chose: a sample, which a link carries, or an own profile.
_SAMPLE, _OWN = "inspect", "inspect_own"


def add_input(resources: Resources, *, empty: bool) -> None:
    """Where profiles come from: files and samples; in sight while there is none."""
    if empty:
        st.markdown("No profiles yet. Upload profiles, or try samples.")
        st.button(
            "Add three samples",
            key="profiles:examples",
            icon=":material/science:",
            on_click=_load_examples,
            args=(tuple(resources.samples)[:_EXAMPLES],),
        )
    with st.expander("Add profiles", expanded=empty or has_notes(_PREFIX), icon=":material/add:"):
        upload_input(resources, _PREFIX, _choose_added)
        st.selectbox(
            "Sample",
            [name for name in resources.samples if name not in st.session_state[LISTED]],
            index=None,
            format_func=lambda name: resources.samples[name].title,
            key=_SAMPLE_WIDGET,
            placeholder="Choose a sample",
            on_change=_add_sample,
        )
        record_link()


def list_linked() -> None:
    """A sample that a link chooses is on the list."""
    sample = st.session_state[_SAMPLE]
    if sample not in (None, ON_PREDICT, *st.session_state[LISTED]):
        st.session_state[LISTED] = [*st.session_state[LISTED], sample]


def choose_listed(resources: Resources, compared: Sequence[Compared]) -> Compared:
    """The list; returns the chosen one."""
    every = {one.candidate.key: one for one in compared}
    wanted = st.session_state[_SAMPLE] or st.session_state.get(_OWN)
    st.session_state[_WIDGET] = wanted if wanted in every else _usual(compared)
    st.radio(
        f"{len(every)} profile{'s' if len(every) > 1 else ''}",
        tuple(every),
        format_func=lambda key: plain(every[key].candidate.name) if key in every else "",
        captions=[" · ".join(_facts(resources, one)) for one in compared],
        key=_WIDGET,
        on_change=_choose_widget,
    )
    return every[st.session_state[_WIDGET]]


def drop_sample(name: str) -> None:
    """Take a sample off the list."""
    st.session_state[LISTED] = [other for other in st.session_state[LISTED] if other != name]
    if st.session_state[_SAMPLE] == name:
        st.session_state[_SAMPLE] = None


def _usual(compared: Sequence[Compared]) -> str:
    """The one that Predict shows, else the visitor's newest, else the first sample."""
    own = [one.candidate.key for one in compared if one.candidate.own]
    answers = [one.candidate.key for one in compared if one.candidate.on_predict]
    return (*answers, *own[-1:], compared[0].candidate.key)[0]


def _facts(resources: Resources, one: Compared) -> Iterator[str]:
    """Anchor, sizes, framework and latency, and similarity to the training data."""
    candidate, meta = one.candidate, one.candidate.profile.meta
    if candidate.on_predict:
        yield "**on Predict**"
    if candidate.own is None:
        yield "sample"
    if candidate.anchor is None:
        yield "**anchor?**"
    elif candidate.anchor in resources.catalog:
        yield plain(f"{resources.catalog[candidate.anchor].gpu_model} ({candidate.anchor})")
    else:
        yield plain(resources.anchor_label(candidate.anchor))
    if meta.batch_size:
        yield f"batch {meta.batch_size}"
    if meta.pixels:
        yield f"{meta.pixels} px"
    if meta.framework:
        yield plain(meta.framework)
    if candidate.latency_ms is not None:
        yield f"{plain(format_ms(candidate.latency_ms))}/step"
    if one.refusal:
        yield "**no prediction**"
    elif one.prediction is not None and one.prediction.likeness is not None:
        yield f"{one.prediction.likeness.words} the training data"


def _load_examples(names: Sequence[str]) -> None:
    st.session_state[LISTED] = list(names)


def _add_sample() -> None:
    name = st.session_state[_SAMPLE_WIDGET]
    if name is not None:
        st.session_state[LISTED] = [*st.session_state[LISTED], name]
        st.session_state[_SAMPLE_WIDGET] = None
        _choose(name)


def _choose_added(own: OwnProfile) -> None:
    _choose(own_key(own.key))


def _choose_widget() -> None:
    _choose(st.session_state[_WIDGET])


def _choose(key: str) -> None:
    sample = key in st.session_state[LISTED]
    st.session_state[_SAMPLE], st.session_state[_OWN] = (key, None) if sample else (None, key)
