"""How good the predictions are, in one screen: three figures, and when not to trust a prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import streamlit as st

from pages.about.accuracy.percents import format_percent
from pages.about.accuracy.reports import accuracy_of, real_report_of, transfer_accuracy_of, transfer_model_of
from pages.about.accuracy.unprofiled_words import Unprofiled
from pages.about.accuracy.worst import worst
from profet_core import ArtifactError
from profet_core.accuracy.validation import WITH_TWIN
from ui.errors import show_error
from ui.state.resources import Resources
from ui.texts import plain, read_text

_TEXTS = Path(__file__).parent
#: The case that a newcomer is told: with the anchor's step latency.
_KNOWN = True
_WORST = 3

#: Title, value and what it was measured on.
Card = tuple[str, str, str]


def show_summary(resources: Resources) -> None:
    """Three figures, and a short list."""
    st.markdown("Mean error of a predicted step latency, each measured on what the models had never seen:")
    for column, card in zip(st.columns(3, gap="medium", border=True), (_networks, _strangers, _gpus), strict=True):
        with column:
            _show_card(resources, card)
    st.header("When not to trust it", anchor="limits")
    st.markdown("\n".join(f"- {line}" for line in _limits(resources)))


def _show_card(resources: Resources, card: Callable[[Resources], Card]) -> None:
    try:
        title, value, measured_on = card(resources)
    except ArtifactError as error:
        show_error(str(error))
        return
    st.metric(title, value)
    st.caption(measured_on)


def _networks(resources: Resources) -> Card:
    accuracy = accuracy_of(resources)
    unlike = sum(name not in WITH_TWIN for name in accuracy.architectures)
    return (
        "A new network",
        format_percent(accuracy.unlike.of(_KNOWN)),
        f"{unlike} architectures without a relative in the data, left out in turn, on the profiled GPUs. Original "
        f"PROFET: {format_percent(accuracy.unlike_original.of(_KNOWN))}.",
    )


def _strangers(resources: Resources) -> Card:
    report = real_report_of(resources)
    mean = report.mean if report else None
    if report is None or mean is None:
        return "Strangers' files", "not measured", "No profile of a stranger could be compared."
    return (
        "Strangers' files",
        format_percent(mean.error.of(_KNOWN)),
        f"{len(report.averaged)} published profiles, {mean.n} predictions: very few.",
    )


def _gpus(resources: Resources) -> Card:
    accuracy = transfer_accuracy_of(resources)
    return (
        "A GPU nobody profiled",
        format_percent(accuracy.mean.point[_KNOWN].mape),
        f"Each of {len(accuracy.by_gpu)} GPUs left out in turn, worst direction "
        f"{format_percent(accuracy.worst(_KNOWN).point[_KNOWN].mape)}. By data sheet alone: "
        f"{format_percent(accuracy.mean.sheet_only[_KNOWN].mape)}.",
    )


def _limits(resources: Resources) -> Iterator[str]:
    yield from (line.removeprefix("- ") for line in read_text(_TEXTS / "not_covered.md").splitlines())
    try:
        named = ", ".join(
            f"{plain(name)} ({format_percent(row.left_out.error.of(_KNOWN))})"
            for name, row in worst(accuracy_of(resources), _KNOWN)[:_WORST]
        )
        yield f"**Networks like those it erred on most**: {named}."
        transfer, accuracy = transfer_model_of(resources), transfer_accuracy_of(resources)
    except ArtifactError:
        # Said where its figure would stand.
        return
    shown = Unprofiled(resources.catalog, transfer, accuracy, _KNOWN)
    if shown.unchecked:
        yield f"**{', '.join(map(plain, shown.unchecked))}**: checked against no measurement."
