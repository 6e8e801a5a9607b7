"""Scale: latencies at the smallest and the largest size in, the latency at every size between out."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from profet_core.scaling.scale import axis_range
from profet_core.units import MS_PER_S, format_ms, format_significant
from ui.basis import SHORT_BASIS, say_basis
from ui.charts import curves, instance_colours
from ui.errors import show_error, show_warning
from ui.frame import run_page
from ui.inputs.profile import anchor_input, latency_input, latency_question, profile_input
from ui.inputs.scale_ends import SIZE_WORDS, Ends, contradictions, current_ends, latencies_at, scale_ends
from ui.inputs.steps import besides_steps
from ui.state.resources import Resources
from ui.state.session import use_sample
from ui.state.settings import ALL_INSTANCES, AXES, END_SLOTS, ENDS, scale_keys, typed_end_key
from ui.tables import download_buttons, show_table

_AXIS_LABELS = {"batch": "Batch size", "pixels": "Pixel size"}
_ENDS_LABELS = {"profiles": "Predict from two profiles", "typed": "Type the latencies"}
_END_NAMES = ("min", "max")


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("How does the step time grow?")
    st.markdown("From the latency at the smallest and at the largest size to every size between, on each instance.")
    with st.container(horizontal=True, gap="medium"):
        st.segmented_control(
            "Size", AXES, format_func=_AXIS_LABELS.get, key="axis", required=True, persist_state="session"
        )
        st.segmented_control(
            "Latencies at both ends",
            ENDS,
            format_func=_ENDS_LABELS.get,
            key="ends",
            required=True,
            persist_state="session",
        )
    axis = st.session_state["axis"]
    with st.container(border=True):
        if st.session_state["ends"] == "typed":
            _typed_ends(resources, axis)
        else:
            _profile_ends(resources, axis)
    ends = current_ends(resources, axis)
    _questions(resources, ends)
    _result(resources, ends)


def keys(resources: Resources) -> Iterable[str]:
    """Settings of the page's link."""
    axis = st.session_state["axis"]
    return ("axis", "show", *scale_keys(resources, axis))


def _typed_ends(resources: Resources, axis: str) -> None:
    smallest, largest = (SIZE_WORDS[axis].format(size) for size in axis_range(axis))
    st.caption(f"Step latency in milliseconds, at {smallest} and at {largest}. Leave out what you don't know.")
    for name in resources.models.instances:
        low, high = st.columns(2, gap="small")
        for column, end, words in ((low, "min", smallest), (high, "max", largest)):
            column.number_input(
                f"{name}, {words} (ms)",
                value=None,
                min_value=0.0,
                step=1.0,
                format="%g",
                placeholder="not known",
                key=typed_end_key(axis, end, name),
                persist_state="session",
            )


def _profile_ends(resources: Resources, axis: str) -> None:
    pair = resources.sample_pair(axis)
    if pair:
        st.button(
            "Use the sample pair",
            key="use-sample-pair",
            icon=":material/science:",
            on_click=_use_pair,
            args=(axis, pair),
            help="; ".join(resources.samples[name].title for name in pair),
        )
    columns = st.columns(2, gap="medium")
    for column, slot, size in zip(columns, END_SLOTS[axis], axis_range(axis), strict=True):
        with column:
            words = SIZE_WORDS[axis].format(size)
            profile_input(resources, slot, f"Profile at {words}")
            latency_input(slot, f"Its step latency at {words} (optional)")
    anchor_input(resources, END_SLOTS[axis][0].anchor_key, "Both recorded on (anchor)")


def _use_pair(axis: str, pair: tuple[str, str]) -> None:
    for slot, name in zip(END_SLOTS[axis], pair, strict=True):
        use_sample(slot, name)


def _questions(resources: Resources, ends: Ends) -> None:
    """Doubts and warnings about either end, each told apart by its size."""
    for slot, outcome in zip(END_SLOTS[ends.axis], ends.outcomes, strict=False):
        latency_question(resources, slot, outcome)
    for line in contradictions(ends):
        show_warning(line)
    for outcome, size in zip(ends.outcomes, axis_range(ends.axis), strict=False):
        for line in besides_steps(outcome.prediction.warnings, outcome.held.profile, outcome.held.own):
            show_warning(f"At {SIZE_WORDS[ends.axis].format(size)}: {line}")


