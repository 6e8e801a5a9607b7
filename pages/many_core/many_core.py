"""Many-core CPUs: training time over threads on an Intel Xeon Phi, by both published models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

from profet_core.training import many_core
from profet_core.training.many_core import CORES, MAX_THREADS, PUBLISHED, PUBLISHED_THREADS
from profet_profiles.units import format_time
from ui.charts import BLUE, GRAY, show_chart
from ui.curves import Curve, Look, Shown, count_axis, curves
from ui.fields import choice, number_field
from ui.frame import run_page
from ui.resources import Resources
from ui.session import session
from ui.tables import MISSING, show_table
from ui.words import plain, show_text

#: Where the curves are computed: evenly in the logarithm, and where they are published.
_GRID = {*np.geomspace(1, MAX_THREADS, 200).round().astype(int).tolist(), *PUBLISHED_THREADS}
_MODELS = {"model_a": ("From operation counts", "solid"), "model_b": ("From single-thread times", "dash")}


def main(_: Resources) -> None:
    """Draw inputs, chart and table."""
    state = session.manycore
    with st.sidebar:
        choice("manycore_from")
        if state.manycore_from == "published":
            choice("manycore_network")
            network = PUBLISHED[state.manycore_network]
        else:
            tip = "Forward pass, a multiply-add counted as two; `profet manycore` takes names and files of networks."
            number_field("manycore_flops", help=tip)
            network = many_core.scaled_network("custom", state.manycore_flops)
        usual = many_core.training_of(network)
        for name, value in usual._asdict().items():
            number_field(f"manycore_{name}", empty=f"published: {value:,}")
        training = many_core.training_of(network, *(getattr(state, f"manycore_{name}") for name in usual._fields))
    asked, notes = many_core.words_of(network, training, _GRID)
    st.markdown(plain(asked))
    drawn = many_core.manycore(network, training, _GRID)
    is_published = PUBLISHED.get(network.name) is network and training == usual
    published_min = many_core.PUBLISHED_PREDICTIONS_MIN[network.name] if is_published else {}
    lines = [
        Curve(label, Look(BLUE, dash), [row["threads"] for row in drawn], [row[model]["total_s"] for row in drawn])
        for model, (label, dash) in _MODELS.items()
    ]
    if published_min:
        published_s = [60 * minutes for minutes in published_min.values()]
        lines.append(Curve("Published", Look(GRAY), [*published_min], published_s, marks=True))
    # Marks at both ends would be cut.
    axis = count_axis("Threads", 1 / 1.15, MAX_THREADS * 1.15, (1, 4, 15, 60, 240, 960, 3_840))
    measured = CORES * len(many_core.CYCLES_PER_INSTRUCTION)
    show_chart(curves(lines, Shown("Time", format_time, in_time=True), axis, at=measured), "threads")
    st.caption(plain(" ".join(notes)))
    heads = ["Threads", *(head for label, _ in _MODELS.values() for head in (f"{label} (min)", f"{label}: speed-up"))]
    published = [f"{published_min[count]:.1f}" if count in published_min else MISSING for count in PUBLISHED_THREADS]
    rows = many_core.rows_of(many_core.manycore(network, training, PUBLISHED_THREADS))
    table = [dict(zip(heads, row, strict=True)) | {"Published (min)": published.pop(0)} for row in rows]
    show_table(table, "Training time over threads")
    st.header("Does this apply to my CPU?", anchor=False)
    show_text(Path(__file__).with_name("many_core.md"))


run_page("Training time on many-core CPUs", main, lambda: (session.manycore,))
