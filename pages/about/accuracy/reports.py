"""The accuracy reports of the loaded models, each read once per server."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

from profet_core import ArtifactError, Models
from profet_core.accuracy.estimate_report import EstimateAccuracy, load_estimate_accuracy
from profet_core.accuracy.manycore import ManycoreAccuracy
from profet_core.accuracy.manycore_report import load_manycore_accuracy
from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_report import load_real_report
from profet_core.accuracy.transfer import TransferAccuracy
from profet_core.accuracy.transfer_report import load_transfer_accuracy
from profet_core.accuracy.validation import Validation
from profet_core.accuracy.validation_report import load_validation
from profet_core.estimate.model import EstimateModel, estimate_model_of
from profet_core.files import shown
from profet_core.memory.model import MEMORY_NAME, MemoryModel
from profet_core.transfer.model import TRANSFER_NAME, TransferModel
from ui.state.resources import Resources

Model = TypeVar("Model", TransferModel, MemoryModel)


def accuracy_of(resources: Resources) -> Validation:
    """The accuracy of the loaded models.

    Raises
    ------
    ArtifactError : there is none, or it is damaged or of other models.
    """
    models = resources.models
    return _loaded(models, str(models.folder), models.manifest["checksum"])


def transfer_model_of(resources: Resources) -> TransferModel:
    """What reaches GPUs that nobody profiled.

    Raises
    ------
    ArtifactError : the models have none.
    """
    return _there(resources.models, resources.models.transfer, TRANSFER_NAME)


def transfer_accuracy_of(resources: Resources) -> TransferAccuracy:
    """How well GPUs nobody profiled are reached and memory is told, by the loaded models.

    Raises
    ------
    ArtifactError : the models do neither, or the report is missing, damaged or of another `transfer.json` or
        `memory.json`.
    """
    transfer, memory = transfer_model_of(resources), _there(resources.models, resources.models.memory, MEMORY_NAME)
    return _loaded_transfer(transfer, memory, str(resources.models.folder), transfer.checksum, memory.checksum)


def real_report_of(resources: Resources) -> RealReport | None:
    """What profiles of strangers showed with the loaded models; None if nobody looked.

    Raises
    ------
    ArtifactError : the report is damaged or of other models.
    """
    models = resources.models
    return _loaded_real(models, str(models.folder), models.manifest["checksum"])


def estimate_accuracy_of(resources: Resources) -> EstimateAccuracy:
    """How well networks without a profile are told by the loaded models.

    Raises
    ------
    ArtifactError : they can't, or the report is missing, damaged or of another `estimate.json`.
    """
    model = estimate_model_of(resources.models)
    return _loaded_estimate(model, str(resources.models.folder), model.checksum)


def manycore_accuracy_of(resources: Resources) -> ManycoreAccuracy:
    """What checks of the many-core models found.

    Raises
    ------
    ArtifactError : the report beside the loaded models is missing or damaged.
    """
    return _loaded_manycore(str(resources.models.folder))


def _there(models: Models, model: Model | None, name: str) -> Model:
    if model is None:
        raise ArtifactError(
            f"{shown(models.folder / name)} is missing, so nothing is known of its accuracy: get the models again "
            "(git checkout models) or run `profet train`."
        )
    return model


# Streamlit keys the cache by folder and checksums: what begins with _ is not hashed.


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded(_models: Models, folder: str, checksum: str) -> Validation:
    return load_validation(_models)


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded_transfer(
    _transfer: TransferModel, _memory: MemoryModel, folder: str, transfer_checksum: str, memory_checksum: str
) -> TransferAccuracy:
    return load_transfer_accuracy(_transfer, _memory, folder)


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded_estimate(_model: EstimateModel, folder: str, checksum: str) -> EstimateAccuracy:
    return load_estimate_accuracy(_model, folder)


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded_real(_models: Models, folder: str, checksum: str) -> RealReport | None:
    return load_real_report(_models)


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded_manycore(folder: str) -> ManycoreAccuracy:
    return load_manycore_accuracy(folder)
