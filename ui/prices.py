"""The dialog of prices: custom prices, instances and GPUs of the visitor's session, each a table to edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from msgspec.structs import replace

from profet_core import InputError, ProfetError
from profet_core.answers.by_layers import NetworkPrediction
from profet_core.answers.predict import speed_of_step
from profet_core.catalog import MARKETS, Instance
from profet_core.catalog.custom_gpus import (
    HAS_NONE,
    PRECISIONS,
    SHEET_COLUMNS,
    USD_PER_KWH,
    CustomGpu,
    checked_custom_gpus,
    custom_gpu_cells,
    custom_gpu_from,
)
from profet_core.catalog.custom_instances import check_custom_rows, custom_cells, custom_row, default_cells
from profet_core.catalog.gpus import FP32
from profet_core.catalog.instance import CUSTOM_HARDWARE, instance_words
from profet_core.transfer.custom_gpu import BATCH_RANGE, PIXEL_RANGE, check_custom_gpu, load_reference_steps
from profet_profiles.units import as_typed, format_ms, format_usd, typed_positive
from ui.custom import custom_prices, forget_other_anchors, visitors_resources, without_custom_gpus
from ui.predicted import current_network
from ui.resources import Resources, load_resources
from ui.session import session
from ui.words import about_link, one_line_errors, show_error

_TEXT, _NUMBER, _SELECT = st.column_config.TextColumn, st.column_config.NumberColumn, st.column_config.SelectboxColumn
Row = TypeVar("Row")
Cells = Mapping[str, str]
#: Of one machine.
_MAX_GPUS = 64


@st.dialog("Prices", width="large", on_dismiss="rerun")
def prices_dialog() -> None:
    """Show the three tables; closing it draws the page with what was changed."""
    with one_line_errors():
        # With what was added since the dialog opened.
        resources = visitors_resources()
        st.caption("Click the empty row to add one. Select rows to delete them.")
        for tab, table in zip(
            st.tabs(["Prices", "Custom instances", "Custom GPU"]), (_prices, _instances, _gpus), strict=True
        ):
            with tab:
                table(resources)


def _prices(resources: Resources) -> None:
    """Show the prices; a custom GPU has its own in its own table."""
    names = tuple(name for name in resources.catalog if name not in _custom_gpu_instances())

    def label(option: object) -> str:
        entry = resources.catalog[str(option)]
        return f"{instance_words(entry)}, list {format_usd(entry.usd_per_hour)}/h"

    def put(rows: Sequence[tuple[str, float]]) -> None:
        given = [name for name, _ in rows]
        if twice := [name for name in given if given.count(name) > 1]:
            raise InputError(f"{twice[0]} has two prices: keep one.")
        session.offers.price = dict(rows)

    st.caption("A price here replaces the list price in every market and is part of the page's link.")
    _custom_table(
        "custom-prices",
        {
            "instance": _SELECT("Instance", options=names, required=True, format_func=label, width="large"),
            "usd": _NUMBER("Your price ($/h)", required=True, min_value=0),
        },
        list(custom_prices(resources).items()),
        lambda row: {"instance": row[0], "usd": as_typed(row[1])},
        lambda cells: (cells["instance"], typed_positive(cells["usd"])),
        put,
    )


def say_whose() -> None:
    """On a server with a custom list of its operator, show how many rows are from it."""
    if count := sum(offer.custom for offer in load_resources().catalog.all_offers):
        rows = "1 row comes" if count == 1 else f"{count} rows come"
        st.caption(f"{rows} from this server's own list, which everyone sees.")


def _instances(resources: Resources) -> None:
    say_whose()
    shared = load_resources().catalog
    defaults = default_cells()
    # A custom GPU may have been removed.
    gpus = tuple(dict.fromkeys((*resources.gpus, *(row.gpu for row in session.custom.instances))))
    columns = {
        "instance": _TEXT("Name", required=True, pinned=True, help="A new name, or a listed instance to change."),
        "gpu": _SELECT("GPU", options=gpus, help="Empty: as in the list of instances."),
        "gpu_count": _NUMBER("GPUs", min_value=1, max_value=_MAX_GPUS, step=1, help="Empty: 1, or as listed."),
        "usd_per_hour": _NUMBER("Price ($/h)", required=True, min_value=0, help="For the machine with all its GPUs."),
        "market": _SELECT(
            "Market",
            options=MARKETS,
            default=defaults["market"],
            format_func=lambda name: "my hardware" if name == CUSTOM_HARDWARE else str(name),
        ),
        "region": _TEXT("Region", default=defaults["region"]),
        "as_of": _TEXT("Price date", default=defaults["as_of"], help="Year, year-month or year-month-day."),
        "source": _TEXT("Source", default=defaults["source"]),
    }

    def put(rows: list[Instance]) -> None:
        check_custom_rows(rows, shared)
        session.custom.instances = tuple(rows)

    _custom_table(
        "custom-instances",
        columns,
        session.custom.instances,
        lambda row: custom_cells(row, shared, resources.gpus),
        lambda cells: custom_row(cells, shared, resources.gpus, _custom_gpu_instances()),
        put,
    )


def _custom_gpu_instances() -> frozenset[str]:
    return frozenset(row.instance for row in session.custom.gpus)


_STEP, _TF32 = "step_ms", "tf32_tensor_dense_tflops"


def _gpus(_: Resources) -> None:
    as_similar = "Empty: same as the similar GPU."
    step_tip = "Latency of the shown profile's step, at the size it was recorded at, measured without a profiler."
    electricity = f"Empty: its electricity, the power limit at ${USD_PER_KWH:.2f}/kWh."

    def positive(label: str, tip: str = as_similar) -> Any:
        return _NUMBER(label, min_value=0, help=tip)

    def whole(label: str, bounds: tuple[int, int]) -> Any:
        return _NUMBER(label, min_value=bounds[0], max_value=bounds[1], step=1)

    columns = {
        "gpu": _TEXT("Name", required=True, pinned=True),
        "like": _SELECT("Similar to", options=tuple(load_resources().gpus.shipped), required=True),
        _STEP: positive("Step (ms)", step_tip),
        "times_reference": positive("Relative speed", "From a measured step. Empty: not known."),
        "usd_per_hour": positive("Price ($/h)", electricity),
        "memory_gib": positive("Memory (GiB)"),
        "bandwidth_gb_per_s": positive("Bandwidth (GB/s)"),
        "fp32_tflops": positive("FP32 (TFLOP/s)"),
        _TF32: positive("TF32 (TFLOP/s)", f"Dense, on tensor cores. {as_similar} 0: none."),
        "tdp_w": positive("Power limit (W)"),
        "images_per_s": positive("Images/s", "Training throughput on one GPU."),
        "network": _SELECT("Network", options=load_reference_steps().networks, help="Of the throughput."),
        "batch_size": whole("Batch size", BATCH_RANGE),
        "pixels": whole("Image size (pixels)", PIXEL_RANGE),
        "precision": _SELECT("Precision", options=PRECISIONS),
        "source": _TEXT("Source"),
    }
    st.caption(
        "Enter a GPU and the most similar one, whose specs fill empty cells. "
        "For a better prediction, add the latency of your profile's step on it, or a training throughput."
    )
    _custom_table("custom-gpus", columns, session.custom.gpus, _gpu_cells, _made_gpu, _put_gpus)
    st.caption("For better predictions, measure it with `profet collect --quick`.")
    about_link("Custom GPU", "memory", "own_gpu")


def _gpu_cells(custom: CustomGpu) -> dict[str, str]:
    """As in a file, without the specs that equal the similar GPU's."""
    cells, like = custom_gpu_cells(custom), load_resources().gpus[custom.like]
    same = {column: "" for column in SHEET_COLUMNS if getattr(custom.gpu, column) == getattr(like, column)}
    return {column: "0" if text == HAS_NONE else text for column, text in (cells | same).items()}


