"""Many-core CPUs: training time over threads on an Intel Xeon Phi, by both published models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from profet_core.layers import counts_of
from profet_core.layers.network import Network as NetworkFile
from profet_core.manycore.answer import ThreadsRow, manycore
from profet_core.manycore.models import (
    FEWEST_THREADS,
    MOST_THREADS,
    PUBLISHED_THREADS,
    XEON_PHI_7120P,
    Network,
    Training,
)
from profet_core.manycore.published import (
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    PUBLISHED_TRAINING,
    nearest_published,
    scaled_network,
)
from profet_core.units import format_significant, format_time
from ui.charts import BLUE, GRAY, ORANGE, Figure, show_chart
from ui.curves import Curve, Look, Shown, count_axis, curves
from ui.exports import export_row
from ui.inputs.fields import choice, number_field, select
from ui.inputs.uploads import network_file
from ui.state.session import ManyCore, session
from ui.tables import MISSING, show_table
from ui.words import plain, show_error, show_text

_FILE_TIP = (
    "A Keras model (.keras or JSON), ONNX, or a layer table (CSV). Only its layers are read, and it is not kept."
)


def _network_input() -> Network:
    """Ask for the network; InputError: it can't be built for such images, or its FLOPs are out of bounds."""
    asked = session.manycore
    choice("Network", ManyCore.manycore_from)
    if asked.manycore_from == "published":
        choice("Published network", ManyCore.manycore_network)
        return PUBLISHED[asked.manycore_network]
    if asked.manycore_from == "named":
        select("Network name", ManyCore.manycore_name)
        number_field("Image size (pixels)", ManyCore.manycore_pixels)
        return scaled_network(asked.manycore_name, counts_of(asked.manycore_name, asked.manycore_pixels).flops)
    field = st.container()
    # Drawn first: the FLOPs of a file go into the field above.
    number_field("Image size (pixels)", ManyCore.manycore_file_pixels, empty="from file")
    given = network_file(_FILE_TIP, pixels=asked.manycore_file_pixels, take=_use_flops)
    number_field(
        "FLOPs per image", ManyCore.manycore_flops, tip="Forward pass. A multiply-add counts as two.", at=field
    )
    if given.problem:
        show_error(given.problem)
    elif given.network is not None and given.network.counts.flops == asked.manycore_flops:
        st.caption(f"FLOPs of {plain(given.name)}: {asked.manycore_flops:,.0f}.")
    return scaled_network("custom", asked.manycore_flops)


def _use_flops(network: NetworkFile) -> None:
    """Take a file's FLOPs per image; InputError if they are out of bounds."""
    session.manycore.manycore_flops = scaled_network(network.name, network.counts.flops).forward_flops


def _training_input(network: Network) -> Training:
    """Ask for the training; empty fields stand for that of the published network with the nearest FLOPs."""
    published, asked = PUBLISHED_TRAINING[nearest_published(network.forward_flops).name], session.manycore
    left, right = st.columns(2, gap="small")
    given = {}
    for at, name in ((left, "images"), (right, "test_images"), (None, "epochs")):
        usual, field = getattr(published, name), vars(ManyCore)[f"manycore_{name}"]
        label = name.capitalize().replace("_", " ")
        number_field(label, field, empty=f"{usual:,}", tip="Empty: as published.", at=at)
        value = getattr(asked, field.key)
        given[name] = usual if value is None else value
    return Training(**given)


_S_PER_MIN = 60
_TIME = Shown("Time", format_time, in_time=True)
_SPEED_UP = Shown("Speed-up over one thread", format_significant)
_TICKS = (1, 4, 15, 60, 240, 960, 3_840)
#: Beside the first and the last number of threads, whose marks would be cut.
_MARGIN = 1.15
#: The last thread before a first core takes one more.
_CORE_STEPS = [cores * XEON_PHI_7120P.cores for cores in range(1, len(XEON_PHI_7120P.cpi) + 1)]
_EVENLY = np.geomspace(FEWEST_THREADS, MOST_THREADS, 60).round().astype(int).tolist()
#: Where the curves are computed: evenly in the logarithm, where they are published, and on both sides of each step.
_GRID = sorted({*_EVENLY, *PUBLISHED_THREADS, *_CORE_STEPS, *(threads + 1 for threads in _CORE_STEPS)})


