"""What an estimate is made of: the law's costs, what was selected, and what the trees ask for."""

from __future__ import annotations

import streamlit as st

from profet_core.estimate.amounts import WORK, step_amounts
from profet_core.estimate.corrections import BoostedTrees, LogLinear
from profet_core.estimate.model import LIGHTGBM, LOG_LINEAR, XGBOOST, EstimateModel
from profet_core.layers.counts import Counts
from profet_core.units import format_ms, format_significant
from ui.tables import show_table

#: Features of the trees that are listed.
_MOST_LISTED = 10


def show_weights(model: EstimateModel, network: Counts, batch_size: int) -> None:
    """Three tables."""
    amounts = step_amounts([network], [batch_size])
    st.markdown("**The law**: what each kind of work of this step takes on the measured GPUs, milliseconds.")
    columns = {name: [*costs.parts_ms(amounts)[0].tolist()] for name, costs in model.costs.items()}
    rows = [
        {"Work": kind, "Amount": format_significant(float(amount))}
        | {name: format_ms(parts[place]) for name, parts in columns.items()}
        for place, (kind, amount) in enumerate(zip(WORK, amounts.work[0], strict=True))
    ]
    for title, of in (("launches by the host", "launch_ms"), ("copy and start", "fixed_ms")):
        found = {name: format_ms(float(getattr(costs, of)(amounts)[0])) for name, costs in model.costs.items()}
        rows.append({"Work": title, "Amount": "", **found})
    show_table(rows, "What each kind of work takes on the measured GPUs")
    names = [feature.name for feature in model.features]
    line = model.corrections[LOG_LINEAR]
    if isinstance(line, LogLinear):
        st.markdown("**Log-linear regression**: features in the order of their selection (logarithms), and weights.")
        selected = [
            {"Feature": names[column], "Weight": f"{weight:.3f}"}
            for column, weight in zip(line.columns, line.weights, strict=True)
        ]
        show_table([*selected, {"Feature": "(intercept)", "Weight": f"{line.intercept:.3f}"}], "Selected features")
    st.markdown("**Boosted trees** of what the law misses: how often their splits ask for a feature.")
    shares = {name: _shares(model, name, names) for name in (XGBOOST, LIGHTGBM)}
    most = sorted(names, key=lambda name: -shares[XGBOOST].get(name, 0.0))[:_MOST_LISTED]
    trees = [{"Feature": name} | {key: f"{100 * of.get(name, 0):.0f} %" for key, of in shares.items()} for name in most]
    show_table(trees, "Features of the trees")


def _shares(model: EstimateModel, method: str, names: list[str]) -> dict[str, float]:
    correction = model.corrections[method]
    if not isinstance(correction, BoostedTrees):
        return {}
    columns = correction.trees.features[correction.trees.steps > 0].tolist()
    return {name: columns.count(place) / len(columns) for place, name in enumerate(names) if columns}
