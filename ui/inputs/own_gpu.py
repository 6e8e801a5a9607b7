"""Asks for a GPU of a visitor's own: name, data sheet, one throughput or step that is known, and what an hour costs."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from profet_core import InputError, ProfetError
from profet_core.catalog.own_gpus import (
    HAS_NONE,
    PRECISIONS,
    USD_PER_KWH,
    OwnGpu,
    SpeedPoint,
    ThroughputPoint,
    electricity_usd_per_hour,
    own_gpu_of,
)
from profet_core.prediction.own_gpu_step import speed_of_step
from profet_core.transfer.published import BATCH_RANGE, PIXEL_RANGE, load_reference_steps
from profet_core.typed_numbers import as_typed
from profet_core.units import format_ms, listed_price
from ui.errors import show_error
from ui.inputs.fields import choice
from ui.inputs.number_field import is_wrong, number_field, whole_field
from ui.inputs.own_file import OwnFile, own_file_input
from ui.predicted.outcome import predict_slot
from ui.state.own_gpus import (
    MAX_BYTES,
    add_own_gpus,
    check_name_is_free,
    own_gpus,
    own_gpus_csv,
    put_own_gpu,
    remove_own_gpu,
    without_own_gpus,
)
from ui.state.resources import Resources, load_resources
from ui.state.slots import PROFILE_SLOT
from ui.surer import surer_link, surer_sentence
from ui.texts import plain

_NAME, _LIKE, _KNOWN, _USD = "own-gpu:name", "own-gpu:like", "own-gpu:known", "own-gpu:usd"
_IMAGES, _NETWORK, _PIXELS, _BATCH = "own-gpu:images", "own-gpu:network", "own-gpu:pixels", "own-gpu:batch"
_PRECISION, _STEP_MS = "own-gpu:precision", "own-gpu:step-ms"
_EDITED, _REFUSED, _ROW = "own-gpu:edited", "own-gpu:refused", "own-gpu:row"
#: Column of the file -> its field, and how that is called.
_SHEET = {
    "fp32_tflops": ("own-gpu:fp32", "FP32 (TFLOP/s)"),
    "tf32_tensor_dense_tflops": ("own-gpu:tf32", "TF32 (TFLOP/s)"),
    "memory_gib": ("own-gpu:memory", "Memory (GiB)"),
    "bandwidth_gb_per_s": ("own-gpu:bandwidth", "Bandwidth (GB/s)"),
    "tdp_w": ("own-gpu:tdp", "Power limit (W)"),
}
_MAY_LACK = "tf32_tensor_dense_tflops"
_STEP, _THROUGHPUT, _NOTHING = _KNOWN_OF_IT = ("step", "throughput", "nothing")
_KNOWN_LABELS = {_STEP: "This profile's step", _THROUGHPUT: "Images a second", _NOTHING: "Nothing"}
_PRECISION_LABELS = {"tf32": "TF32", "fp32": "FP32"}
_FIRST_LIKE = "GeForce RTX 3090"
_FILE = OwnFile(
    key="own-gpus",
    label="Own GPUs (CSV)",
    tip="The file of `profet gpus add`, or the template filled in. It stays in this session; nobody else sees it.",
    max_bytes=MAX_BYTES,
    too_large=f"The file is larger than {MAX_BYTES // 1000} kB: a GPU takes about 100 bytes.",
    take=add_own_gpus,
    text=own_gpus_csv,
    file_name="gpus.csv",
)


def own_gpu_input(resources: Resources) -> None:
    """The visitor's GPUs, a form for one, and files in and out; they count on every page until the session ends."""
    state = st.session_state
    for key, value in _defaults().items():
        state.setdefault(key, value)
    rows = {row.name: row for row in own_gpus()}
    if rows:
        _show_rows(rows)
    st.text_input("Name", key=_NAME, placeholder="RTX 4080", autocomplete="off", persist_state="session")
    st.selectbox(
        "Like",
        tuple(resources.gpus.shipped),
        key=_LIKE,
        on_change=_take_sheet,
        persist_state="session",
        help="Fills in that data sheet: change what differs.",
    )
    _sheet_input()
    _known_input()
    electricity = electricity_usd_per_hour(state[_SHEET["tdp_w"][0]] or 0)
    number_field(
        "$ an hour",
        _USD,
        unit="$",
        empty=f"electricity: {listed_price(electricity)}",
        tip=f"What an hour of it costs you. Empty: its power limit at ${USD_PER_KWH:.2f} a kWh.",
    )
    if line := state[_REFUSED]:
        show_error(line)
    with st.container(horizontal=True):
        st.button("Add" if state[_EDITED] is None else "Save", key="own-gpu:put", on_click=_put)
        if state[_EDITED] is not None:
            st.button("Cancel", key="own-gpu:cancel", on_click=_empty)
    with st.expander("From a file", icon=":material/upload_file:"):
        own_file_input(_FILE, has_rows=bool(rows))
    st.caption(f"Surer: {surer_sentence(resources)}")
    surer_link()


