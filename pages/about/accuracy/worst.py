"""The networks that the models err on most, and why."""

from __future__ import annotations

import streamlit as st

from pages.about.accuracy.percents import format_percent
from profet_core.accuracy.validation import WITH_TWIN, ArchitectureAccuracy, Validation
from ui.texts import plain

#: Why the models err most where they do; what else has no relative in the data says that.
_REASONS = {
    "MobileNetV2": "the only network with depthwise convolutions",
    "LeNet5": "so small that launching operations takes longer than running them",
    "ResNetSmall": "so small that launching operations takes longer than running them",
    "InceptionResNetV2": "TensorFlow cut its profiles to the 500 costliest operations",
}
_NO_RELATIVE, _RELATIVE = "no near relative in the data", "has near relatives in the data"
_WORST = 5


def show_worst(accuracy: Validation, latency_known: bool) -> None:
    """Where it erred most."""
    st.subheader("Where it errs most", anchor="worst")
    st.markdown(
        "\n".join(
            f"- **{plain(name)}**: **{format_percent(row.left_out.error.of(latency_known))}** off "
            f"(original {format_percent(row.original.of(latency_known))}); "
            f"{_REASONS.get(name, _RELATIVE if name in WITH_TWIN else _NO_RELATIVE)}."
            for name, row in worst(accuracy, latency_known)[:_WORST]
        )
    )


def worst(accuracy: Validation, latency_known: bool) -> list[tuple[str, ArchitectureAccuracy]]:
    """Networks with their errors, the worst first."""
    return sorted(accuracy.architectures.items(), key=lambda item: -item[1].left_out.error.of(latency_known))
