"""Many-core: how long a network trains on a many-core processor over threads, by both published models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from pages.many_core.figure import threads_figure
from pages.many_core.inputs import network_asked, threads_asked, training_asked
from profet_core.manycore.answer import ManycoreAnswer, ThreadsRow, manycore
from profet_core.manycore.contention import PUBLISHED_THREADS
from profet_core.manycore.machine import FEWEST_THREADS, MOST_THREADS, XEON_PHI_7120P
from profet_core.manycore.network import Network, Training
from profet_core.manycore.published import PUBLISHED, PUBLISHED_PREDICTIONS_MIN, PUBLISHED_TRAINING
from profet_core.units import format_duration, format_significant
from ui.charts.style import show_chart
from ui.errors import show_warning
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.state.page_keys import manycore_keys
from ui.state.resources import Resources
from ui.state.settings import MANYCORE_SHOWS
from ui.tables import MISSING, download_buttons, show_table
from ui.texts import plain, show_text

_TEXTS = Path(__file__).parent
_SHOWS_LABELS = {"time": "Time", "speedup": "Speed-up"}
_S_PER_MIN = 60
#: The last thread before a first core takes one more.
_CORE_STEPS = [cores * XEON_PHI_7120P.cores for cores in range(1, len(XEON_PHI_7120P.cpi) + 1)]
#: Where the curves are computed: evenly in the logarithm, where they are published, and on both sides of each step.
_GRID = sorted(
    {
        *(round(threads) for threads in np.geomspace(FEWEST_THREADS, MOST_THREADS, 60)),
        *PUBLISHED_THREADS,
        *_CORE_STEPS,
        *(threads + 1 for threads in _CORE_STEPS),
    }
)


def body(_: Resources) -> None:
    """Draw the page."""
    st.title("How long on a many-core processor?")
    with st.sidebar:
        network = network_asked()
        training = training_asked(network)
        wanted = threads_asked()
    choice("Show", "manycore_shows", MANYCORE_SHOWS, _SHOWS_LABELS)
    st.markdown(_lead(network, training))
    published_min = _published(network, training)
    curves = manycore(network, training, _GRID)
    show_chart(
        threads_figure(
            curves.rows,
            st.session_state["manycore_shows"],
            published_min=published_min,
            hardware_threads=_CORE_STEPS[-1],
        ),
        "threads",
    )
    for note in curves.notes:
        show_warning(note)
    _show_rows(manycore(network, training, [*PUBLISHED_THREADS, *([] if wanted is None else [wanted])]), published_min)
    st.header("What of it carries to your processor?", anchor="carries")
    show_text(_TEXTS / "carries.md")


def _lead(network: Network, training: Training) -> str:
    machine = XEON_PHI_7120P
    name = f"The {network.name} network" if network.name in PUBLISHED else plain(network.name)
    return (
        f"**{name}**, {plain(format_significant(network.forward_flops / 1e6))} million FLOPs an image "
        f"forward, {training.images:,} images and {training.test_images:,} test images, {training.epochs:,} epochs, on "
        f"an {machine.name} with {machine.cores} cores."
    )


def _published(network: Network, training: Training) -> Mapping[int, float]:
    """Threads -> minutes that were published of just this training."""
    as_published = PUBLISHED.get(network.name) is network and training == PUBLISHED_TRAINING[network.name]
    return PUBLISHED_PREDICTIONS_MIN[network.name] if as_published else {}


def _show_rows(answer: ManycoreAnswer, published_min: Mapping[int, float]) -> None:
    """The published numbers of threads, and the visitor's own."""
    show_table(_cells(answer.rows, published_min), "Time and speed-up over threads, by both models")
    download_buttons([_data(row) for row in answer.rows], "profet-many-core")


def _cells(rows: Sequence[ThreadsRow], published_min: Mapping[int, float]) -> list[dict[str, str]]:
    found = []
    for row in rows:
        cells = {
            "Threads": f"{row.threads:,}",
            "(a)": format_duration(row.a.total_s),
            "(a) speed-up": format_significant(row.speedup_a),
            "(b)": format_duration(row.b.total_s),
            "(b) speed-up": format_significant(row.speedup_b),
        }
        if published_min:
            minutes = published_min.get(row.threads)
            cells["Published (a)"] = MISSING if minutes is None else f"{minutes:.1f} min"
            cells["(a), minutes"] = f"{row.a.total_s / _S_PER_MIN:,.1f}"
        found.append(cells)
    return found


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


def keys(_: Resources) -> Iterable[str]:
    """Settings that the page's link carries."""
    return manycore_keys()


run_page(body, keys)
