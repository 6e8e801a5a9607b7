"""The kinds of field that pages ask with, and the fields of what is trained and how.

Each keeps its value while the visitor is on other pages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypedDict, Unpack

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core import InputError
from profet_core.answers.by_layers import NetworkProfile
from profet_core.answers.context import MAX_NETWORK_LETTERS, NetworkParameters, parameters_of, recorded_parameters
from profet_core.catalog.instance import SPOT
from profet_core.layers.networks import named_networks, sized_name
from profet_core.prediction.scaler import axis_range, sizes_for
from profet_core.questions import COST_FIELDS, AdviseQuestion, fields_of
from profet_profiles.record import ProfileMeta
from profet_profiles.units import LARGEST_NUMBER, SMALLEST_NUMBER, format_count, typed_count, typed_latency_ms
from ui.custom import profile_in_slot
from ui.resources import Resources
from ui.session import DEFAULT_METHOD, Field, NetworkFields, Training, latency_text, method_options, session
from ui.words import plain, sentence

SIZE_LABELS = {"batch": "Batch size", "pixels": "Image size"}


class FieldLook(TypedDict, total=False):
    """What Streamlit's fields take, each those that it has."""

    help: str | None
    label_visibility: Literal["visible", "hidden", "collapsed"]
    disabled: bool
    index: int | None
    default: str | None
    placeholder: str
    width: int
    wrap: bool
    accept_new_options: bool
    max_selections: int
    format_func: Callable[[str], str]
    on_change: Callable[[], object]


def choice(
    label: str, field: Field[str] | str, options: Mapping[str, str] | None = None, **look: Unpack[FieldLook]
) -> None:
    """One of a few, all in sight; `options`: each to how it reads; None: as the field has them."""
    _one_of(st.segmented_control, label, field, options, {"required": True, **look})


def select(
    label: str,
    field: Field[str] | Field[str | None] | str,
    options: Mapping[str, str] | None = None,
    **look: Unpack[FieldLook],
) -> None:
    """One of many, behind a list; `options` as in `choice`."""
    _one_of(st.selectbox, label, field, options, look)


def _one_of(
    widget: Callable[..., Any],
    label: str,
    field: Field[Any] | str,
    options: Mapping[str, str] | None,
    look: Mapping[str, object],
) -> None:
    key, known = (field, {}) if isinstance(field, str) else (field.key, field.options)
    words = options or known
    widget(label, tuple(words), format_func=words.__getitem__, key=key, persist_state="session", **look)


def toggle(label: str, field: Field[bool], tip: str) -> None:
    """Yes or no."""
    st.toggle(label, key=field.key, persist_state="session", help=tip)


def some_of(label: str, field: Field[list[str]], options: Collection[str], **look: Unpack[FieldLook]) -> None:
    """Ask for some of many."""
    more: dict[str, Any] = {**look}
    st.multiselect(label, options, key=field.key, persist_state="session", **more)


def number_field(
    label: str,
    field: Field[Any] | str,
    bounds: tuple[float, float] | None = None,
    *,
    empty: str | None = None,
    tip: str | None = None,
    at: DeltaGenerator | None = None,
    on_change: Callable[[], None] | None = None,
) -> None:
    """Ask for a number above 0; whole bounds take whole numbers only.

    `field`: with its bounds, or a key. `empty`: shown in the empty field; None: it may not be empty.
    """
    field = Field(None, bounds=bounds, key=field) if isinstance(field, str) else field
    bounds = field.bounds or (SMALLEST_NUMBER, LARGEST_NUMBER)
    kind: dict[str, Any] = {"format": "%d"} if isinstance(bounds[0], int) else {"format": "%g", "step": 0.1}
    (st if at is None else at).number_input(
        label,
        *bounds,
        value="min" if empty is None else None,
        key=field.key,
        placeholder=empty,
        help=tip or field.tip or None,
        on_change=on_change,
        persist_state="session",
        **kind,
    )


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
        select("Method", NetworkFields.method, options, help=tip)


def precision_input() -> None:
    """In which precision the training runs."""
    select(
        "Precision",
        NetworkFields.precision,
        help="*As profiled* keeps the profile's precision. FP32 profiles run as TF32 on Ampere and newer GPUs, as in "
        "TensorFlow. Choose FP32 to turn TF32 off.",
    )


def training_code_input() -> None:
    """How the training is written."""
    tip = "Memory format and compilation of your code. AMP gains more from channels-last and compiled code."
    select("Training code", NetworkFields.training_code, help=tip)
    tip = "Activations are computed again in the backward pass: less memory, and about 1.3 times the time."
    toggle("Activation checkpointing", NetworkFields.checkpointing, tip)


