"""The part of Accuracy on networks without a profile: what each method errs by where just one thing was left out."""

from __future__ import annotations

import streamlit as st

from pages.about.accuracy.percents import format_percent, percent_in_text
from profet_core.accuracy.estimate_report import EstimateAccuracy, RegimeAccuracy
from profet_core.estimate.model import METHODS
from profet_core.estimate.regimes import Regime
from profet_core.units import format_significant
from ui.tables import MISSING, download_buttons, or_missing, show_table

#: What was left out, in words of a table.
_LEFT_OUT = {
    Regime.INTERPOLATION: "Steps of known networks",
    Regime.LARGER_BATCH: "Batches of 128 and 256",
    Regime.DEEPER: "Deeper networks of a family",
    Regime.UNSEEN_GPU: "A GPU",
    Regime.UNSEEN_NETWORK: "A network",
    Regime.UNSEEN_BOTH: "A GPU and networks",
}
_HARDEST = (Regime.UNSEEN_NETWORK, Regime.UNSEEN_BOTH)


def show_estimated(accuracy: EstimateAccuracy) -> None:
    """Words first, then the tables."""
    regimes = accuracy.regimes
    st.subheader("Without a profile", anchor="no-profile")
    network, both = (_percent(regimes[name].mape[accuracy.default]) for name in _HARDEST)
    st.markdown(
        f"Told from a network's layers alone, by {accuracy.default}: off by **{network}** on networks that were left "
        f"out, and by **{both}** where the GPU was left out too. Measured on {accuracy.rows:,} steps of "
        f"{accuracy.networks} networks on four GPUs."
    )
    show_table([_row(name, row, accuracy.default) for name, row in regimes.items()], "Errors without a profile")
    sheet = min(accuracy.sheet_only_mape.values())
    st.caption(
        "Paper: the headline of Lattuada et al. 2022, who regress latency on architecture and hardware too. Held: "
        "share of latencies inside their 90 % interval. Of a GPU that was left out ResNet-50's step was known; by its "
        f"data sheet alone the best method errs by {_percent(sheet)}."
    )
    by_network = [
        {"Network": network}
        | {_LEFT_OUT[name]: or_missing(row.by_network.get(network), format_percent) for name, row in regimes.items()}
        for network in regimes[Regime.UNSEEN_NETWORK].by_network
    ]
    show_table(by_network, "Errors by network, of the default method")
    st.markdown(
        f"**Memory** by layers, one network left out: {_share(accuracy.memory_accuracy)} of {accuracy.memory_cells:,} "
        f"workloads on GPUs judged right; of those that did not run {_share(accuracy.memory_recall)} were told, and "
        f"{_share(accuracy.memory_false_fits)} of all were wrongly called “fits”."
    )
    published = accuracy.published
    st.markdown(
        f"**Other frameworks**: beside {published.n:,} published steps (PyTorch, MXNet, TensorFlow 1) on "
        f"{published.gpus} GPUs, which nothing was learned from, it errs by {_percent(published.mape)}, and "
        f"{_percent(published.coverage_90)} lie in its 90 % intervals."
    )
    download_buttons([_data(name, row) for name, row in regimes.items()], "profet-accuracy-no-profile")


def _row(regime: Regime, row: RegimeAccuracy, default: str) -> dict[str, str]:
    return {
        "Left out": _LEFT_OUT[regime],
        "Paper": MISSING if row.paper_pct is None else format_percent(row.paper_pct),
        **{name: format_percent(row.mape[name]) for name in METHODS},
        "Held": format_percent(row.coverage_90[default]),
        "Interval": f"+{format_significant(row.half_width_pct[default])} %",
        "Steps": f"{row.n:,}",
    }


def _data(regime: Regime, row: RegimeAccuracy) -> dict[str, object]:
    return {
        "left_out": regime.value,
        "n": row.n,
        "paper_pct": row.paper_pct,
        **{f"{name.replace('-', '_')}_mape_pct": row.mape[name] for name in METHODS},
        **{f"{name.replace('-', '_')}_held_pct": row.coverage_90[name] for name in METHODS},
    }


def _percent(value: float) -> str:
    return percent_in_text(value)


def _share(value: float) -> str:
    return percent_in_text(100 * value)
