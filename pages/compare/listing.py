"""The list of profiles: what is predicted from each, how more are added, and the fields of the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core import Prediction, Profile, ProfileError
from profet_core.answers.predict import answer_compare
from profet_core.answers.questions import ProfileQuestion
from profet_core.prediction.checks import counted
from profet_core.units import format_ms
from profet_recorder.profiles.profet_json import write_profile
from ui.custom import held_in, profile_to_predict, remove_profiles, set_recorded
from ui.fields import number_field, some_of
from ui.predicted import Predicted
from ui.profile import besides_steps, remove_all_button, rename_input, sample_label, step_questions
from ui.resources import Held, Resources
from ui.session import CompareView, session
from ui.tables import save_button
from ui.uploads import notes_on, read_uploads, show_notes, upload_input
from ui.words import ON_PREDICT, page_path, plain, record_link, show_error, unbroken


@dataclass(frozen=True, slots=True)
class Candidate:
    """One profile of the list, with what is predicted from it.

    `on_predict`: it is the one that Predict shows. `prediction`: None while its anchor isn't known or where nothing can
    be predicted. `refusal`: why nothing can be predicted from it, one line; empty if something can.
    """

    held: Held
    on_predict: bool = False
    prediction: Prediction | None = None
    warnings: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def name(self) -> str:
        """As shown."""
        return self.held.name


def listed(resources: Resources) -> list[Candidate]:
    """What Predict shows, the visitor's own in the order they came, samples as picked, and one that a link chooses."""
    state, shown = session.compare, held_in(resources, session.profile)
    predicts = [] if shown.is_custom else [shown.key]
    inspected = [] if state.inspect in (None, ON_PREDICT) else [state.inspect]
    custom = list(session.custom.profiles.values())
    taken = {one.name for one in custom}
    samples = []
    for key in dict.fromkeys((*predicts, *state.compare_samples, *inspected)):
        one = profile_to_predict(resources) if key in predicts else resources.samples[key]
        samples.append(replace(one, name=f"{one.name} (sample)" if one.name in taken else one.name))
    first = len(predicts)
    return [Candidate(one, one.key == shown.key) for one in (*samples[:first], *custom, *samples[first:])]


def compare(resources: Resources, candidates: Sequence[Candidate], shown: Predicted | None = None) -> list[Candidate]:
    """Predict all of them; a latency that makes no sense is not used, with a warning.

    `shown`: what Predict shows of its profile: with a latency that the visitor trusts and their own measurements.
    """
    network, held = session.network, [one.held for one in candidates]
    how: Any = {name: getattr(network, name) for name in ("method", "precision", "training_code")}
    known: Any = [{"profile": one.profile, "anchor": one.anchor, "latency_ms": one.latency_ms} for one in held]
    found = answer_compare(resources, [ProfileQuestion(**one, **how) for one in known])
    compared = []
    for candidate, each in zip(candidates, found, strict=True):
        prediction, doubt = each.prediction, each.doubt
        if prediction is None:
            compared.append(replace(candidate, warnings=each.profile.warnings, refusal=each.refusal))
            continue
        if candidate.on_predict and shown is not None:
            prediction, doubt = shown.training.prediction, f"{shown.doubt} Predicted without it." if shown.doubt else ""
        warnings = (*([doubt] if doubt else []), *besides_steps(prediction.warnings, candidate.held))
        compared.append(replace(candidate, prediction=prediction, warnings=warnings))
    return compared


_PREFIX, _WIDGET = "compare", "inspected"


def chosen_of(compared: Sequence[Candidate]) -> Candidate:
    """The profile that is edited and looked into: the chosen one, else Predict's, the visitor's newest, the first."""
    by_key = {one.held.key: one for one in compared}
    custom = [one for one in compared if one.held.is_custom]
    usual = (*(one for one in compared if one.on_predict), *custom[-1:], compared[0])[0]
    return by_key.get(session.compare.inspect or session.compare.inspect_custom or "", usual)


def edit_profiles(
    resources: Resources, compared: Sequence[Candidate], chosen: Candidate, toolbar: DeltaGenerator
) -> None:
    """The list, the chosen one's fields, and where more come from; folded until something is to be done."""
    state, notes = session.compare, notes_on(_PREFIX)
    inside = state.view == "inside"
    waiting = any(one.prediction is None for one in compared) or bool(notes.errors or notes.infos)
    panel = st.expander(f"Profiles ({len(compared)})", expanded=waiting, icon=":material/list:")
    left, right = panel.columns(2, gap="medium")
    names = {one.held.key: one.name if inside else plain(one.name) for one in compared}
    st.session_state[_WIDGET] = chosen.held.key
    listed: dict[str, Any] = {
        "options": tuple(names),
        "format_func": lambda key: names.get(key, ""),
        "key": _WIDGET,
        "on_change": lambda: _choose(st.session_state[_WIDGET]),
    }
    if inside:
        toolbar.selectbox("Profile", **listed, width=320)
    else:
        left.radio("Profile", **listed, captions=[_facts(resources, one) for one in compared])
    with left if inside else right:
        _show_chosen(resources, chosen)
    with right:
        upload_input(_PREFIX)
        read_uploads(resources, _PREFIX, lambda _, last: _choose(last.key))
        show_notes(_PREFIX)
        some_of(
            "Samples",
            CompareView.compare_samples,
            tuple(resources.samples),
            format_func=lambda name: sample_label(resources.samples[name]),
            placeholder="Add a sample",
            wrap=True,
            on_change=lambda: setattr(state, "inspect", next(reversed(state.compare_samples), None)),
        )
        record_link()


