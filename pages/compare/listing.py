"""The list of profiles: more are added here, one is chosen, and its fields are drawn beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import streamlit as st

from pages.compare.candidates import Candidate, Compared, own_key
from profet_core import Profile, ProfileError
from profet_core.prediction.checks import counted
from profet_core.profiles.profet_json.writer import write_profile
from profet_core.units import format_ms
from ui.inputs.fields import number_field
from ui.inputs.profile import remove_all_button, rename_input, step_questions, steps_input, steps_number
from ui.inputs.uploads import notes_on, upload_input
from ui.notices import page_path, record_link, show_error
from ui.state.profiles import own_profiles, remove_own, set_recorded, use_sample
from ui.state.records import OwnProfile
from ui.state.resources import Resources
from ui.state.session import ON_PREDICT, session
from ui.tables import download_button
from ui.words import plain

_PREFIX = "compare"
_EXAMPLES = 3
_WIDGET, _SAMPLE_WIDGET = "inspected", "profiles:sample"


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
    notes = notes_on(_PREFIX)
    with st.expander("Add profiles", expanded=empty or bool(notes.errors or notes.infos), icon=":material/add:"):
        upload_input(resources, _PREFIX, _choose_added)
        st.selectbox(
            "Sample",
            [name for name in resources.samples if name not in session.compare.compare_samples],
            index=None,
            format_func=lambda name: resources.samples[name].title,
            key=_SAMPLE_WIDGET,
            placeholder="Choose a sample",
            on_change=_add_sample,
        )
        record_link()


def list_linked() -> None:
    """A sample that a link chooses is on the list."""
    listed, sample = session.compare.compare_samples, session.compare.inspect
    if sample is not None and sample not in (ON_PREDICT, *listed):
        session.compare.compare_samples = [*listed, sample]


def choose_listed(resources: Resources, compared: Sequence[Compared]) -> Compared:
    """The list; returns the chosen one."""
    every = {one.candidate.key: one for one in compared}
    wanted = session.compare.inspect or session.compare.inspect_own
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
    session.compare.compare_samples = [other for other in session.compare.compare_samples if other != name]
    if session.compare.inspect == name:
        session.compare.inspect = None


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
    elif one.prediction is not None and one.prediction.similarity is not None:
        yield f"{one.prediction.similarity.words} the training data"


def _load_examples(names: Sequence[str]) -> None:
    session.compare.compare_samples = list(names)


def _add_sample() -> None:
    name = st.session_state[_SAMPLE_WIDGET]
    if name is not None:
        session.compare.compare_samples = [*session.compare.compare_samples, name]
        st.session_state[_SAMPLE_WIDGET] = None
        _choose(name)


def _choose_added(own: OwnProfile) -> None:
    _choose(own_key(own.key))


def _choose_widget() -> None:
    _choose(st.session_state[_WIDGET])


def _choose(key: str) -> None:
    sample = key in session.compare.compare_samples
    session.compare.inspect, session.compare.inspect_own = (key, None) if sample else (None, key)


def show_chosen(resources: Resources, chosen: Candidate) -> None:
    """Fields of an own profile, or a sample's description; buttons below."""
    with st.container(border=True, gap="small"):
        if chosen.own:
            _own_fields(resources, chosen.own)
        else:
            sample = resources.samples[chosen.key]
            st.markdown(f"**{plain(sample.title)}**")
            st.caption(f"Sample: {plain(sample.description)}.")
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            _use_button(resources, chosen)
            _download_button(resources, chosen)
            _remove_button(chosen)


def _own_fields(resources: Resources, own: OwnProfile) -> None:
    name, anchor, latency = st.columns([4, 4, 3], gap="small", vertical_alignment="bottom")
    with name:
        rename_input(own, _PREFIX)
    anchor_key, latency_key = f"{_PREFIX}:anchor:{own.key}", f"{_PREFIX}:latency:{own.key}"
    # What was entered on Predict since then comes first.
    st.session_state[anchor_key], st.session_state[latency_key] = own.anchor, own.latency_ms
    anchor.selectbox(
        "Anchor",
        resources.anchors,
        index=None,
        format_func=resources.anchor_labels().__getitem__,
        placeholder="Choose a GPU",
        key=anchor_key,
        on_change=_recorded,
        args=(own.key, anchor_key, latency_key),
    )
    with latency:
        number_field(
            "Latency (ms)",
            latency_key,
            empty="optional",
            on_change=lambda: _recorded(own.key, anchor_key, latency_key),
        )
    steps_input(own, _PREFIX, own.latency_ms)
    step_questions(own, _PREFIX)


def _use_button(resources: Resources, chosen: Candidate) -> None:
    if chosen.on_predict:
        st.page_link(page_path("predict"), label="Open in Predict", icon=":material/arrow_forward:")
    elif st.button("Use in Predict", key=f"{_PREFIX}:use", icon=":material/arrow_forward:"):
        if chosen.own:
            session.profile.source, session.profile.chosen = "upload", chosen.own.key
        else:
            use_sample(session.profile, chosen.key)
        st.switch_page(page_path("predict"))


def _download_button(resources: Resources, chosen: Candidate) -> None:
    """The profile as PROFET JSON, with the fields above."""
    try:
        data = write_profile(as_said(chosen.own)) if chosen.own else resources.samples[chosen.key].data
    except ProfileError as error:
        show_error(str(error))
        return
    name = "profile.json" if chosen.own else resources.samples[chosen.key].path.name
    download_button("PROFET JSON", data, name, "application/json", f"{_PREFIX}:json", type="tertiary")


def as_said(own: OwnProfile) -> Profile:
    """One step of it, with the step latency and whatever else the visitor said."""
    profile = counted(own.profile, own.latency_ms)
    return replace(profile, meta=replace(profile.meta, step_latency_ms=own.latency_ms))


def _remove_button(chosen: Candidate) -> None:
    own = chosen.own
    st.button(
        "Remove",
        key=f"{_PREFIX}:remove",
        icon=":material/delete:",
        type="tertiary",
        on_click=remove_own if own else drop_sample,
        args=(own.key if own else chosen.key,),
    )
    more = len(own_profiles()) > 1
    if own and (more or not own.asks_steps):
        with st.popover("More", type="tertiary"):
            if not own.asks_steps:
                steps_number(own, _PREFIX, "Steps in the file", own.profile.steps)
            if more:
                remove_all_button(f"{_PREFIX}:remove-all")


def _recorded(own_key: str, anchor_key: str, latency_key: str) -> None:
    set_recorded(own_key, st.session_state[anchor_key], st.session_state[latency_key])
