"""Ask what is trained and how: images, sizes, method, precision, and what GPUs exchange."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from profet_core import InputError, Models
from profet_core.answers.questions import LONGEST_NETWORK, NetworkParameters, parameters_of, told_parameters
from profet_core.layers.networks import named_networks
from profet_core.profiles.record import ProfileMeta
from profet_core.typed_numbers import typed_count
from profet_core.units import format_count
from ui.inputs.fields import number_field, select, toggle
from ui.state.own import held_in
from ui.state.resources import Resources
from ui.state.session import DEFAULT_METHOD, Network, Nodes, Training, method_options, session
from ui.words import sentence


def method_input(resources: Resources) -> None:
    """Which method predicts, where the models hold more than one."""
    options = {option: _method_label(resources.models, option) for option in method_options(resources)}
    if len(options) > 1:
        tip = "The default method errs less and gives an interval. About describes both."
        select("Method", Network.method, options, help=tip)


def precision_input() -> None:
    """In which precision the training runs."""
    select(
        "Precision",
        Network.precision,
        help="As profiled: the profile's precision; an FP32 profile means TF32 on Ampere and later, as TensorFlow and "
        "PyTorch run it. FP32: without TF32.",
    )


def _method_label(models: Models, option: str) -> str:
    """How an option of the method selector reads."""
    method = models.method(option)
    name = {"classes": "operation classes", "profet": "documented PROFET ensemble"}.get(method.name, method.name)
    return f"Default: {name}" if option == DEFAULT_METHOD else sentence(name)


def workload_input() -> None:
    """Images and epochs."""
    images, epochs = st.columns(2, gap="small")
    number_field("Images", Training.images, tip="Training images per epoch.", at=images)
    number_field("Epochs", Training.epochs, at=epochs)


def validation_input() -> None:
    """Images that only run forward."""
    number_field(
        "Validation images per epoch",
        Training.validation_images,
        tip="A validation step runs forward only; it is counted as a third of a training step.",
    )


def parameters_input(meta: ProfileMeta | None) -> None:
    """The network's name or its parameters; empty: as the profile tells, if it does. What is neither, the page says.

    Parameters
    ----------
    meta : of the profile; None where there is none.
    """
    known = None if meta is None else told_parameters(meta)

    def answer_nodes() -> None:
        # Whoever says what GPUs share has several in mind: on every page.
        session.nodes.whole_nodes = bool(_typed())

    st.selectbox(
        "Network or parameters",
        list(dict.fromkeys((*filter(None, [session.nodes.network]), *named_networks()))),
        index=None,
        accept_new_options=True,
        key=Nodes.network.key,
        placeholder="ResNet50, or 25.6M" if known is None else f"{format_count(known.count)}, as profiled",
        help="A network's name, or its number of parameters: each GPU sends as many gradients.",
        on_change=answer_nodes,
        persist_state="session",
    )
    with suppress(InputError):
        found = chosen_parameters(meta)
        if found is not None and _typed():
            st.caption(f"= {found.words}")


def chosen_parameters(meta: ProfileMeta | None) -> NetworkParameters | None:
    """What was typed, else what the profile tells; None where nothing does.

    Raises
    ------
    InputError : what was typed is neither a network nor a number.
    """
    if typed := _typed():
        return parameters_of(typed, None if meta is None else meta.pixels)
    return None if meta is None else told_parameters(meta)


def whole_nodes_input(meta: ProfileMeta) -> None:
    """Whether a node of several GPUs is answered with all of them training, and what they share."""
    tip = "Each at your batch size, so a step has as many times the images. Off: a node has the speed of one."
    toggle("All GPUs of a node train", Nodes.whole_nodes, tip)
    if session.nodes.whole_nodes:
        parameters_input(meta)


def typed_network() -> tuple[str | None, float | None]:
    """The network's name, or its number of parameters, as they were typed; None for what was not.

    Raises
    ------
    InputError : what was typed begins as a number and is none.
    """
    typed = _typed()
    return (None, typed_count(typed)) if typed[:1].isdigit() else (typed or None, None)


def _typed() -> str:
    return (session.nodes.network or "").strip()[:LONGEST_NETWORK]


#: Stops of the sliders on a logarithmic scale: four per doubling.
_STOPS = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256)
STOPS = {"batch": (16, 20, 24, 28, *_STOPS), "pixels": _STOPS}
#: The same on a linear scale.
_LINEAR = {axis: tuple(range(stops[0], stops[-1] + 1, 16)) for axis, stops in STOPS.items()}
SIZE_LABELS = {"batch": "Batch size", "pixels": "Image size (pixels)"}


def size_sliders(resources: Resources, *, log: bool = True) -> None:
    """Both sliders side by side; each is the training's size, the profile's own until it is moved.

    Parameters
    ----------
    log : stops are evenly spaced on a logarithmic scale, else on a linear one.
    """
    meta = held_in(resources, session.profile).profile.meta
    recorded = {
        "batch": meta.batch_size or session.network.profiled_batch,
        "pixels": meta.pixels or session.network.profiled_pixels,
    }
    for column, (axis, size) in zip(st.columns(2, gap="medium"), recorded.items(), strict=True):
        with column:
            _size_slider(axis, size, log=log)


def _size_slider(axis: str, recorded: int | None, *, log: bool) -> None:
    """The size along an axis; fixed while the profile's own size is not known."""
    if recorded is None:
        tip = f"Enter the {'batch' if axis == 'batch' else 'image'} size of the profile in the sidebar first."
        st.select_slider(SIZE_LABELS[axis], STOPS[axis], key=f"slider:{axis}:off", disabled=True, help=tip)
        return
    chosen = getattr(session.training, axis) or recorded
    key = f"slider:{axis}"
    here = (chosen, session.link.link_page)
    if st.session_state.get(f"{key}:drawn") != here or st.session_state.get(key) != chosen:
        # Only then, and on another page: what is written here replaces what the visitor moves meanwhile.
        st.session_state[key], st.session_state[f"{key}:drawn"] = chosen, here

    def choose() -> None:
        moved = st.session_state[key]
        setattr(session.training, axis, None if moved == recorded else moved)

    st.select_slider(
        SIZE_LABELS[axis],
        size_stops(axis, recorded, chosen, log=log),
        key=key,
        on_change=choose,
        help=None if chosen == recorded else f"The profile was recorded at {recorded}; {_SCALED[axis]}",
    )


_SCALED = {
    "batch": "other sizes are scaled from it.",
    "pixels": "other sizes are scaled from it, as networks with more classes at larger images.",
}


def size_stops(axis: str, *more: int, log: bool = True) -> Sequence[int]:
    """The stops with the sizes that must be among them: they extend the range."""
    return sorted({*(STOPS if log else _LINEAR)[axis], *more})
