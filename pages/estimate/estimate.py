"""No profile: latency, memory, and cost of a network on every offer, from its layers; or time on many-core CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st
from msgspec.structs import replace

from pages.estimate.many_core import show_many_core
from profet_core.answers.estimate import answer_estimate, other_sizes
from profet_core.catalog import load_gpus
from profet_core.catalog.gpus import gpu_label
from profet_core.errors import Code, InputError
from profet_core.layers.estimate import NetworkEstimate, disagreement_words, disagreements
from profet_core.layers.measured import LONGEST_TIME
from profet_core.layers.network import Network
from profet_core.layers.networks import counts_of, native_pixels
from profet_core.layers.reading import FORMATS
from profet_core.prediction.table import Prediction
from profet_core.questions import EstimateQuestion, ask
from profet_core.units import shared_time_unit
from ui.columns import TableRow, estimate_columns
from ui.custom import held_in
from ui.fields import (
    choice,
    network_name_input,
    number_field,
    precision_input,
    select,
    toggle,
    validation_input,
    workload_input,
)
from ui.frame import run_page
from ui.offers import chosen_rows, offer_buttons, offered_plans, preset_choice
from ui.predicted import shown_network
from ui.resources import Resources
from ui.session import NetworkFile, Part, session
from ui.tables import result_table
from ui.uploads import network_file
from ui.words import error_words, plain, sentence, show_error, show_warning

_FILE_TIP = (
    f"{FORMATS[0].upper()}{FORMATS[1:]}. Only its layers are read, and the file is not kept. If it is too big with its "
    "weights, upload the output of `model.to_json()`."
)


def _measured_input(resources: Resources) -> None:
    """Ask where a step was measured, and how long it took."""
    gpus = {name: gpu_label(name) if name in load_gpus() else name for name in resources.gpus}
    select("GPU you measured on", NetworkFile.net_gpu, gpus, index=None, placeholder="optional")
    tip = (
        "46 ms, 5.2 it/s, 1,390 img/s or 14 min/epoch, in the precision below; or paste the progress line of Keras or "
        "tqdm. The estimates follow it."
    )
    st.text_input(
        "Measured time",
        key=NetworkFile.net_time.key,
        value=None,
        placeholder="46 ms",
        max_chars=LONGEST_TIME,
        help=tip,
        persist_state="session",
    )


def _network_inputs(resources: Resources) -> Network | None:
    """Ask for the network and its step; returns the network of a file, None by name or until there is a file."""
    choice("Network", NetworkFile.net_from)
    by_name = session.file.net_from == "name"
    if by_name:
        network_name_input(NetworkFile.net, label_visibility="collapsed")
    pixels, batch = st.columns(2, gap="small")
    with pixels:
        empty = "its own" if by_name else "from file"
        with suppress(InputError):
            empty = f"{native_pixels(session.file.net)}" if by_name else empty
        number_field("Image size", NetworkFile.net_pixels, empty=empty, tip="Height and width in pixels.")
    number_field("Batch size", NetworkFile.net_batch, at=batch)
    of_file = None if by_name else _of_file()
    workload_input()
    _measured_input(resources)
    with st.expander("More", icon=":material/tune:", key="network:more"):
        validation_input()
        choice("Optimizer", NetworkFile.net_optimizer, help="Its state needs memory.")
        precision_input()
        choice("Training code", NetworkFile.net_code, help="Channels-last: compiled too, in AMP or BF16.")
        toggle("Frozen backbone", NetworkFile.net_frozen, "Only the last layer is trained.")
    return of_file


def _of_file() -> Network | None:
    pixels = session.file.net_pixels
    given = network_file(_FILE_TIP, pixels=pixels)
    if given.problem:
        show_error(given.problem)
    network = given.network
    if network is None:
        return None
    st.caption(plain(f"{network.name} ({network.source_format}), {network.counts.pixels} pixels."))
    if pixels not in (None, network.counts.pixels):
        show_error(f"This file was read at {network.counts.pixels} pixels. To use {pixels}, upload it again.")
    return network


def main(resources: Resources) -> None:
    """Draw the page."""
    choice("Hardware", NetworkFile.hardware, label_visibility="collapsed")
    if session.file.hardware == "cpus":
        show_many_core()
        return
    with st.sidebar:
        file_network = _network_inputs(resources)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="toolbar"):
        preset_choice()
        offer_buttons(resources)
    file, training = session.file, session.training
    if file.net_from != "name" and file_network is None:
        st.info("Upload a network file in the sidebar: Keras, ONNX, or a layer table.", icon=":material/info:")
        return
    measured = {file.net_gpu: file.net_time} if file.net_gpu and file.net_time else {}
    if not measured and (file.net_gpu or file.net_time):
        st.caption("Choose the GPU you measured on, and type the measured time.")
    values = {
        "network": file.net,
        "batch": file.net_batch,
        "pixels": file.net_pixels,
        "measured": measured,
        "images": training.images,
        "validation_images": training.validation_images,
        "optimizer": file.net_optimizer,
        "precision": session.network.precision,
        "training_code": file.net_code,
        "frozen_backbone": file.net_frozen,
    }
    question = ask(EstimateQuestion, values)
    try:
        if file_network is None:
            counts_of(file.net, file.net_pixels)
    except InputError as error:
        show_error(sentence(error_words(error)))
        return
    try:
        answer = answer_estimate(resources, question, file_network)
    except InputError as error:
        if not measured or "measured" not in error.fields:
            raise
        show_error(error.worded({"measured": "Measured time", "images": "Images per epoch"}.__getitem__))
        answer = answer_estimate(resources, replace(question, measured={}), file_network)
    found, network = answer.estimate, answer.estimate.network
    words = (
        f"{found.name}, {network.pixels} pixels, batch {found.batch_size}: {network.layers.all:,} layers, "
        f"{network.parameters / 1e6:.3g} million parameters, {network.flops.all / 1e9:.3g} GFLOPs per image (forward)."
    )
    st.markdown(plain(words))
    for note in answer.warnings:
        if note.code is Code.USUAL:
            st.markdown(plain(note))
        elif note.code in (Code.OTHER_DEFINITIONS, Code.DETECTION_SIZE):
            st.caption(plain(note))
        else:
            show_warning(note)
    profiled, notes = _profiled(resources, found)
    if profiled is not None:
        st.markdown(plain(disagreement_words(disagreements(found.rows, profiled))))
        st.caption(plain(" ".join(notes)))
    _table(_rows(resources, found, profiled), f"profet-without-profile-{question.batch}", profiled is not None)
    st.caption("A profile of one training step gives better predictions: see *Predict*.")


def _profiled(resources: Resources, found: NetworkEstimate) -> tuple[Prediction | None, Sequence[str]]:
    """The prediction from the visitor's profile, or from a sample of this very step, and its caveats."""
    held = held_in(resources, session.profile)
    pixels = found.network.pixels
    sample, step = held.sample, (found.name.removeprefix("PROFET "), pixels, found.batch_size)
    is_other = sample is not None and (sample.model, sample.pixels, sample.batch_size) != step
    if is_other or (shown := shown_network(resources)) is None:
        return None, ()
    notes = other_sizes(held.profile, found.batch_size, pixels)
    return shown.training.prediction, () if sample else ("Compare only if your profile is of this network.", *notes)