def _made_gpu(cells: dict[str, str]) -> CustomGpu:
    """Make a GPU of the table's cells, checked against the catalog and the models; ProfetError names what is wrong."""
    step_ms, name = cells.pop(_STEP), cells["gpu"]
    if cells[_TF32] == "0":
        cells[_TF32] = HAS_NONE
    if cells["images_per_s"]:
        # A new throughput replaces what an earlier step said.
        cells["times_reference"] = ""
    elif not cells["times_reference"]:
        cells["precision"] = ""
    custom = custom_gpu_from(cells, load_resources().gpus)
    if step_ms and custom.point is not None and cells["images_per_s"]:
        raise InputError(f"{name}: enter a step or images/s, not both.")
    resources = without_custom_gpus()
    if custom.instance in resources.catalog:
        raise InputError(f"There is an instance {custom.instance} already: give {custom.name} another name.")
    check_custom_gpu(resources.models.transfer, custom)
    if not step_ms:
        return custom
    # With the speed that a measured step of the shown profile implies.
    prediction, measured_ms = current_network(resources).training.prediction, float(step_ms)
    if isinstance(prediction, NetworkPrediction):
        raise InputError("A step of a custom GPU needs a profile of it on Predict: enter images/s, or upload one.")
    tf32 = session.network.precision != FP32
    point = speed_of_step(resources, prediction, custom, measured_ms, tf32=tf32)
    return replace(custom, point=point, source=f"a step of {format_ms(measured_ms)} that you measured")


