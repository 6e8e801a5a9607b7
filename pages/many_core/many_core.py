"""Many-core CPUs: training time over threads on an Intel Xeon Phi, by both published models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from profet_core.training import many_core
from profet_core.training.many_core import MAX_THREADS, PUBLISHED, PUBLISHED_THREADS
from profet_profiles.units import format_significant, format_time
from ui.charts import BLUE, GRAY, ORANGE, show_chart
from ui.curves import Curve, Look, Shown, count_axis, curves
from ui.fields import choice, number_field
from ui.frame import run_page
from ui.resources import Resources
from ui.session import ManyCore, session
from ui.words import plain, show_text

#: Where the curves are computed: evenly in the logarithm, and where they are published.
_GRID = {*np.geomspace(1, MAX_THREADS, 200).round().astype(int).tolist(), *PUBLISHED_THREADS}
_SHOWN = {"time": Shown("Time", format_time, in_time=True), "speedup": Shown("Speed-up", format_significant)}


def _inputs() -> tuple[many_core.ManyCoreNetwork, many_core.ManyCoreTraining]:
    """Ask for the network and the training; InputError: the FLOPs are out of bounds."""
    state = session.manycore
    choice("Network", ManyCore.manycore_from)
    if state.manycore_from == "published":
        choice("Published network", ManyCore.manycore_network)
        network = PUBLISHED[state.manycore_network]
    else:
        tip = "Forward pass, a multiply-add counted as two; `profet manycore` takes names and files of networks."
        number_field("FLOPs per image", ManyCore.manycore_flops, tip=tip)
        network = many_core.scaled_network("custom", state.manycore_flops)
    usual, given = many_core.training_of(network), {}
    for name, value in usual._asdict().items():
        number_field(name.capitalize().replace("_", " "), vars(ManyCore)[f"manycore_{name}"], empty=f"{value:,}")
        given[name] = getattr(state, f"manycore_{name}")
    number_field("Threads", ManyCore.manycore_threads, empty="none", tip="Adds a row to the table.")
    return network, many_core.training_of(network, **given)


def main(_: Resources) -> None:
    """Draw inputs, chart and table."""
    with st.sidebar:
        network, training = _inputs()
    choice("Value", ManyCore.manycore_shows)
    asked, notes = many_core.words_of(network, training, _GRID)
    st.markdown(plain(asked))
    drawn, is_time = many_core.manycore(network, training, _GRID), session.manycore.manycore_shows == "time"
    is_published = PUBLISHED.get(network.name) is network and training == many_core.training_of(network)
    published_min = many_core.PUBLISHED_PREDICTIONS_MIN[network.name] if is_published else {}
    threads, value = drawn["threads"].tolist(), "total_s" if is_time else "speedup"
    lines = [
        Curve(label=label, look=look, sizes=threads, values=drawn[f"{model}_{value}"].tolist())
        for model, label, look in (
            ("a", "Counted operations", Look(BLUE, "solid")),
            ("b", "Measured times", Look(ORANGE, "dash")),
        )
    ]
    if not is_time:
        lines.append(Curve(label="Ideal", look=Look(GRAY, "dot"), sizes=threads, values=threads))
    elif published_min:
        known_s = [60 * minutes for minutes in published_min.values()]
        lines.append(
            Curve(label="Published", look=Look(GRAY, "solid"), sizes=[*published_min], values=known_s, marks=True)
        )
    # Marks at both ends would be cut.
    axis = count_axis("Threads", 1 / 1.15, MAX_THREADS * 1.15, (1, 4, 15, 60, 240, 960, 3_840))
    beyond = many_core.CORES * len(many_core.CYCLES_PER_INSTRUCTION)
    show_chart(curves(lines, _SHOWN[session.manycore.manycore_shows], axis, at=beyond), "threads")
    for note in notes:
        st.caption(plain(note))
    table = pd.DataFrame(
        many_core.manycore(network, training, {*PUBLISHED_THREADS, session.manycore.manycore_threads or 1})
    )
    shown = {"Threads": table["threads"]}
    for model, label in (("a", "Counted"), ("b", "Measured")):
        shown[f"{label} (min)"], shown[f"{label} speed-up"] = table[f"{model}_total_s"] / 60, table[f"{model}_speedup"]
    shown["Published (min)"] = table["threads"].map(published_min)
    st.dataframe(pd.DataFrame(shown).round(1), hide_index=True)
    st.header("Does this apply to my CPU?", anchor=False)
    show_text(Path(__file__).with_name("many_core.md"))


run_page("Training time on many-core CPUs", main, lambda: (session.manycore,))
