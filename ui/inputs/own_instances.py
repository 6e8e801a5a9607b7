"""Asks for custom instances: a GPU, how many, and a price in a market and region."""

from __future__ import annotations

import csv
import io
from datetime import date
from typing import Any

import streamlit as st

from profet_core import InputError
from profet_core.catalog import HOME_REGION, MARKETS, Instance
from profet_core.catalog.instance import FILE_COLUMNS, ON_DEMAND, OWN_HARDWARE
from profet_core.catalog.own import own_text
from ui.inputs.own_table import OwnFile, OwnTable, own_table
from ui.state.own_catalog import (
    add_own_instances,
    checked_own_instance,
    own_csv,
    own_gpu_instances,
    own_instances,
    put_own_instances,
)
from ui.state.resources import Resources, load_resources

MAX_GPUS = 64
_MARKET_LABELS = {OWN_HARDWARE: "my hardware"}
_FILE = OwnFile(
    label="Custom instances (CSV)",
    tip="The file of `profet instances add`, or the template filled in. Only you see it, in this session.",
    take=lambda text: add_own_instances(load_resources().catalog, text, own_gpu_instances()),
    text=own_csv,
    name="instances.csv",
)


def own_instances_input(resources: Resources) -> None:
    """Draw the table of custom instances; they count on every page until the session ends."""
    say_whose(resources)
    shared, columns = load_resources().catalog, _columns(resources)

    def made(cells: dict[str, str]) -> Instance:
        name, gpu = cells["instance"], resources.gpus.get(cells["gpu"])
        if gpu is not None and not cells["gpu_memory_gib"] and name not in shared:
            cells["gpu_memory_gib"] = str(gpu.memory_gib)
        given = {column: text for column, text in cells.items() if text}
        return checked_own_instance(shared, cells | _defaults() | given, own_gpu_instances())

    own_table(
        OwnTable(
            key="own-instances",
            columns=columns,
            numbers=("gpu_count", "usd_per_hour"),
            hidden=tuple(column for column in FILE_COLUMNS if column not in columns),
            rows=own_instances,
            cells=lambda: [_cells(row, resources) for row in own_instances()],
            make=made,
            keep=lambda rows, _before: put_own_instances(shared, list(rows.values())),
            file=_FILE,
        )
    )


def say_whose(resources: Resources) -> None:
    """On a server with a custom list of its operator, show how many rows are from it."""
    if resources.server_rows:
        rows = "1 row is" if resources.server_rows == 1 else f"{resources.server_rows} rows are"
        st.caption(f"{rows} this server's own list, which its operator shows to everyone.")


def _columns(resources: Resources) -> dict[str, Any]:
    text, number, select = st.column_config.TextColumn, st.column_config.NumberColumn, st.column_config.SelectboxColumn
    # A GPU of a file may have no specs.
    gpus = dict.fromkeys((*resources.gpus, *(_cells(row, resources)["gpu"] for row in own_instances())))
    defaults = _defaults()
    return {
        "instance": text("Name", required=True, pinned=True, help="A new name, or an instance to price elsewhere."),
        "gpu": select("GPU", options=tuple(gpu for gpu in gpus if gpu), help="Empty: as in the list of instances."),
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


def _cells(row: Instance, resources: Resources) -> dict[str, str]:
    """As in a file, with the GPU by its full name, and its memory only where it is another."""
    (cells,) = csv.DictReader(io.StringIO(own_text([row], load_resources().catalog)))
    if cells["gpu"]:
        try:
            gpu = resources.gpus.find(row.gpu, row.gpu_memory_gib)
        except InputError:
            return cells
        memory = "" if gpu.memory_gib == row.gpu_memory_gib else cells["gpu_memory_gib"]
        return cells | {"gpu": gpu.name, "gpu_memory_gib": memory}
    return cells
