"""The accuracy in detail: one part at a time, with the anchor's latency given or not."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.about.accuracy.cells import show_cells, show_own_models
from pages.about.accuracy.estimated import show_estimated
from pages.about.accuracy.manycore import show_manycore
from pages.about.accuracy.memory import show_memory
from pages.about.accuracy.profiled import show_profiled
from pages.about.accuracy.real import show_real
from pages.about.accuracy.reports import (
    accuracy_of,
    estimate_accuracy_of,
    manycore_accuracy_of,
    real_report_of,
    transfer_accuracy_of,
    transfer_model_of,
)
from pages.about.accuracy.several_gpus import show_several_gpus
from pages.about.accuracy.sizes import show_sizes
from pages.about.accuracy.unprofiled import show_unprofiled
from pages.about.accuracy.unprofiled_words import Unprofiled
from pages.about.accuracy.worst import show_worst
from profet_core.accuracy.transfer import TransferAccuracy
from profet_core.artifacts.own_models import own_models
from ui.inputs.fields import choice
from ui.measured_accuracy import cells_accuracy_of, scaleout_accuracy_of
from ui.state.resources import Resources
from ui.state.settings import ACCURACY_PARTS, LATENCY_GIVEN
from ui.texts import plain

_LATENCY_LABELS = {"given": "Given", "not": "Not given"}
_PROFILED, _UNPROFILED, _SIZES, _MEMORY, _STRANGERS, _SCALEOUT, _MANYCORE, _ESTIMATE, _CELLS = ACCURACY_PARTS
_PART_LABELS = {
    _PROFILED: "Profiled GPUs",
    _UNPROFILED: "GPUs nobody profiled",
    _CELLS: "Few measured steps",
    _SIZES: "Other sizes",
    _MEMORY: "Memory",
    _STRANGERS: "Strangers' profiles",
    _ESTIMATE: "No profile",
    _SCALEOUT: "Several GPUs",
    _MANYCORE: "Many-core",
}


def show_accuracy(resources: Resources) -> None:
    """The chosen part.

    Raises
    ------
    ArtifactError : its report is missing, damaged or of other models.
    """
    choice("Of", "part", ACCURACY_PARTS, _PART_LABELS)
    part = st.session_state["part"]
    if part in _BY_LATENCY:
        choice("The anchor's step latency", "latency_is", LATENCY_GIVEN, _LATENCY_LABELS)
    _PARTS[part](resources, st.session_state["latency_is"] == "given")


def _profiled(resources: Resources, latency_known: bool) -> None:
    accuracy = accuracy_of(resources)
    st.markdown(
        f"Each of {len(accuracy.architectures)} networks was left out in turn and predicted by models that had never "
        "seen it; mean errors, measured on PROFET's own recordings (TensorFlow 2.5, FP32)."
    )
    show_worst(accuracy, latency_known)
    show_profiled(resources, accuracy, latency_known)
    st.caption(
        f"Measured on {plain(accuracy.made)} for the loaded models (checksum {accuracy.models_checksum[:12]}). "
        "The original: PROFET's own method on the same networks, left out in the same way."
    )


def _unprofiled(resources: Resources, latency_known: bool) -> None:
    transfer, accuracy = transfer_model_of(resources), transfer_accuracy_of(resources)
    show_unprofiled(Unprofiled(resources.catalog, transfer, accuracy, latency_known))
    _measured_on(accuracy)


def _cells(resources: Resources, _: bool) -> None:
    if own := own_models(resources.models):
        show_own_models(own)
    accuracy = cells_accuracy_of(resources)
    show_cells(resources.catalog, accuracy)
    st.caption(f"Measured on {plain(accuracy.made)}. Its card: models/CELLS_CARD.md.")


def _sizes(resources: Resources, _: bool) -> None:
    accuracy = accuracy_of(resources)
    show_sizes(accuracy.growth)
    st.caption(f"Measured on {plain(accuracy.made)} for the loaded models, on PROFET's own recordings.")


def _memory(resources: Resources, _: bool) -> None:
    accuracy = transfer_accuracy_of(resources)
    show_memory(resources, accuracy.memory)
    _measured_on(accuracy)


def _strangers(resources: Resources, latency_known: bool) -> None:
    report = real_report_of(resources)
    if report is None:
        st.info("There is no report on profiles of strangers for these models: profet validate --real DIR --card.")
    else:
        show_real(report, latency_known)


def _estimate(resources: Resources, _: bool) -> None:
    accuracy = estimate_accuracy_of(resources)
    show_estimated(accuracy)
    st.caption(f"Measured on {plain(accuracy.made)} for the loaded estimate.json. Its card: models/ESTIMATE_CARD.md.")


def _scaleout(resources: Resources, _: bool) -> None:
    accuracy = scaleout_accuracy_of(resources)
    show_several_gpus(accuracy)
    st.caption(
        f"Measured on {plain(accuracy.made)} for the loaded scaleout.json (checksum "
        f"{accuracy.scaleout_checksum[:12]}). Its card: models/SCALEOUT_CARD.md."
    )


def _manycore(resources: Resources, _: bool) -> None:
    show_manycore(manycore_accuracy_of(resources))


def _measured_on(accuracy: TransferAccuracy) -> None:
    st.caption(
        f"Measured on {plain(accuracy.made)} for the loaded transfer.json (checksum "
        f"{accuracy.transfer_checksum[:12]}) and memory.json ({accuracy.memory_checksum[:12]}). Their card: "
        "models/TRANSFER_CARD.md."
    )


#: Parts whose figures depend on whether the anchor's latency is given.
_BY_LATENCY = {_PROFILED, _UNPROFILED, _STRANGERS}
_PARTS: dict[str, Callable[[Resources, bool], None]] = {
    _PROFILED: _profiled,
    _UNPROFILED: _unprofiled,
    _CELLS: _cells,
    _SIZES: _sizes,
    _MEMORY: _memory,
    _STRANGERS: _strangers,
    _ESTIMATE: _estimate,
    _SCALEOUT: _scaleout,
    _MANYCORE: _manycore,
}
