"""The part of Accuracy on several GPUs: how far off scaled-out steps were, beside what perfect scaling would say."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from pages.about.accuracy.percents import format_percent, percent_in_text
from profet_core.accuracy.scaleout import LeftOutScale, ScaleErrors, ScaleoutAccuracy
from profet_core.scaleout.law import Strategy
from ui.tables import show_table
from ui.texts import plain

#: What the report calls a data set -> what a visitor reads.
_DATA_SETS = {
    "tensorflow 2017": "TensorFlow, 2017: K80 and P100",
    "throughputs": "Published throughputs: V100, A100, GeForce, TITAN",
}


def show_several_gpus(accuracy: ScaleoutAccuracy) -> None:
    """Words first, then a table for each question."""
    st.markdown(
        "Published speeds on 2 to 64 GPUs, the measured step of one given: each network was left out in turn, then "
        "each GPU model, and predicted by formulas fitted on the others. *Perfect*: the error of saying that several "
        "GPUs lose nothing."
    )
    found = [(name, each) for name, data in accuracy.data_sets.items() for each in _left_out(data.networks, data.gpus)]
    show_table(
        [{"Measurements": _DATA_SETS.get(name, name), **row} for name, row in found],
        "Several GPUs: how far off predicted steps were",
    )
    far = ", ".join(f"{plain(name)} {error:+.1f} %" for name, error in accuracy.network_64.items())
    st.markdown(
        f"64 K80 over a network, the network left out: **{percent_in_text(accuracy.on_64.mape)}** off on average "
        f"({percent_in_text(accuracy.on_64.perfect_mape)} if scaling were perfect): {far}."
    )
    for name, data in accuracy.data_sets.items():
        reasons = "; ".join(f"{count:,}: {plain(reason)}" for reason, count in data.excluded.items())
        also = data.with_excluded
        st.caption(
            f"{plain(_DATA_SETS.get(name, name))}: not judged are {reasons}. With those of them that the formulas "
            f"could be asked for, {also.n:,} steps: {percent_in_text(also.mape)} off, a network left out "
            f"({percent_in_text(also.perfect_mape)} if scaling were perfect)."
        )
    by_strategy = [
        {"Measurements": _DATA_SETS.get(name, name), "Gradients by": Strategy(strategy).words, **_errors(errors)}
        for name, data in accuracy.data_sets.items()
        for strategy, errors in data.networks.by_strategy.items()
    ]
    show_table(by_strategy, "Several GPUs: errors by how gradients are shared")
    st.caption(
        "A tree, NVLink bridges and networks faster than 10 Gb/s between machines were checked by no measurement. "
        "Images are taken to be ready: decoding them holds many GPUs up."
    )


def _left_out(networks: LeftOutScale, gpus: LeftOutScale) -> Iterator[dict[str, str]]:
    for what, found in (("network", networks), ("GPU model", gpus)):
        yield {
            "Left out": what,
            **_errors(found.every),
            "Where scaling is under 90 %": format_percent(found.hard.mape),
            "Inside the 90 % interval": format_percent(found.covered_90),
            "Its half width": f"± {format_percent(found.median_interval_pct)}",
        }


def _errors(found: ScaleErrors) -> dict[str, str]:
    return {
        "Mean error": format_percent(found.mape),
        "Perfect": format_percent(found.perfect_mape),
        "Steps": f"{found.n:,}",
    }
