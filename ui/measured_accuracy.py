"""The measured accuracy that more than one page tells, read once per server."""

from __future__ import annotations

import streamlit as st

from profet_core import ArtifactError
from profet_core.accuracy.cells import CellsAccuracy
from profet_core.accuracy.cells_report import load_cells_accuracy
from profet_core.accuracy.scaleout import ScaleoutAccuracy
from profet_core.accuracy.scaleout_report import load_scaleout_accuracy
from profet_core.files import shown
from profet_core.scaleout.model import SCALEOUT_NAME, ScaleoutModel
from ui.state.resources import Resources


def scaleout_accuracy_of(resources: Resources) -> ScaleoutAccuracy:
    """How well steps on several GPUs are predicted by the loaded models.

    Raises
    ------
    ArtifactError : the models don't say how a step goes there, or the report is missing, damaged or of another
        `scaleout.json`.
    """
    models = resources.models
    if models.scaleout is None:
        raise ArtifactError(
            f"{shown(models.folder / SCALEOUT_NAME)} is missing, so nothing is known of its accuracy: get the models "
            "again (git checkout models) or run `profet train --scaleout`."
        )
    return _loaded(models.scaleout, str(models.folder), models.scaleout.checksum)


def cells_accuracy_of(resources: Resources) -> CellsAccuracy:
    """How far off GPUs are of which few cells were measured.

    Raises
    ------
    ArtifactError : the report beside the loaded models is missing or damaged.
    """
    return _loaded_cells(str(resources.models.folder))


# Streamlit keys the cache by folder and checksum: what begins with _ is not hashed.


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded(_model: ScaleoutModel, folder: str, checksum: str) -> ScaleoutAccuracy:
    return load_scaleout_accuracy(_model, folder)


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded_cells(folder: str) -> CellsAccuracy:
    return load_cells_accuracy(folder)