def _result(resources: Resources, ends: Ends) -> None:
    axis = ends.axis
    smallest, largest = axis_range(axis)
    st.subheader("Latency at every size between", anchor="curves")
    slider, choice = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    at = slider.slider(_AXIS_LABELS[axis], smallest, largest, key=axis, persist_state="session")
    choice.selectbox(
        "Show",
        (ALL_INSTANCES, *resources.models.instances),
        format_func=lambda name: "All instances" if name == ALL_INSTANCES else resources.instance_label(name),
        key="show",
        persist_state="session",
    )
    show = st.session_state["show"]
    chosen = ends if show == ALL_INSTANCES else _only(ends, show)
    scaled, read_off = scale_ends(resources, chosen), latencies_at(resources, chosen, at)
    for name, line in scaled.problems.items():
        show_error(f"{name}: {line}")
    _say_what_is_missing(resources, ends, show)
    if not scaled.latencies_ms:
        return
    rests = {name: row for name, row in ends.rests.items() if name in scaled.latencies_ms}
    st.plotly_chart(
        curves(
            range(smallest, largest + 1),
            scaled.latencies_ms,
            at,
            instance_colours(list(dict.fromkeys((*resources.models.instances, *scaled.latencies_ms)))),
            "images per step (batch size)" if axis == "batch" else "pixels per side",
            [name for name, row in rests.items() if row.basis.is_rough],
        ),
        config={"displayModeBar": False},
        key="curves",
    )
    if rests:
        st.caption(
            "Between the ends a latency is carried along a curve, whatever its ends rest on; it has no interval."
        )
    found = {name: values[0] for name, values in read_off.latencies_ms.items()}
    show_table([_text_row(resources, chosen, name, at, latency_ms) for name, latency_ms in found.items()], "Read-off")
    say_basis(list(rests.values()))
    download_buttons([_data_row(chosen, name, at, latency_ms) for name, latency_ms in found.items()], f"profet-{axis}")
    if axis == "pixels":
        st.caption(
            "In the measurements a larger picture goes with more classes (32 pixels: 10; 64 and 128: 100; 224 and 256: "
            "1000), so these curves include a growing last layer."
        )


def _only(ends: Ends, name: str) -> Ends:
    both = {name} & set(ends.both)
    return Ends(
        ends.axis, {key: ends.min_ms[key] for key in both}, {key: ends.max_ms[key] for key in both}, ends.outcomes
    )


def _say_what_is_missing(resources: Resources, ends: Ends, show: str) -> None:
    missing = [name for name in resources.models.instances if name not in ends.both and show in (ALL_INSTANCES, name)]
    if not missing:
        return
    if ends.outcomes:
        st.info(f"{', '.join(missing)} is the anchor: give its latency at both ends to see its curve.")
    else:
        st.info(f"Type both latencies to see {', '.join(missing)}.")


def _text_row(resources: Resources, ends: Ends, name: str, at: int, latency_ms: float) -> dict[str, str]:
    words = SIZE_WORDS[ends.axis]
    smallest, largest = axis_range(ends.axis)
    entry = resources.catalog[name]
    row = {
        "Instance": name,
        "GPU": entry.gpu_model,
        f"At {words.format(smallest)}": format_ms(ends.min_ms[name]),
        f"At {words.format(at)} (slider)": format_ms(latency_ms),
        f"At {words.format(largest)}": format_ms(ends.max_ms[name]),
    }
    if ends.axis == "batch":
        row["Images per second"] = format_significant(at / latency_ms * MS_PER_S)
    if name in ends.rests:
        row["Ends are"] = SHORT_BASIS[ends.rests[name].basis]
    return {**row, "Status": entry.status}


def _data_row(ends: Ends, name: str, at: int, latency_ms: float) -> dict[str, object]:
    return {
        "instance": name,
        **({"ends_basis": ends.rests[name].basis} if name in ends.rests else {}),
        "axis": ends.axis,
        "min_ms": ends.min_ms[name],
        "max_ms": ends.max_ms[name],
        "at": at,
        "latency_ms": latency_ms,
    }


run_page(body, keys)
