"""The part of Accuracy on GPUs of which few steps were measured: error against number of cells, and one's own GPUs."""

from __future__ import annotations

import math
from pathlib import Path

import streamlit as st

from pages.about.accuracy.figures import errors_by_cells
from pages.about.accuracy.percents import format_percent, percent_in_text
from profet_core import Catalog
from profet_core.accuracy.cells import CellsAccuracy, CellsRow
from profet_core.artifacts.own_layers import LayerRecord
from profet_core.artifacts.own_models import OwnModels
from profet_core.catalog.gpus import gpu_model
from profet_core.latency import NORMAL_90
from profet_core.transfer.sharpened import SharpenedGpu
from ui.charts.style import show_chart
from ui.tables import download_buttons, show_table
from ui.texts import paragraph, plain

_TEXTS = Path(__file__).parent
#: Of 20 minutes, and of an hour.
_FEW, _MANY = 20, 50


def show_cells(catalog: Catalog, accuracy: CellsAccuracy) -> None:
    """Words first, then chart and table."""
    st.subheader("GPUs with few measured steps", anchor="cells")
    few, many = accuracy.of(_FEW) or accuracy.rows[0], accuracy.of(_MANY) or accuracy.rows[-1]
    st.markdown(
        paragraph(
            _TEXTS / "cells_lead.md",
            networks=accuracy.networks,
            workloads=accuracy.workloads,
            few=few.cells,
            few_error=percent_in_text(few.mean),
            many=many.cells,
            many_error=percent_in_text(many.mean),
        )
    )
    names = {name: catalog[name].gpu if name in catalog else name for name in accuracy.instances}
    show_chart(errors_by_cells(accuracy, names), "cells")
    models = {name: plain(gpu_model(gpu)) for name, gpu in names.items()}
    show_table(
        [
            {
                "Cells": f"{row.cells}",
                **{models[name]: format_percent(errors.mape) for name, errors in row.gpus.items()},
                "Mean": format_percent(row.mean),
                "Missed": _mean(row, "missed_90"),
                "Interval": _mean(row, "median_interval_pct"),
                "As anchor": _mean(row, "as_anchor_mape"),
            }
            for row in accuracy.rows
        ],
        "Errors by number of measured cells",
    )
    st.caption(
        f"Mean of {accuracy.draws} choices of cells by chance. Missed: outside the 90 % interval; Interval: how far up "
        "half of them reach; As anchor: from a profile recorded on the GPU, by the law alone."
    )
    download_buttons(
        [
            {"cells": row.cells, "gpu": names[name], "mape": errors.mape, "worst_draw_mape": errors.worst_draw}
            for row in accuracy.rows
            for name, errors in row.gpus.items()
        ],
        "profet-accuracy-cells",
    )


def show_own_models(own: OwnModels) -> None:
    """What the loaded models were made of; of their errors nothing that was not measured on them."""
    st.subheader("Models of this server's own", anchor="own-models")
    written = f", written on {own.written}" if own.written else ""
    base = "those that ship with this version" if own.base_ships else "others than those that ship with this version"
    st.markdown(
        f"Not the shipped folder{written}. Models from profiles of {', '.join(map(plain, own.instances))}, of "
        f"{len(own.networks)} networks: {base}."
    )
    if own.layers:
        st.markdown("Models that learned from profiles of machines of one's own, beside the others:")
        show_table([_layer_row(one) for one in own.layers], "Machines profiled for these models")
    if own.sharpened:
        show_table([_own_row(one) for one in own.sharpened], "GPUs measured for these models")
        st.caption(
            "Interval: how far up 90 % of new networks reach, by the cells whose network was left out. Measured in "
            "FP32 alone, a GPU with TF32 counts as measured while *TF32* is off (Answer, under *More*)."
        )


def _layer_row(layer: LayerRecord) -> dict[str, str]:
    return {
        "Machines": ", ".join(plain(f"{one.instance} ({one.gpu})") for one in layer.machines),
        "Precision": ", ".join(dict.fromkeys("TF32" if one.tf32 else "FP32" for one in layer.machines)),
        "Workloads": f"{layer.workloads}",
        "Networks": f"{layer.networks}",
    }


def _own_row(one: SharpenedGpu) -> dict[str, str]:
    return {
        "GPU": plain(one.gpu),
        "Measured on": plain(one.instance),
        "Precision": "TF32" if one.tf32 else "FP32",
        "Cells": f"{one.cells}",
        "Networks": f"{one.networks}",
        "Interval": f"+{100 * math.expm1(NORMAL_90 * one.log_sd):.0f} %",
    }


def _mean(row: CellsRow, figure: str) -> str:
    """Of the GPUs."""
    found = [getattr(errors, figure) for errors in row.gpus.values()]
    return format_percent(sum(found) / len(found))