def workload_input() -> None:
    """Images and epochs."""
    images, epochs = st.columns(2, gap="small", vertical_alignment="bottom")
    number_field("Images per epoch", Training.images, at=images)
    number_field("Epochs", Training.epochs, at=epochs)


def costs_input() -> None:
    """Ask for data loading, runs, and costs beside the steps; those of spot machines where these are chosen."""
    tip = (
        "6–9%: the extra time that measured epochs took. By vCPUs: the GPU waits if the machine's vCPUs prepare fewer "
        "images than it trains."
    )
    select("Data loading", Training.loading, help=tip)
    if session.training.loading == "vcpus":
        tip = (
            "About 120 from JPEG at 224 pixels; `profet collect --loading FOLDER` measures yours. With cached tensors, "
            "choose *Not counted*."
        )
        number_field("Images/s per vCPU", Training.images_per_s_per_vcpu, tip=tip)
    number_field("Runs", Training.runs, tip="Number of trainings like this one, as in a sweep.")
    if session.training.runs > 1:
        toggle("All runs at once", Training.at_once, "Each on its own machine, instead of one after another.")
    for name in COST_FIELDS:
        number_field(fields_of(AdviseQuestion)[name].label, vars(Training)[name], empty="none")
    if session.offers.market == SPOT:
        tip = "Share of spot machines interrupted per month, in AWS's five published bands."
        select("Interruptions", Training.interruptions, help=tip)
        if session.training.interruptions == "day":
            number_field("Interruptions per day", Training.per_day)
        checkpoint, restart = st.columns(2, gap="small", vertical_alignment="bottom")
        number_field("Checkpoint (min)", Training.checkpoint_minutes, at=checkpoint)
        number_field("Restart (min)", Training.restart_minutes, at=restart)


def validation_input() -> None:
    """Images that only run forward."""
    tip = "A validation step runs only the forward pass and counts as a third of a training step."
    number_field("Validation images per epoch", Training.validation_images, tip=tip)


def network_name_input(field: Field[str]) -> None:
    """Ask for a network, however its name is written. One that is not known stays as typed, without numbers."""

    def take() -> None:
        with suppress(InputError):
            st.session_state[field.key] = sized_name(st.session_state[field.key])

    st.selectbox(
        "Network name",
        list(dict.fromkeys((*named_networks(), st.session_state[field.key]))),
        accept_new_options=True,
        key=field.key,
        on_change=take,
        label_visibility="collapsed",
        persist_state="session",
    )


def parameters_input(meta: ProfileMeta | None) -> None:
    """Ask for the network's name or its parameters; empty: as the profile tells. What is neither, the page says."""
    known, empty = None if meta is None else recorded_parameters(meta), "ResNet50, or 25.6M"
    if known is not None:
        empty = known.words if known.name else f"{format_count(known.count)}, as profiled"

    def answer_nodes() -> None:
        # Whoever says what GPUs share has several in mind: on every page.
        session.training.whole_nodes = bool(_typed())

    st.selectbox(
        "Network or parameters",
        list(dict.fromkeys((*filter(None, [session.training.network]), *named_networks()))),
        index=None,
        accept_new_options=True,
        key=Training.network.key,
        placeholder=empty,
        help="A network's name or its number of parameters, which is the number of gradients each GPU sends.",
        on_change=answer_nodes,
        persist_state="session",
    )
    with suppress(InputError):
        chosen = chosen_parameters(meta)
        if chosen is not None and _typed():
            st.caption(f"= {chosen.words}")


def chosen_parameters(meta: ProfileMeta | None) -> NetworkParameters | None:
    """Return what was typed, else what the profile tells; InputError: it is neither a network nor a number."""
    if typed := _typed():
        return parameters_of(typed, None if meta is None else meta.pixels)
    return None if meta is None else recorded_parameters(meta)


def whole_nodes_input(meta: ProfileMeta) -> None:
    """Whether all GPUs of a machine train, and the gradients they share."""
    tip = "Each GPU gets your batch size, so a step has more images. Off: one GPU of the machine trains."
    toggle("Use all GPUs of a machine", Training.whole_nodes, tip)
    if session.training.whole_nodes:
        parameters_input(meta)


def typed_network() -> tuple[str | None, float | None]:
    """Return the network's name or its number of parameters as typed; InputError: it begins as a number only."""
    typed = _typed()
    return (None, typed_count(typed)) if typed[:1].isdigit() else (typed or None, None)


def _typed() -> str:
    return (session.training.network or "").strip()[:MAX_NETWORK_LETTERS]


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
