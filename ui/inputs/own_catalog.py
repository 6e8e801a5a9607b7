"""Ask for custom instances and custom GPUs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import streamlit as st

from profet_core import Catalog, InputError
from profet_core.catalog import HOME_REGION, MARKETS, Instance
from profet_core.catalog.instance import FILE_COLUMNS, ON_DEMAND, OWN_HARDWARE
from profet_core.catalog.own_gpus import (
    HAS_NONE,
    PRECISIONS,
    SHEET_COLUMNS,
    USD_PER_KWH,
    OwnGpu,
    own_gpu_cells,
    own_gpu_of,
)
from profet_core.precision.names import FP32
from profet_core.prediction.own_gpu_step import speed_of_step
from profet_core.transfer.own_gpu import BATCH_RANGE, PIXEL_RANGE, load_reference_steps
from profet_core.typed_numbers import as_typed
from profet_core.units import format_ms
from ui.inputs.own_table import own_table
from ui.notices import MEASURE_IT, custom_gpu_link
from ui.predicted import current_network
from ui.state.own_catalog import (
    check_own,
    checked_own_instance,
    put_own_gpus,
    put_own_instances,
    without_own_gpus,
)
from ui.state.resources import Resources, load_resources
from ui.state.session import session

MAX_GPUS = 64
_MARKET_LABELS = {OWN_HARDWARE: "my hardware"}


def own_instances_input(resources: Resources) -> None:
    """Draw the table of custom instances; they count on every page until the session ends."""
    say_whose()
    shared = load_resources().catalog

    def made(cells: dict[str, str]) -> Instance:
        name, gpu = cells["instance"], resources.gpus.get(cells["gpu"])
        if gpu is not None and name not in shared:
            cells["gpu_memory_gib"] = str(gpu.memory_gib)
        given = {column: text for column, text in cells.items() if text}
        return checked_own_instance(shared, dict.fromkeys(FILE_COLUMNS, "") | _defaults() | given)

    own_table(
        "own-instances",
        _columns(resources),
        session.own.own_instances,
        lambda row: _cells(row, resources, shared),
        made,
        lambda rows: put_own_instances(shared, rows),
    )


def say_whose() -> None:
    """On a server with a custom list of its operator, show how many rows are from it."""
    if count := sum(offer.own for offer in load_resources().catalog.all_offers):
        rows = "1 row is" if count == 1 else f"{count} rows are"
        st.caption(f"{rows} this server's own list, which its operator shows to everyone.")


def _columns(resources: Resources) -> dict[str, Any]:
    text, number, select = st.column_config.TextColumn, st.column_config.NumberColumn, st.column_config.SelectboxColumn
    # A custom GPU may have been removed.
    gpus = tuple(dict.fromkeys((*resources.gpus, *(row.gpu for row in session.own.own_instances))))
    defaults = _defaults()
    return {
        "instance": text("Name", required=True, pinned=True, help="A new name, or an instance to price elsewhere."),
        "gpu": select("GPU", options=gpus, help="Empty: as in the list of instances."),
        "gpu_count": number("GPUs", min_value=1, max_value=MAX_GPUS, step=1, help="Empty: 1, or as listed."),
        "usd_per_hour": number("Price ($/h)", required=True, min_value=0, help="Of the machine with all its GPUs."),
        "market": select(
            "Market",
            options=MARKETS,
            default=defaults["market"],
            format_func=lambda name: _MARKET_LABELS.get(str(name), str(name)),
        ),
        "region": text("Region", default=defaults["region"]),
        "as_of": text("Price date", default=defaults["as_of"], help="Year, year-month or year-month-day."),
        "source": text("Source", default=defaults["source"]),
    }


def _defaults() -> dict[str, str]:
    return {
        "market": ON_DEMAND,
        "region": HOME_REGION,
        "os": "linux",
        "as_of": date.today().isoformat(),
        "source": "given by the user",
    }


def _cells(row: Instance, resources: Resources, shared: Catalog) -> dict[str, str]:
    """Machine columns of listed instances are left empty, so that they stay as listed."""
    cells = {
        "instance": row.name,
        "usd_per_hour": as_typed(row.usd_per_hour),
        "market": row.market,
        "region": row.region,
        "as_of": row.as_of,
        "source": row.source,
    }
    if row.name in shared:
        return cells
    memory = {} if row.gpu in resources.gpus else {"gpu_memory_gib": as_typed(row.gpu_memory_gib)}
    return cells | {"gpu": row.gpu, "gpu_count": f"{row.gpu_count}"} | memory


_STEP, _TF32 = "step_ms", "tf32_tensor_dense_tflops"


def own_gpu_input() -> None:
    """Draw the table of custom GPUs; they count on every page until the session ends."""
    st.caption(
        "Enter a GPU and the most similar one. Empty specs are those of the similar GPU. "
        "For a better prediction, enter the latency of your profile's step on it, or a training throughput."
    )
    own_table(
        "own-gpus",
        _gpu_columns(),
        session.own.own_gpus,
        _gpu_cells,
        _made,
        put_own_gpus,
    )
    st.caption(f"For better predictions, {MEASURE_IT}.")
    custom_gpu_link()


def _gpu_columns() -> dict[str, Any]:
    text, number, select = st.column_config.TextColumn, st.column_config.NumberColumn, st.column_config.SelectboxColumn
    as_similar = "Empty: as the similar GPU."
    step_tip = "Latency of the shown profile's step, at the size it was recorded at, measured without a profiler."
    electricity = f"Empty: its electricity, the power limit at ${USD_PER_KWH:.2f}/kWh."
    networks = load_reference_steps().networks

    def whole(label: str, bounds: tuple[int, int]) -> Any:
        return number(label, min_value=bounds[0], max_value=bounds[1], step=1)

    return {
        "gpu": text("Name", required=True, pinned=True),
        "like": select("Similar to", options=tuple(load_resources().gpus.shipped), required=True),
        _STEP: number("Step (ms)", min_value=0, help=step_tip),
        "times_reference": number("Relative speed", min_value=0, help="From a measured step. Empty: not known."),
        "usd_per_hour": number("Price ($/h)", min_value=0, help=electricity),
        "memory_gib": number("Memory (GiB)", min_value=0, help=as_similar),
        "bandwidth_gb_per_s": number("Bandwidth (GB/s)", min_value=0, help=as_similar),
        "fp32_tflops": number("FP32 (TFLOP/s)", min_value=0, help=as_similar),
        _TF32: number("TF32 (TFLOP/s)", min_value=0, help=f"Dense, on tensor cores. {as_similar} 0: none."),
        "tdp_w": number("Power limit (W)", min_value=0, help=as_similar),
        "images_per_s": number("Images/s", min_value=0, help="Training throughput on one GPU."),
        "network": select("Network", options=networks, help="Of the throughput."),
        "batch_size": whole("Batch size", BATCH_RANGE),
        "pixels": whole("Image size (pixels)", PIXEL_RANGE),
        "precision": select("Precision", options=PRECISIONS),
        "source": text("Source"),
    }


def _gpu_cells(own: OwnGpu) -> dict[str, str]:
    """As in a file, without what is as the similar GPU has it."""
    cells, like = own_gpu_cells(own), load_resources().gpus[own.like]
    same = {column: "" for column in SHEET_COLUMNS if getattr(own.gpu, column) == getattr(like, column)}
    return {column: "0" if text == HAS_NONE else text for column, text in (cells | same).items()}


def _made(cells: dict[str, str]) -> OwnGpu:
    """A checked GPU of the table's cells.

    Raises
    ------
    ProfetError : one line that names the GPU and what is wrong.
    """
    step_ms, name = cells.pop(_STEP), cells["gpu"]
    if cells[_TF32] == "0":
        cells[_TF32] = HAS_NONE
    if cells["images_per_s"]:
        # A new throughput replaces what an earlier step said.
        cells["times_reference"] = ""
    elif not cells["times_reference"]:
        cells["precision"] = ""
    own = own_gpu_of(cells, load_resources().gpus)
    if step_ms and own.point is not None and cells["images_per_s"]:
        raise InputError(f"{name}: enter a step or images/s, not both.")
    check_own(own)
    return _with_step(own, float(step_ms)) if step_ms else own


def _with_step(own: OwnGpu, measured_ms: float) -> OwnGpu:
    """With the speed that a measured step of the shown profile implies."""
    resources = without_own_gpus()
    training = current_network(resources).training
    point = speed_of_step(
        resources.models,
        resources.catalog,
        training.profile,
        training.prediction.anchor,
        own,
        measured_ms,
        latency_ms=training.prediction.anchor_latency_ms,
        tf32=session.network.precision != FP32,
    )
    return replace(own, point=point, source=f"a step of {format_ms(measured_ms)} that you measured")
