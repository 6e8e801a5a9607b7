"""Accuracy: what error to expect, and the model card, a section at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from profet_core.latency import BasisWord
from profet_core.layers.rates import calibrated_gpus
from profet_core.prediction.models import UNSEEN_BY_RATES, UNSEEN_PROFILED, custom_models, report_figure
from ui.bars import Bar, BarAxis, BarRow, show_bars
from ui.charts import COLORS, show_legend
from ui.frame import run_page
from ui.resources import Resources
from ui.words import plain, read_text

_FILE_LINK = re.compile(r"\[([^]]*)\]\((?![?#]|https?:)[^)]*\)")
_SECTION = re.compile(r"^## (.+)\n", re.M)
#: Name of a bar -> what it is based on, what was measured, and where the reports have it.
_CASES: Mapping[str, tuple[BasisWord, str, tuple[Any, ...]]] = {
    "Profiled GPU": (
        BasisWord.PREDICTED,
        "Networks unlike any other in the data, on M60, K80, V100 and T4",
        UNSEEN_PROFILED,
    ),
    "Several GPUs": (
        BasisWord.SCALED,
        "2 to 8 GPUs of one machine, the step on one GPU measured",
        ("scaleout_validation", "data_sets", "throughputs", "network", "by_strategy", "ring", "mape"),
    ),
    "20 steps measured": (
        BasisWord.SCALED,
        "A GPU on which 20 steps of other networks were measured",
        ("cells_validation", "rows", ("cells", 20), "mean"),
    ),
    "Time on another GPU": (
        BasisWord.SCALED,
        "A network by name, its time measured on a GPU of another generation",
        ("estimate_validation", "measured_pairs", ("kind", "FP32 or TF32: other generation"), "mape"),
    ),
    "Other GPU": (
        BasisWord.ESTIMATED,
        "Published speeds of a GPU of which only ResNet-50's was known",
        ("estimate_validation", "judged", ("held_out", "one published GPU, its ResNet-50 known"), "mape"),
    ),
    "Name only": (
        BasisWord.ESTIMATED,
        "Networks by name, in training code of others",
        UNSEEN_BY_RATES,
    ),
}
_SIMILAR = ("gpus_validation", "published", "mape_with_latency")
_COVERED = ("validation", "default", "mean", "coverage_90")


def main(resources: Resources) -> None:
    """Draw the page."""
    _custom_models(resources)
    _expected(resources.models.folder)
    path = resources.models.folder / "MODEL_CARD.md"
    if not path.is_file():
        st.info("The models of this server have no model card.")
        return
    # Its title is the page's, and how it was written is for whoever writes it again.
    _, _, text = read_text(path).partition("\n\n")[2].partition(". ")
    first, *sections = _SECTION.split(_FILE_LINK.sub(r"\1", text))
    st.header("Tables", anchor=False)
    st.markdown(first)
    opened = st.query_params.get("part")
    for title, section in zip(sections[::2], sections[1::2], strict=True):
        with st.expander(title, expanded=title == opened):
            st.markdown(section)


def _expected(folder: Path) -> None:
    """Say what error to expect, in words and as one chart; nothing where the models came without these reports."""
    try:
        errors = {name: report_figure(folder, *path) for name, (_, _, path) in _CASES.items()}
        similar, covered = report_figure(folder, *_SIMILAR), report_figure(folder, *_COVERED)
    except (OSError, ValueError, LookupError, StopIteration):
        return
    st.markdown(
        f"For a network like yours, expect times to be off by about **{errors['Profiled GPU']:.0f}%** on the four "
        f"profiled GPUs (M60, K80, V100, T4), **{similar:.0f} to {errors['Other GPU']:.0f}%** on other GPUs, and "
        f"**{errors['Name only']:.0f}%** from the network's name alone. 90% intervals held {covered:.0f}% of the "
        "measurements on profiled GPUs."
    )
    cases = sorted(_CASES, key=lambda name: errors[name])
    rows = [
        BarRow(key=name, name=name, bars=(Bar(color=COLORS[word], value=errors[name], text=f"{errors[name]:.0f}%"),))
        for name in cases
        for word, *_ in [_CASES[name]]
    ]
    show_bars([BarAxis("errors", "Mean error (%)")], rows, "Mean error by what is known", "expected-errors")
    show_legend({row.bars[0].color for row in rows}, {color: word for word, color in COLORS.items()})
    lines = [f"- **{name}**: {_CASES[name][1]}" for name in cases]
    st.caption("\n".join(["Measurements that the models had not seen:", *lines]))


def _custom_models(resources: Resources) -> None:
    """Say what the server's own models were trained on; nothing if the shipped ones are loaded."""
    custom = custom_models(resources.models)
    if custom is None:
        return
    base = "the shipped models" if custom.base_ships else f"models of {len(custom.networks)} networks"
    written = f", written on {custom.written}" if custom.written else ""
    st.markdown(f"This server uses custom models{written}: {base} for {', '.join(map(plain, custom.instances))}.")
    if measured := sorted(calibrated_gpus(resources.models).values(), key=lambda effects: effects.instance):
        gpus = (f"{effects.gpu} ({effects.rows} measurements on {effects.instance})" for effects in measured)
        st.markdown(f"Calibrated: {', '.join(map(plain, gpus))}.")


run_page("Accuracy", main, lambda: ())
