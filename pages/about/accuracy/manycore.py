"""The part of Accuracy on many-core processors: what was published, how far both models are apart, and real cores."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.about.accuracy.percents import percent_in_text
from profet_core.accuracy.manycore import ManycoreAccuracy, OwnCores
from profet_core.manycore.machine import XEON_PHI_7120P
from profet_core.manycore.published import LARGE, PUBLISHED_ERROR_PERCENT
from ui.tables import show_table
from ui.texts import paragraph, plain

_TEXTS = Path(__file__).parent
_S_PER_MIN = 60


def show_manycore(accuracy: ManycoreAccuracy) -> None:
    """Words first, then the three tables."""
    st.subheader("Many-core processors", anchor="manycore")
    st.markdown(_lead(accuracy))
    st.markdown("**Published predictions of model (a)**, minutes:")
    show_table(
        [
            {
                "Network": row.network,
                "Threads": f"{row.threads:,}",
                "Published": f"{row.published_min:.1f}",
                "Ours": f"{row.a_min:.1f}",
                "(b)": f"{row.b_min:.1f}",
                "(a) longer by": f"{row.apart_percent:+.1f} %",
            }
            for row in accuracy.predictions
        ],
        "Published predictions beside ours",
    )
    _show_own_cores(accuracy.own_cores)
    st.caption(f"Measured on {plain(accuracy.made)}. Its card: models/MANYCORE_CARD.md.")


def _lead(accuracy: ManycoreAccuracy) -> str:
    machine, speedup = XEON_PHI_7120P, accuracy.speedup
    preparation_s = LARGE.preparation_operations * machine.operation_factor / machine.clock_hz
    return paragraph(
        _TEXTS / "manycore_lead.md",
        same=sum(row.same_digits for row in accuracy.predictions),
        predictions=len(accuracy.predictions),
        error_a=f"{PUBLISHED_ERROR_PERCENT['a']:.0f}",
        error_b=f"{PUBLISHED_ERROR_PERCENT['b']:.0f}",
        small=_apart(accuracy, "small"),
        medium=_apart(accuracy, "medium"),
        large=_apart(accuracy, "large"),
        large_beyond=percent_in_text(accuracy.mean_apart_percent("large", extrapolated=True)),
        preparation_a=f"{preparation_s / _S_PER_MIN:.0f}",
        preparation_b=f"{LARGE.preparation_s:.1f}",
        threads=speedup.threads,
        speedup=f"{speedup.published:.1f}",
        speedup_a=f"{speedup.speedup_a:.1f}",
        speedup_b=f"{speedup.speedup_b:.1f}",
    )


def _apart(accuracy: ManycoreAccuracy, network: str) -> str:
    return percent_in_text(accuracy.mean_apart_percent(network, extrapolated=False))


def _show_own_cores(own: OwnCores) -> None:
    clock = "" if own.clock_mhz is None else f", {own.clock_mhz:,.0f} MHz"
    first = own.ways[0]
    st.markdown(
        f"**On cores of today**: the small network trained for real on {plain(own.processor + clock)}, {own.cores} "
        f"cores, {first.images:,} images an epoch; model (b) from what one thread takes:"
    )
    show_table(
        [
            {
                "Threads have": way.way,
                "With": plain(way.library),
                "Threads": f"{row.threads}",
                "Measured": f"{row.measured_s:.3f} s",
                "Model (b)": f"{row.predicted_s:.3f} s",
                "Off by": f"{row.off_percent:+.1f} %",
                "Speed-up": f"{row.measured_speedup:.2f}",
                "Predicted": f"{row.predicted_speedup:.2f}",
                "Machine quiet": "yes" if row.undisturbed else "no",
            }
            for way in own.ways
            for row in way.rows
        ],
        "Measured and predicted times on cores of today",
    )
    factors = " and ".join(
        f"{way.operation_factor:.1f} ({plain(way.library)})" for way in own.ways if way.operation_factor is not None
    )
    if factors:
        st.caption(
            f"Model (a) would need an operation factor of {factors} here, instead of the Phi's "
            f"{XEON_PHI_7120P.operation_factor:.0f}."
        )
