"""The kinds of field that pages ask with, and the fields of what is trained and how.

Each keeps its value while the visitor is on other pages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core import InputError
from profet_core.answers.by_layers import NetworkProfile
from profet_core.answers.context import NetworkParameters, parameters_of, recorded_parameters
from profet_core.catalog.instance import SPOT
from profet_core.layers.networks import named_networks, sized_name
from profet_core.prediction.scaler import axis_range, sizes_for
from profet_core.questions import COST_FIELDS
from profet_profiles.record import ProfileMeta
from profet_profiles.units import format_count, typed_latency_ms
from ui.custom import profile_in_slot
from ui.resources import Resources
from ui.session import ANY_NUMBER, DEFAULT_METHOD, LINKED, latency_text, method_options, session
from ui.words import plain, sentence

SIZE_LABELS = LINKED["axis"].options
#: Numbers from here on are written a second time, with separators: a field of the browser has none.
_LARGE = 10_000


def _draw(widget: Callable[..., Any], key: str, options: Collection[str] | None = None, **look: Any) -> None:
    """Draw the field of a key; label, help and options are the setting's unless others are given.

    `options` may map each to how it reads.
    """
    if declared := LINKED.get(key):
        look = {"label": declared.label, "help": declared.tip or None, **look}
        options = options or declared.options or None
    if isinstance(options, Mapping):
        look = {"format_func": options.__getitem__, **look}
    if options is not None:
        look["options"] = tuple(options)
    widget(key=key, persist_state="session", **look)


#: One of a few, all in sight; one of many, behind a list; some of a few, and of many; yes or no.
choice = partial(_draw, st.segmented_control, required=True)
select = partial(_draw, st.selectbox)
several_of = partial(_draw, st.pills, selection_mode="multi")
some_of = partial(_draw, st.multiselect)
toggle = partial(_draw, st.toggle)


def number_field(
    key: str,
    bounds: tuple[float, float] | None = None,
    *,
    empty: str | None = None,
    at: DeltaGenerator | None = None,
    label: str = "",
    help: str = "",
    on_change: Callable[[], None] | None = None,
) -> None:
    """Ask for a number, of a setting or between bounds; whole bounds take whole numbers only.

    `empty`: shown in the empty field. A setting may be empty if its default is, another field if this is given.
    """
    declared = LINKED.get(key)
    smallest, largest = bounds or (declared and declared.bounds) or ANY_NUMBER
    kind: Any = {"format": "%d"} if isinstance(smallest, int) else {"format": "%g", "step": 0.1}
    is_filled = empty is None if declared is None else declared.default is not None
    kind |= {"value": "min" if is_filled else None, "placeholder": empty or "none"}
    kind |= {name: text for name, text in (("label", label), ("help", help)) if text}
    _draw((at or st).number_input, key, min_value=smallest, max_value=largest, on_change=on_change, **kind)
    if at is None:
        _show_separated(key)


def number_fields(*keys: str, empty: str | None = None) -> None:
    """Ask for numbers side by side."""
    for key, column in zip(keys, st.columns(len(keys), gap="small", vertical_alignment="bottom"), strict=True):
        number_field(key, at=column, empty=empty)
    for key in keys:
        _show_separated(key)


def _show_separated(key: str) -> None:
    if (value := st.session_state.get(key) or 0) >= _LARGE:
        st.caption(f"= {value:,}")


def set_aside(name: str, before: str | None, now: str | None, keys: Sequence[str]) -> None:
    """Empty fields of latencies that were typed for another GPU, and fill in what was typed for the one chosen now.

    `name`: what they are of, such as a profile.
    """
    on, kept = session.custom.aside.get(name, (None, {}))
    typed = {key: st.session_state[key] for key in keys if st.session_state.get(key)}
    others = {other: values for other, values in session.custom.aside.items() if other != name}
    if typed and before not in (None, now):
        session.custom.aside = {**others, name: (before, typed)}
    elif now is not None and now == on and not typed:
        session.custom.aside = others
    else:
        return
    st.session_state.update({key: kept.get(key) if now == on else None for key in keys})


def aside_note(
    name: str, now: str | None, words: Callable[[str], str], on_use: Callable[[], None] | None = None
) -> None:
    """Say for which GPU the latencies were that `set_aside` took away, with a button that takes them for the one `now`.

    `words`: a GPU as it is called.
    """
    on, kept = session.custom.aside.get(name, (None, {}))
    if on is None or now in (None, on) or any(st.session_state.get(key) for key in kept):
        return

    def use() -> None:
        st.session_state.update(kept)
        session.custom.aside = {other: values for other, values in session.custom.aside.items() if other != name}
        if on_use is not None:
            on_use()

    several, (first, *_) = len(kept) > 1, kept.values()
    latency_ms = typed_latency_ms(first) if isinstance(first, str) else first
    what = "Your latencies were" if several else f"{latency_text(latency_ms)} was"
    st.caption(plain(f"{what} for {words(on)}."))
    st.button(plain(f"Use {'them' if several else 'it'} for {words(now)}"), key=f"aside:{name}", on_click=use)


def more_options(page: str, draw: Callable[[], None]) -> None:
    """Show what few visitors change: `draw` is called, and its fields are sent, while it is open."""
    expander = st.expander("More options", key=f"more:{page}", on_change="rerun")
    if expander.open:
        with expander:
            draw()


def method_input(resources: Resources) -> None:
    """Which method predicts, where the models hold more than one."""
    names = {"classes": "operation classes", "profet": "documented PROFET ensemble"}
    options = {}
    for option in method_options(resources):
        method = resources.models.method(option).name
        name = names.get(method, method)
        options[option] = f"Default: {name}" if option == DEFAULT_METHOD else sentence(name)
    if len(options) > 1:
        tip = "The default is more accurate and gives an interval. About describes both."
        select("method", options, help=tip)


def costs_input() -> None:
    """Ask for data loading, runs, and costs beside the steps; those of spot machines where these are chosen."""
    tip = (
        "6–9%: the extra time that measured epochs took. By vCPUs: the GPU waits if the machine's vCPUs prepare fewer "
        "images than it trains."
    )
    select("loading", help=tip)
    if session.training.loading == "vcpus":
        tip = (
            "About 120 from JPEG at 224 pixels; `profet collect --loading FOLDER` measures yours. With cached tensors, "
            "choose *Not counted*."
        )
        number_field("images_per_s_per_vcpu", help=tip)
    number_field("runs")
    if session.training.runs > 1:
        toggle("at_once")
    for name in COST_FIELDS:
        number_field(name)
    if session.offers.market == SPOT:
        select("interruptions")
        if session.training.interruptions == "day":
            number_field("per_day")
        number_fields("checkpoint_minutes", "restart_minutes")


def _named(typed: str | None) -> tuple[str, ...]:
    """Return the networks that can be chosen by name, after what was typed."""
    return tuple(dict.fromkeys((*filter(None, [typed]), *named_networks())))


def network_name_input() -> None:
    """Ask for a network, however its name is written. One that is not known stays as typed, without numbers."""

    def take() -> None:
        with suppress(InputError):
            session.file.net = sized_name(session.file.net)

    select("net", _named(session.file.net), accept_new_options=True, on_change=take, label_visibility="collapsed")


def parameters_input(meta: ProfileMeta | None) -> None:
    """Ask for the network's name or its parameters; empty: as the profile tells. What is neither, the page says."""
    recorded, empty = None if meta is None else recorded_parameters(meta), "ResNet50, or 25.6M"
    if recorded is not None:
        empty = recorded.words if recorded.name else f"{format_count(recorded.count)}, as profiled"

    def answer_nodes() -> None:
        # Whoever says what GPUs share has several in mind: on every page.
        session.training.whole_nodes = bool(session.training.typed)

    tip = "A network's name or its number of parameters, which is the number of gradients each GPU sends."
    look: Any = {"index": None, "accept_new_options": True, "placeholder": empty, "help": tip}
    select("network", _named(session.training.network), on_change=answer_nodes, **look)
    with suppress(InputError):
        chosen = chosen_parameters(meta)
        if chosen is not None and session.training.typed:
            st.caption(f"= {chosen.words}")


