"""What the server's own models were trained on."""

from __future__ import annotations

import math

import streamlit as st

from profet_core.artifacts.own_models import own_models
from profet_core.latency import NORMAL_90
from ui.state.resources import Resources
from ui.tables import show_table
from ui.texts import plain


def show_own_models(resources: Resources) -> None:
    """Draw their sources; nothing if the shipped models are loaded.

    Raises
    ------
    ArtifactError : a file of them is damaged.
    """
    own = own_models(resources.models)
    if own is None:
        return
    base = "the shipped models" if own.base_ships else f"models of {len(own.networks)} networks"
    written = f", written on {own.written}" if own.written else ""
    st.markdown(f"This server uses custom models{written}: {base} for {', '.join(map(plain, own.instances))}.")
    if own.layers:
        rows = [
            {
                "Machines": ", ".join(plain(f"{one.instance} ({one.gpu})") for one in layer.machines),
                "Precision": ", ".join(dict.fromkeys(_precision(one.tf32) for one in layer.machines)),
                "Workloads": f"{layer.workloads}",
                "Networks": f"{layer.networks}",
            }
            for layer in own.layers
        ]
        show_table(rows, "Profiled machines")
    if own.sharpened:
        rows = [
            {
                "GPU": plain(one.gpu),
                "Measured on": plain(one.instance),
                "Precision": _precision(one.tf32),
                "Measurements": f"{one.cells}",
                "Networks": f"{one.networks}",
                "Interval": f"+{100 * math.expm1(NORMAL_90 * one.log_sd):.0f}%",
            }
            for one in own.sharpened
        ]
        show_table(rows, "Measured GPUs")


def _precision(tf32: bool) -> str:
    return "TF32" if tf32 else "FP32"
