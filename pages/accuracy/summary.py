"""The part of Accuracy to read first: the few figures that matter most, and when not to trust a prediction."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.accuracy.percents import format_percent
from profet_core.accuracy.errors import Errors
from profet_core.accuracy.validation import WITH_TWIN, Validation
from ui.texts import plain, show_text

_TEXTS = Path(__file__).parent
#: Why the models err most where they do; what else has no relative in the data says that.
_REASONS = {
    "MobileNetV2": "the only network with depthwise convolutions",
    "LeNet5": "so small that launching operations takes longer than running them",
    "ResNetSmall": "so small that launching operations takes longer than running them",
    "InceptionResNetV2": "TensorFlow cut its profiles to the 500 costliest operations",
}
_NO_RELATIVE, _RELATIVE = "no near relative in the data", "has near relatives in the data"
_WORST = 5


def show_lead(accuracy: Validation, latency_known: bool) -> None:
    """The few figures that matter most."""

    def percent(errors: Errors) -> str:
        return format_percent(errors.of(latency_known))

    unlike = sum(name not in WITH_TWIN for name in accuracy.architectures)
    noise = sorted(accuracy.noise.values())
    cards = (
        (
            "A network unlike any in the data",
            percent(accuracy.unlike),
            f"original {percent(accuracy.unlike_original)}; {unlike} networks without a near relative",
        ),
        (
            "Any network, its family left out",
            percent(accuracy.family.error),
            "all ResNets, all VGGs, both Inceptions at a time",
        ),
        (
            "Any network, mean of all pairs",
            percent(accuracy.mean.error),
            f"original {percent(accuracy.original)}; worst pair {percent(accuracy.worst_pair)}",
        ),
        (
            "One run to the next",
            f"{noise[0]:.1f}–{noise[-1]:.1f} %",
            "the same step measured again, by instance: no model gets below",
        ),
    )
    for column, (title, value, line) in zip(st.columns(len(cards), gap="medium", border=True), cards, strict=True):
        column.metric(title, value)
        column.caption(line)


def show_worst(accuracy: Validation, latency_known: bool) -> None:
    """Where it erred most, and what no figure covers."""
    st.subheader("When not to trust it", anchor="limits")
    ordered = sorted(accuracy.architectures.items(), key=lambda item: -item[1].left_out.error.of(latency_known))
    st.markdown(f"The {_WORST} networks it erred on most. One like them may fare no better:")
    st.markdown(
        "\n".join(
            f"- **{plain(name)}**: **{format_percent(row.left_out.error.of(latency_known))}** off "
            f"(original {format_percent(row.original.of(latency_known))}); "
            f"{_REASONS.get(name, _RELATIVE if name in WITH_TWIN else _NO_RELATIVE)}."
            for name, row in ordered[:_WORST]
        )
    )
    show_text(_TEXTS / "not_covered.md")
    st.markdown("Where Predict says **unlike** or warns of a cut profile, expect errors as large as these, or larger.")