def _sheet_input() -> None:
    # Two in a row; on a phone in their order.
    fields = list(_SHEET.items())
    for first in range(0, len(fields), 2):
        for place, (column, (key, label)) in zip(st.columns(2, gap="small"), fields[first : first + 2], strict=False):
            with place:
                number_field(label, key, empty="has none" if column == _MAY_LACK else None)


def _known_input() -> None:
    """One thing that is known of its speed."""
    choice("Known of its speed", _KNOWN, _KNOWN_OF_IT, _KNOWN_LABELS)
    known = st.session_state[_KNOWN]
    if known == _STEP:
        number_field(
            "Its step there (ms)",
            _STEP_MS,
            unit="ms",
            empty="as before" if isinstance(_edited_point(), SpeedPoint) else "12.3",
            tip="Of the profile that is shown, at the size it was recorded at, measured without a profiler.",
        )
    elif known == _THROUGHPUT:
        images, network = st.columns(2, gap="small")
        with images:
            number_field("Images a second", _IMAGES, empty="480", tip="Training, on one GPU.")
        with network:
            st.selectbox("Of", load_reference_steps().networks, key=_NETWORK, persist_state="session")
        batch, pixels = st.columns(2, gap="small")
        with batch:
            whole_field("At batch size", _BATCH, *BATCH_RANGE)
        with pixels:
            whole_field("At pixels", _PIXELS, *PIXEL_RANGE)
        choice("In", _PRECISION, tuple(_PRECISION_LABELS), _PRECISION_LABELS)
    else:
        st.caption("By its data sheet alone: expect a wide range.")


def _show_rows(rows: dict[str, OwnGpu]) -> None:
    st.markdown("\n".join(f"- {plain(_title(row))}" for row in rows.values()))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = rows.get(st.selectbox("Your GPUs", tuple(rows), key=_ROW))
        if chosen is not None:
            st.button("Edit", key="own-gpu:edit", icon=":material/edit:", on_click=_edit, args=(chosen,))
            st.button("Remove", key="own-gpu:remove", icon=":material/delete:", on_click=_remove, args=(chosen.name,))


def _title(row: OwnGpu) -> str:
    known = "data sheet alone"
    if isinstance(row.point, ThroughputPoint):
        known = f"{row.point.images_per_s:,.6g} images a second of {row.point.network}"
    elif row.point is not None:
        known = row.source
    return f"{row.name}, as {row.instance} ({known}): {listed_price(row.offer.usd_per_hour)} an hour"


def _put() -> None:
    """Add or change it, if nothing is wrong; else nothing that was typed is lost."""
    state = st.session_state
    state[_REFUSED] = None
    fields = [key for key, _ in _SHEET.values()] + [_USD, _STEP_MS, _IMAGES, _BATCH, _PIXELS]
    if any(is_wrong(key) for key in fields):
        return
    try:
        own = own_gpu_of(_cells(), load_resources().gpus)
        check_name_is_free(own)
        put_own_gpu(_with_step(own) if state[_KNOWN] == _STEP else own, state[_EDITED])
    except ProfetError as error:
        state[_REFUSED] = str(error)
        return
    _empty()