def _put_gpus(rows: Sequence[CustomGpu]) -> None:
    """Replace the visitor's GPUs; what was recorded on one that is gone has no anchor."""
    session.custom.gpus = checked_custom_gpus(rows)
    # A price may be left from an instance that was called so.
    prices = session.offers.price.items()
    session.offers.price = {name: usd for name, usd in prices if name not in _custom_gpu_instances()}
    forget_other_anchors(visitors_resources())


def _custom_table(
    key: str,
    columns: Mapping[str, Any],
    rows: Sequence[Row],
    cells: Callable[[Row], Cells],
    make: Callable[[dict[str, str]], Row],
    keep: Callable[[list[Row]], object],
) -> None:
    """Draw the table and one line per bad row; a change counts once every row is good.

    `columns`: column -> its configuration. `rows`: the visitor's rows. `cells`: a row's text cells. `make`: reads a row
    of cells; raises ProfetError. `keep`: replaces the visitor's rows; raises ProfetError.
    """
    # What the table opened with, and the rows that count now: anew where it was closed, or its columns or the visitor's
    # rows changed elsewhere.
    state: dict[str, Any] = st.session_state.get(f"{key}:table", {"number": -1, "now": ()})
    is_open = f"{key}:editor:{state['number']}" in st.session_state and state["columns"] == repr(columns)
    if not is_open or len(rows) != len(state["now"]) or any(row not in rows for row in state["now"]):
        state = {"number": state["number"] + 1, "columns": repr(columns), "now": rows, "problems": []}
        state["opened"] = [cells(row) for row in rows]
        st.session_state[f"{key}:table"] = state
    editor_key = f"{key}:editor:{state['number']}"

    def take_edits() -> None:
        made: list[Row] = []
        problems = state["problems"] = []
        for found in _edited_rows(state["opened"], st.session_state[editor_key]):
            try:
                made.append(make(dict.fromkeys(columns, "") | found))
            except ProfetError as error:
                problems.append(str(error))
        try:
            if not problems:
                keep(made)
                state["now"] = made
        except ProfetError as error:
            problems.append(str(error))

    data = pd.DataFrame(state["opened"], columns=[*columns], dtype=object)
    for column in columns:
        # Empty text is no number; whole numbers may become others.
        numeric = columns[column]["type_config"]["type"] == "number"
        data[column] = pd.to_numeric(data[column]).astype(float) if numeric else data[column].astype("str")
    st.data_editor(
        data,
        num_rows="dynamic",
        placeholder="",
        hide_index=True,
        column_config=dict(columns),
        key=editor_key,
        on_change=take_edits,
    )
    for problem in state["problems"]:
        show_error(problem)


def _edited_rows(opened: Sequence[Cells], edits: Mapping[str, Any]) -> list[dict[str, str]]:
    """Cells of each row, with what the editor says was changed, removed and added."""
    changed, removed = edits["edited_rows"], edits["deleted_rows"]
    # Numbers of rows are texts in the browser's JSON.
    texts = [_texts(changed.get(number, changed.get(str(number), {}))) for number in range(len(opened))]
    rows = [{**cells, **texts[number]} for number, cells in enumerate(opened) if number not in removed]
    return rows + [cells for cells in map(_texts, edits["added_rows"]) if any(cells.values())]


def _texts(cells: Mapping[str, Any]) -> dict[str, str]:
    return {
        column: "" if value is None else value.strip() if isinstance(value, str) else as_typed(value)
        for column, value in cells.items()
    }