def _choose(key: str) -> tuple[str, ...]:
    custom = key in session.custom.profiles
    session.compare.inspect, session.compare.inspect_custom = (None, key) if custom else (key, None)
    return ()


def _facts(resources: Resources, one: Candidate) -> str:
    """Anchor, sizes, framework and latency, and similarity to the training data, as far as they are known."""
    held, similarity = one.held, one.prediction and one.prediction.similarity
    meta = held.profile.meta
    facts = (
        "**on Predict**" if one.on_predict else "",
        "" if held.is_custom else "sample",
        plain(resources.anchor_label(held.anchor)) if held.anchor else "**no anchor yet**",
        f"batch {meta.batch_size}" if meta.batch_size else "",
        f"{meta.pixels} px" if meta.pixels else "",
        plain(meta.framework or ""),
        unbroken(f"{format_ms(held.latency_ms)}/step") if held.latency_ms is not None else "",
        "**no prediction**" if one.refusal else "",
        f"{similarity.words} the training data" if similarity else "",
    )
    return " · ".join(filter(None, facts))


def _show_chosen(resources: Resources, chosen: Candidate) -> None:
    """Fields of an uploaded profile, or a sample's description; buttons below."""
    held = chosen.held
    with st.container(border=True, gap="small"):
        if held.sample is None:
            _profile_fields(resources, held)
        else:
            st.markdown(f"**{plain(held.sample.title)}**")
            st.caption(f"Sample: {plain(held.sample.description)}.")
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            _use_button(chosen)
            _download_button(held)
            if held.is_custom:
                remove = partial(remove_profiles, held.key)
                st.button("Remove", key=f"{_PREFIX}:remove", icon=":material/delete:", type="tertiary", on_click=remove)
                remove_all_button(_PREFIX, type="tertiary")


def _profile_fields(resources: Resources, custom: Held) -> None:
    name, anchor, latency = st.columns([4, 4, 3], gap="small", vertical_alignment="bottom")
    anchor_key, latency_key = f"{_PREFIX}:anchor:{custom.key}", f"{_PREFIX}:latency:{custom.key}"
    # What was entered on Predict since then comes first.
    st.session_state[anchor_key], st.session_state[latency_key] = custom.anchor, custom.latency_ms

    def recorded() -> None:
        set_recorded(custom.key, st.session_state[anchor_key], st.session_state[latency_key])

    with name:
        rename_input(custom, _PREFIX)
    anchor.selectbox(
        "Anchor",
        resources.anchors,
        index=None,
        format_func=resources.anchor_labels().__getitem__,
        placeholder="Choose a GPU",
        key=anchor_key,
        on_change=recorded,
    )
    number_field("Latency (ms)", latency_key, empty="optional", at=latency, on_change=recorded)
    step_questions(custom, _PREFIX, custom.latency_ms)


def _use_button(chosen: Candidate) -> None:
    held, slot = chosen.held, session.profile
    if chosen.on_predict:
        st.page_link(page_path("predict"), label="Open in Predict", icon=":material/arrow_forward:")
    elif st.button("Use in Predict", key=f"{_PREFIX}:use", icon=":material/arrow_forward:"):
        if held.is_custom:
            slot.source, slot.chosen = "upload", held.key
        else:
            # With its own anchor and latency even if the same one was chosen before.
            slot.source, slot.sample, slot.shown = "sample", held.key, None
        st.switch_page(page_path("predict"))


def _download_button(held: Held) -> None:
    """The profile as PROFET JSON, with the fields above."""
    try:
        data = held.sample.data if held.sample else write_profile(with_answers(held))
    except ProfileError as error:
        show_error(str(error))
        return
    name = held.sample.path.name if held.sample else "profile.json"
    save_button("PROFET JSON", data, name, "application/json")


def with_answers(custom: Held) -> Profile:
    """One step of it, with the step latency and the visitor's other answers."""
    profile = counted(custom.profile, custom.latency_ms)
    return replace(profile, meta=replace(profile.meta, step_latency_ms=custom.latency_ms))