def show_many_core() -> None:
    """Draw inputs, chart and table."""
    with st.sidebar:
        network = _network_input()
        training = _training_input(network)
        number_field("Threads", ManyCore.manycore_threads, empty="none", tip="Adds a row to the table.")
    threads = session.manycore.manycore_threads
    choice("Value", ManyCore.manycore_shows)
    machine = XEON_PHI_7120P
    st.markdown(
        f"Network **{plain(network.name)}**: {plain(format_significant(network.forward_flops / 1e6))} million FLOPs "
        f"per image, {training.images:,} images, {training.test_images:,} test images, {training.epochs:,} epochs, on "
        f"{machine.name} with {machine.cores} cores."
    )
    as_published = PUBLISHED.get(network.name) is network and training == PUBLISHED_TRAINING[network.name]
    published_min = PUBLISHED_PREDICTIONS_MIN[network.name] if as_published else {}
    curves = manycore(network, training, _GRID)
    show_chart(_figure(curves.rows, published_min), "threads")
    for note in curves.notes:
        st.caption(plain(note))
    rows = manycore(network, training, [*PUBLISHED_THREADS, *([] if threads is None else [threads])]).rows
    show_table([_cells(row, published_min) for row in rows], "Time and speed-up over threads, by both models")
    export_row("profet-many-core", lambda: [_data(row) for row in rows])
    st.header("Does this apply to my CPU?", anchor=False)
    show_text(Path(__file__).with_name("many_core.md"))


def _figure(rows: Sequence[ThreadsRow], published_min: Mapping[int, float]) -> Figure:
    """Both models over threads, both axes logarithmic; published times as marks."""
    is_time = session.manycore.manycore_shows == "time"
    shown = _TIME if is_time else _SPEED_UP
    a = [row.a.total_s if is_time else row.speedup_a for row in rows]
    b = [row.b.total_s if is_time else row.speedup_b for row in rows]
    threads = [row.threads for row in rows]
    lines = [
        Curve(label="Counted operations", look=Look(BLUE, "solid"), sizes=threads, values=a),
        Curve(label="Measured times", look=Look(ORANGE, "dash"), sizes=threads, values=b),
    ]
    if not is_time:
        ideal = [FEWEST_THREADS, MOST_THREADS]
        lines.append(Curve(label="Ideal", look=Look(GRAY, "dot"), sizes=ideal, values=ideal))
    elif published_min:
        seconds = [minutes * _S_PER_MIN for minutes in published_min.values()]
        look = Look(GRAY, "solid")
        lines.append(Curve(label="Published", look=look, sizes=[*published_min], values=seconds, marks=True))
    x = count_axis("Threads", FEWEST_THREADS / _MARGIN, MOST_THREADS * _MARGIN, _TICKS)
    return curves(lines, shown, x, at=_CORE_STEPS[-1])


def _cells(row: ThreadsRow, published_min: Mapping[int, float]) -> dict[str, str]:
    cells = {
        "Threads": f"{row.threads:,}",
        "Counted": format_time(row.a.total_s),
        "Counted speed-up": format_significant(row.speedup_a),
        "Measured": format_time(row.b.total_s),
        "Measured speed-up": format_significant(row.speedup_b),
    }
    if not published_min:
        return cells
    minutes = published_min.get(row.threads)
    published = MISSING if minutes is None else f"{minutes:.1f} min"
    return {**cells, "Published": published, "Counted (min)": f"{row.a.total_s / _S_PER_MIN:,.1f}"}


def _data(row: ThreadsRow) -> dict[str, object]:
    return {
        "threads": row.threads,
        "cpi": row.cpi,
        "contention_s": row.contention_s,
        "extrapolated": row.extrapolated,
        "a_s": row.a.total_s,
        "a_speedup": row.speedup_a,
        "b_s": row.b.total_s,
        "b_speedup": row.speedup_b,
    }
