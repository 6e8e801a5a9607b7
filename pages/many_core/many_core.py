"""Many-core CPUs: training time over threads on an Intel Xeon Phi, by both published models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from profet_core.layers.network import Network as NetworkFile
from profet_core.layers.networks import counts_of, native_pixels
from profet_core.training.many_core import (
    MAX_THREADS,
    MIN_THREADS,
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    PUBLISHED_THREADS,
    PUBLISHED_TRAINING,
    XEON_PHI_7120P,
    Network,
    ThreadsRow,
    Training,
    manycore,
    nearest_published,
    scaled_network,
)
from profet_profiles.units import format_significant, format_time
from ui.charts import BLUE, GRAY, ORANGE, show_chart
from ui.curves import Curve, Look, Shown, count_axis, curves
from ui.fields import choice, network_name_input, number_field
from ui.frame import run_page
from ui.resources import Resources
from ui.session import ManyCore, session
from ui.tables import Column, result_table
from ui.uploads import network_file
from ui.words import plain, show_error, show_text

_FILE_TIP = (
    "A Keras model (.keras or JSON), ONNX, or a layer table (CSV). Only its layers are read, and it is not kept."
)


def _network_input() -> Network:
    """Ask for the network; InputError: it can't be built for such images, or its FLOPs are out of bounds."""
    state = session.manycore
    choice("Network", ManyCore.manycore_from)
    if state.manycore_from == "published":
        choice("Published network", ManyCore.manycore_network)
        return PUBLISHED[state.manycore_network]
    if state.manycore_from == "named":
        network_name_input(ManyCore.manycore_name)
        number_field("Image size (pixels)", ManyCore.manycore_pixels, empty=f"{native_pixels(state.manycore_name)}")
        return scaled_network(state.manycore_name, counts_of(state.manycore_name, state.manycore_pixels).flops.all)

    def use_flops(network: NetworkFile) -> None:
        state.manycore_flops = scaled_network(network.name, network.counts.flops.all).forward_flops

    field = st.container()
    # Drawn first: the FLOPs of a file go into the field above.
    number_field("Image size (pixels)", ManyCore.manycore_file_pixels, empty="from file")
    given = network_file(_FILE_TIP, pixels=state.manycore_file_pixels, take=use_flops)
    tip = "Forward pass. A multiply-add counts as two."
    number_field("FLOPs per image", ManyCore.manycore_flops, tip=tip, at=field)
    if given.problem:
        show_error(given.problem)
    elif given.network is not None and given.network.counts.flops.all == state.manycore_flops:
        st.caption(f"FLOPs of {plain(given.name)}: {state.manycore_flops:,.0f}.")
    return scaled_network("custom", state.manycore_flops)


def _training_input(network: Network) -> Training:
    """Ask for the training; empty fields stand for that of the published network with the nearest FLOPs."""
    published, state = PUBLISHED_TRAINING[nearest_published(network.forward_flops).name], session.manycore
    left, right = st.columns(2, gap="small")
    given = {}
    for at, name in ((left, "images"), (right, "test_images"), (None, "epochs")):
        usual, key = getattr(published, name), f"manycore_{name}"
        label = name.capitalize().replace("_", " ")
        number_field(label, vars(ManyCore)[key], empty=f"{usual:,}", tip="Empty: as published.", at=at)
        given[name] = usual if (value := getattr(state, key)) is None else value
    return Training(**given)


_S_PER_MIN = 60
_SHOWN = {
    "time": Shown("Time", format_time, in_time=True),
    "speedup": Shown("Speed-up over one thread", format_significant),
}
#: Where the curves are computed: evenly in the logarithm, and where they are published.
_GRID = {*np.geomspace(MIN_THREADS, MAX_THREADS, 200).round().astype(int).tolist(), *PUBLISHED_THREADS}
#: A little wider than the numbers of threads: marks at both ends would be cut.
_AXIS = count_axis("Threads", MIN_THREADS / 1.15, MAX_THREADS * 1.15, (1, 4, 15, 60, 240, 960, 3_840))


