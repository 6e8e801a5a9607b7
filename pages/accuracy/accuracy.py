"""Accuracy: what error to expect, and the model card, a section at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from profet_core.latency import BasisWord
from profet_core.prediction.models import custom_models
from ui.charts import COLORS, Bar, bar_chart, show_chart, show_legend
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
        ("validation", "default", "without_twin", "mape_with_latency"),
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
        ("estimate_validation", "judged", ("held_out", "families, as answered to users of another source"), "mape"),
    ),
}
_SIMILAR = ("gpus_validation", "left_out_gpus", "mean", "mape_with_latency")
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
    """What error to expect, in words and as one chart; nothing where the models came without these reports."""
    try:
        errors = {name: _figure(folder, path) for name, (_, _, path) in _CASES.items()}
        similar, covered = _figure(folder, _SIMILAR), _figure(folder, _COVERED)
    except (OSError, ValueError, LookupError, StopIteration):
        return
    st.markdown(
        f"For a network like yours, expect times to be off by about **{errors['Profiled GPU']:.0f}%** on the four "
        f"profiled GPUs (M60, K80, V100, T4), **{similar:.0f} to {errors['Other GPU']:.0f}%** on other GPUs, and "
        f"**{errors['Name only']:.0f}%** from the network's name alone. The 90% ranges held {covered:.0f}% of the "
        "measurements on profiled GPUs."
    )
    bars = [
        Bar(
            key=name,
            name=name,
            color=COLORS[word],
            value=errors[name],
            text=f"{errors[name]:.0f}%",
        )
        for name, (word, *_) in sorted(_CASES.items(), key=lambda case: errors[case[0]])
    ]
    show_chart(bar_chart(bars, "Mean error (%)", name="Mean error by what is known"), "expected-errors")
    show_legend(bars, {color: word for word, color in COLORS.items()})
    lines = [f"- **{bar.name}**: {_CASES[bar.name][1]}" for bar in bars]
    st.caption("\n".join(["Each is of measurements that the models had not seen:", *lines]))


def _figure(folder: Path, path: Sequence[str | tuple[str, Any]]) -> float:
    """A figure of a report, by the keys that lead to it; a pair chooses the row whose key has that value."""
    report, *steps = path
    found: Any = json.loads(read_text(folder / f"{report}.json"))
    for step in steps:
        found = found[step] if isinstance(step, str) else next(row for row in found if row[step[0]] == step[1])
    return float(found)


def _custom_models(resources: Resources) -> None:
    """What the server's own models were trained on; nothing if the shipped ones are loaded."""
    custom = custom_models(resources.models)
    if custom is None:
        return
    base = "the shipped models" if custom.base_ships else f"models of {len(custom.networks)} networks"
    written = f", written on {custom.written}" if custom.written else ""
    st.markdown(f"This server uses custom models{written}: {base} for {', '.join(map(plain, custom.instances))}.")
    if custom.calibrated:
        gpus = (f"{one.gpu} ({one.cells} measurements on {one.instance})" for one in custom.calibrated)
        st.markdown(f"Calibrated: {', '.join(map(plain, gpus))}.")


run_page("Accuracy", main, lambda: ())
