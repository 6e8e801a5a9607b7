"""Sizes: what the batch and the pixel size do to time and cost, from one profile or two, on every GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.sizes.columns import size_columns
from pages.sizes.rows import SizeRow, shown_value, size_row, usual_offers
from pages.sizes.typed import typed_curves, typed_inputs
from profet_core import InputError
from profet_core.advice.request import Workload
from profet_core.catalog import Instance
from profet_core.latency import StepTime
from profet_core.scaling.axes import KNOTS, axis_range
from profet_core.training.sizes import curves_at
from ui.charts.curves import Curve, curves
from ui.charts.style import show_chart
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.inputs.network import network_input, second_input
from ui.inputs.offers import chosen_offers
from ui.inputs.recorded import latency_question
from ui.memory import fits_of
from ui.notices import show_notices
from ui.predicted.network import Network, current_network
from ui.result_table import result_table
from ui.state.page_keys import sizes_keys
from ui.state.resources import Resources
from ui.state.settings import AXES, ENDS, SHOWS
from ui.state.slots import PROFILE_SLOT

_AXIS_LABELS = {"batch": "Batch size", "pixels": "Pixel size"}
_SHOWS_LABELS = {"latency": "Step", "images": "Images a second", "time": "Time", "cost": "Cost"}
_ENDS_LABELS = {"profiles": "A profile", "typed": "Measured steps"}