def _with_step(own: OwnGpu) -> OwnGpu:
    """With the speed that the step of the shown profile tells."""
    measured_ms, before = st.session_state[_STEP_MS], _edited_point()
    if measured_ms is None:
        if isinstance(before, SpeedPoint):
            return replace(own, point=before)
        raise InputError("Give the step's latency, or choose what else is known.")
    resources = without_own_gpus()
    outcome = predict_slot(resources, PROFILE_SLOT)
    prediction = outcome.prediction
    point = speed_of_step(
        resources.models,
        resources.catalog,
        outcome.held.profile,
        prediction.anchor,
        own,
        measured_ms,
        latency_ms=prediction.anchor_latency_ms,
        tf32=st.session_state["tf32"],
    )
    return replace(own, point=point, source=f"a step of {format_ms(measured_ms)} that you measured")


def _cells() -> dict[str, str]:
    """The form as a file has it."""
    state = st.session_state
    edited = next((row for row in own_gpus() if row.name == state[_EDITED]), None)
    sheet = {column: state[key] for column, (key, _) in _SHEET.items()}
    cells = {
        "gpu": state[_NAME],
        "like": state[_LIKE],
        **{column: HAS_NONE if value is None else as_typed(value) for column, value in sheet.items()},
        "usd_per_hour": "" if state[_USD] is None else as_typed(state[_USD]),
        "source": "" if edited is None else edited.source,
    }
    if state[_KNOWN] != _THROUGHPUT:
        return cells
    if state[_IMAGES] is None:
        raise InputError("Give the images a second, or choose what else is known.")
    return cells | {
        "images_per_s": as_typed(state[_IMAGES]),
        "network": state[_NETWORK],
        "pixels": str(state[_PIXELS]),
        "batch_size": str(state[_BATCH]),
        "precision": state[_PRECISION],
    }


def _edited_point() -> SpeedPoint | ThroughputPoint | None:
    return next((row.point for row in own_gpus() if row.name == st.session_state[_EDITED]), None)


def _edit(row: OwnGpu) -> None:
    """Take a GPU into the form."""
    state = st.session_state
    _empty()
    state[_NAME], state[_LIKE], state[_USD], state[_EDITED] = row.name, row.like, row.usd_per_hour, row.name
    for column, (key, _) in _SHEET.items():
        state[key] = getattr(row.gpu, column)
    if isinstance(row.point, ThroughputPoint):
        point = row.point
        state[_KNOWN], state[_IMAGES], state[_NETWORK] = _THROUGHPUT, point.images_per_s, point.network
        state[_PIXELS], state[_BATCH], state[_PRECISION] = point.pixels, point.batch_size, point.precision
    else:
        state[_KNOWN] = _NOTHING if row.point is None else _STEP


def _remove(name: str) -> None:
    remove_own_gpu(name)
    if st.session_state[_EDITED] == name:
        _empty()


def _take_sheet() -> None:
    """Fill in the data sheet of the GPU that it is like."""
    like = load_resources().gpus[st.session_state[_LIKE]]
    for column, (key, _) in _SHEET.items():
        st.session_state[key] = getattr(like, column)
    st.session_state[_PRECISION] = _precision_of(like.tf32_tensor_dense_tflops)


def _precision_of(tf32_tflops: float | None) -> str:
    return PRECISIONS[0] if tf32_tflops is None else PRECISIONS[1]


def _empty() -> None:
    for key, value in _defaults().items():
        st.session_state[key] = value


def _defaults() -> dict[str, object]:
    like = load_resources().gpus[_FIRST_LIKE]
    return {
        _NAME: "",
        _LIKE: like.name,
        **{key: getattr(like, column) for column, (key, _) in _SHEET.items()},
        _KNOWN: _STEP,
        _STEP_MS: None,
        _IMAGES: None,
        _NETWORK: "ResNet50",
        _PIXELS: 224,
        _BATCH: 64,
        _PRECISION: _precision_of(like.tf32_tensor_dense_tflops),
        _USD: None,
        _EDITED: None,
        _REFUSED: None,
    }