def main(_: Resources) -> None:
    """Draw inputs, chart and table."""
    with st.sidebar:
        network = _network_input()
        training = _training_input(network)
        number_field("Threads", ManyCore.manycore_threads, empty="none", tip="Adds a row to the table.")
    threads, machine = session.manycore.manycore_threads, XEON_PHI_7120P
    choice("Value", ManyCore.manycore_shows)
    st.markdown(
        f"Network **{plain(network.name)}**: {plain(format_significant(network.forward_flops / 1e6))} million FLOPs "
        f"per image, {training.images:,} images, {training.test_images:,} test images, {training.epochs:,} epochs, on "
        f"{machine.name} with {machine.cores} cores."
    )
    as_published = PUBLISHED.get(network.name) is network and training == PUBLISHED_TRAINING[network.name]
    published_min = PUBLISHED_PREDICTIONS_MIN[network.name] if as_published else {}
    drawn = manycore(network, training, _GRID)
    shown, beyond = _SHOWN[session.manycore.manycore_shows], machine.cores * len(machine.cpi)
    show_chart(curves(_curves(drawn.rows, published_min), shown, _AXIS, at=beyond), "threads")
    for note in drawn.notes:
        st.caption(plain(note))
    result_table(
        manycore(network, training, [*PUBLISHED_THREADS, *([] if threads is None else [threads])]).rows,
        _columns(published_min),
        choices=session.manycore_table,
        stem="profet-many-core",
        title="Time and speed-up over threads, by both models",
    )
    st.header("Does this apply to my CPU?", anchor=False)
    show_text(Path(__file__).with_name("many_core.md"))


def _curves(rows: Sequence[ThreadsRow], published_min: Mapping[int, float]) -> list[Curve]:
    """Both models, and published times as marks or the ideal speed-up."""
    is_time, threads = session.manycore.manycore_shows == "time", [row.threads for row in rows]
    a = [row.a.total_s if is_time else row.speedup_a for row in rows]
    b = [row.b.total_s if is_time else row.speedup_b for row in rows]
    lines = [
        Curve(label="Counted operations", look=Look(BLUE, "solid"), sizes=threads, values=a),
        Curve(label="Measured times", look=Look(ORANGE, "dash"), sizes=threads, values=b),
    ]
    if not is_time:
        lines.append(Curve(label="Ideal", look=Look(GRAY, "dot"), sizes=threads, values=threads))
    elif published_min:
        known_s = [minutes * _S_PER_MIN for minutes in published_min.values()]
        lines.append(
            Curve(label="Published", look=Look(GRAY, "solid"), sizes=[*published_min], values=known_s, marks=True)
        )
    return lines


def _columns(published_min: Mapping[int, float]) -> list[Column[ThreadsRow]]:
    """Both models' times and speed-ups, beside the published times."""
    columns: list[Column[ThreadsRow]] = [
        Column(
            "threads",
            "Threads",
            lambda row: row.threads,
            "{:,}".format,
            data=lambda row: {name: getattr(row, name) for name in ("threads", "cpi", "contention_s", "extrapolated")},
        ),
        Column("a_s", "Counted", lambda row: row.a.total_s, format_time, tip="From counted operations."),
        Column("a_speedup", "Counted speed-up", lambda row: row.speedup_a, format_significant, narrow_under="a_s"),
        Column("b_s", "Measured", lambda row: row.b.total_s, format_time, tip="From measured times."),
        Column("b_speedup", "Measured speed-up", lambda row: row.speedup_b, format_significant, narrow_under="b_s"),
    ]
    if published_min:
        minutes = "{:,.1f} min".format
        columns += [
            Column("published_min", "Published", lambda row: published_min.get(row.threads), minutes),
            Column("a_min", "Counted (min)", lambda row: row.a.total_s / _S_PER_MIN, minutes),
        ]
    return columns


run_page("Training time on many-core CPUs", main, lambda: (session.manycore, session.manycore_table))