def _rows(resources: Resources, found: NetworkEstimate, profiled: Prediction | None) -> list[TableRow]:
    """A row for each offer that the filter leaves, the cheapest first."""
    compared = {row.instance: row.profiled_ms for row in disagreements(found.rows, profiled)} if profiled else {}
    rows = [
        TableRow(
            plan,
            found.fits.get(plan.instance),
            values={"regime": found.regimes[plan.instance], "profiled_ms": compared.get(plan.instance)},
        )
        for plan in offered_plans(resources, found.rows, found.batch_size)
    ]
    return sorted(rows, key=lambda row: (row.plan.total_usd, row.plan.total_s))


def _table(rows: Sequence[TableRow], stem: str, compared: bool) -> None:
    """Draw the result table; `stem` of the names of exports, `compared` with a profile."""
    shown = chosen_rows(rows, keep=session.estimate_table.open, every_node=bool(session.offers.gpu_count))
    unit = shared_time_unit(row.plan.epoch_s for row in shown)
    opened = result_table(
        shown,
        estimate_columns(unit, compared=compared),
        choices=session.estimate_table,
        stem=stem,
        title="Estimates without a profile",
        charts=False,
    )
    if opened is not None:
        fit = "" if opened.fit is None else f" Memory: {opened.fit.description}."
        plan = opened.plan
        st.markdown(plain(f"{plan.name}: {plan.basis.words}. {sentence(plan.row.note)}.{fit}"))


def _linked() -> tuple[Part | str, ...]:
    """What the chosen hardware depends on; a network's file can't be in a link."""
    if session.file.hardware == "cpus":
        return "hardware", session.manycore, session.manycore_table
    return session.file, "precision", session.training, session.offers, session.estimate_table


run_page("Time and cost without a profile", main, _linked)
