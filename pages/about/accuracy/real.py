"""The part of Accuracy on profiles that strangers recorded: what was predicted from them beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from pages.about.accuracy.percents import CASES, format_percent, percent_in_text
from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_checks import RealCheck
from profet_core.accuracy.real_figures import figures
from profet_core.units import format_ms
from ui.tables import download_buttons, format_range_ms, show_table
from ui.texts import paragraph, plain

_TEXTS = Path(__file__).parent


def show_real(report: RealReport, latency_known: bool) -> None:
    """Words first, then a row for each network and pair of GPUs."""
    st.subheader("Profiles of strangers", anchor="strangers")
    st.markdown(_lead(report, latency_known))
    pytorch = _pytorch(report, latency_known)
    if pytorch:
        st.markdown(pytorch)
    if not report.checks:
        return
    show_table(
        [_row(checks, latency_known) for checks in report.alike],
        "Profiles that others recorded: predicted and measured",
    )
    derived = dict.fromkeys(plain(check.target_gpu) for check in report.checks if check not in report.of_profiled)
    if derived:
        st.caption(f"Nobody profiled {', '.join(derived)} for the models: not part of the figures above.")
    download_buttons([_data(check) for check in report.checks], "profet-accuracy-real")


def _lead(report: RealReport, latency_known: bool) -> str:
    mean = report.mean
    if mean is None:
        return (
            f"**{len(report.readings)}** profiles that others recorded and published were read; none of them could be "
            "compared with what the same step takes on another profiled GPU."
        )
    return paragraph(
        _TEXTS / "real_lead.md",
        read=len(report.readings),
        compared=len(report.compared),
        error=percent_in_text(mean.error.of(latency_known)),
        inside=round(mean.n * mean.covered.of(latency_known) / 100),
        checks=mean.n,
        kinds=len({check.kind for check in report.checks}),
    )


def _pytorch(report: RealReport, latency_known: bool) -> str | None:
    """What is known of PyTorch, in one paragraph."""
    found = figures(report.translated)
    if found is None:
        return None
    kinds = "; ".join(dict.fromkeys(plain(check.kind) for check in report.translated))
    easy = ""
    if any(check.trained_on for check in report.translated):
        easy = " The models know this network, which makes it an easy one."
    here = "".join(
        f" On its own GPU the same step took {plain(format_ms(here_ms))} with TensorFlow, "
        f"{' and '.join(plain(format_ms(step_ms)) for step_ms in steps_ms)} with PyTorch."
        for here_ms, steps_ms in report.steps_here_ms(report.translated).items()
    )
    return (
        f"**PyTorch** ({kinds}): off by {percent_in_text(found.error.of(latency_known))}, judged by what TensorFlow "
        f"took: the frameworks differ, and that counts as an error here.{easy}{here}"
    )


def _row(checks: Sequence[RealCheck], latency_known: bool) -> dict[str, str]:
    first, errors = checks[0], [abs(check.error(latency_known)) for check in checks]
    inside = sum(check.covered(latency_known) for check in checks)
    return {
        "From": plain(first.anchor_gpu),
        "To": plain(first.target_gpu),
        "Recorded with": plain(first.framework),
        "Step": plain(first.kind),
        "Measured": _span([check.truth_ms for check in checks]),
        "Predicted": _span([check.predicted(latency_known).latency_ms for check in checks]),
        "Off by": format_percent(sum(errors) / len(errors)),
        "Inside interval": f"{inside} of {len(checks)}",
    }


def _span(values_ms: Sequence[float]) -> str:
    low, high = min(values_ms), max(values_ms)
    return format_ms(low) if format_ms(low) == format_ms(high) else format_range_ms(low, high)


def _data(check: RealCheck) -> dict[str, object]:
    found: dict[str, object] = {
        name: getattr(check, name)
        for name in ("profile", "anchor", "target", "target_gpu", "framework", "kind", "basis", "step_ms", "truth_ms")
    }
    for case, known in CASES.items():
        predicted = check.predicted(known)
        found |= {
            f"predicted_ms_{case}": predicted.latency_ms,
            f"low_ms_{case}": predicted.low_ms,
            f"high_ms_{case}": predicted.high_ms,
        }
    return found