def chosen_parameters(meta: ProfileMeta | None) -> NetworkParameters | None:
    """Return what was typed, else what the profile tells; InputError: it is neither a network nor a number."""
    if typed := session.training.typed:
        return parameters_of(typed, None if meta is None else meta.pixels)
    return None if meta is None else recorded_parameters(meta)


def size_sliders(resources: Resources) -> None:
    """Both sliders side by side; each is the training's size, the profile's own until it is moved."""
    recorded = recorded_sizes(resources).items()
    for column, (axis, size) in zip(st.container(key="sliders").columns(2, gap="medium"), recorded, strict=True):
        with column:
            _size_slider(axis, size)


def recorded_sizes(resources: Resources) -> dict[str, int | None]:
    """Return the batch and pixel size that the profile was recorded at, None while not known."""
    held = profile_in_slot(resources, session.profile)
    meta, network = held.profile.meta, session.network
    if isinstance(held.read, NetworkProfile):
        # A network's file is read at one size.
        return {"batch": meta.batch_size, "pixels": meta.pixels if held.read.known_as else None}
    return {"batch": meta.batch_size or network.profiled_batch, "pixels": meta.pixels or network.profiled_pixels}


def _size_slider(axis: str, recorded: int | None) -> None:
    """Draw one slider, fixed while the profile's own size is not known."""
    if recorded is None:
        tip = f"Enter the recorded {'batch' if axis == 'batch' else 'image'} size first."
        if session.profile.source == "name":
            by_file = axis == "pixels" and session.file.net_from == "file"
            tip = "For another size, upload the network's file again." if by_file else "Needs a network."
        # A size that nobody gave is none: a dash, not the smallest one.
        waits: Any = {"format_func": lambda _: "\N{EN DASH}", "key": f"slider:{axis}:off", "disabled": True}
        st.select_slider(SIZE_LABELS[axis], axis_range(axis), **waits)
        st.caption(tip)
        return
    chosen = getattr(session.training, f"at_{axis}") or recorded
    key = f"slider:{axis}"
    here = (chosen, session.custom.link_page)
    if is_new := st.session_state.get(f"{key}:drawn") != here or st.session_state.get(key) != chosen:
        # Only then, and on another page: what is written here replaces what the visitor moves meanwhile.
        st.session_state[key], st.session_state[f"{key}:drawn"] = chosen, here

    def choose() -> None:
        moved = st.session_state[key]
        setattr(session.training, f"at_{axis}", None if moved == recorded else moved)
        st.session_state[f"{key}:drawn"] = (moved, session.custom.link_page)

    stops = sorted({*sizes_for(axis, recorded), chosen})
    label = SIZE_LABELS[axis]
    by_name = session.profile.source == "name"
    if chosen != recorded and not by_name:
        # In the label's line it takes no room: nothing jumps.
        label += f"\N{EN SPACE}:small[scaled from {recorded}]"
    tip = "At other image sizes the number of classes changes too, as in the measured data (10 to 1,000)."
    is_classifier = axis == "pixels" and recorded <= axis_range(axis)[1] and not by_name
    # The run that wrote it may be cut short before the browser has the slider: then it begins at this value.
    begins: Any = {} if is_new else {"value": chosen}
    st.select_slider(label, stops, key=key, on_change=choose, help=tip if is_classifier else None, **begins)
