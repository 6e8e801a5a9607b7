"""Cost: a data set and a number of epochs in, time and money on every instance out."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.cost.view import CostEnds, Costs, cost_bars, data_rows, points, text_rows, time_bars
from profet_core import Catalog, CostTable, cost_table
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.training.steps import TrainingSteps
from ui.basis import show_basis
from ui.charts.bars import bars
from ui.charts.style import show_chart
from ui.charts.trade_off import trade_off
from ui.cost_latencies import latencies_for_cost, source_words
from ui.errors import show_errors
from ui.frame import run_page
from ui.inputs.training import batch_inputs, own_prices, predicted_on_predict, profiled_batch, training_inputs
from ui.memory import fits_of, say_fits
from ui.paths import page_path
from ui.predicted.outcome import Outcome
from ui.state.page_keys import cost_keys
from ui.state.resources import Resources
from ui.tables import download_buttons, show_table
from ui.texts import plain


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("What will the training take and cost?")
    outcome = predicted_on_predict(resources)
    with st.container(border=True):
        training_inputs()
        batch_inputs(resources, outcome)
        catalog = resources.catalog.with_prices(
            own_prices(resources, [row.instance for row in outcome.prediction.predictions])
        )
    latencies = latencies_for_cost(resources, outcome, profiled_batch(outcome))
    show_errors(latencies.problems)
    _show_missing_anchor(outcome, latencies)
    if latencies.latencies_ms:
        say_fits(fits_of(resources, outcome, latencies.latencies_ms, latencies.batch_size))
        _result(_costs(catalog, outcome, latencies), latencies)


def _show_missing_anchor(outcome: Outcome, latencies: TrainingSteps) -> None:
    anchor = outcome.prediction.anchor
    if anchor not in latencies.latencies_ms and anchor not in latencies.problems:
        st.info(f"{anchor} is the anchor and its latency isn't given, so it has no row and there is no speed-up.")


def _costs(catalog: Catalog, outcome: Outcome, latencies: TrainingSteps) -> Costs:
    """Costs at each latency, and at both ends of its interval where it has one."""

    def table(latencies_ms: Mapping[str, float]) -> CostTable:
        return cost_table(
            latencies_ms,
            catalog,
            images=st.session_state["images"],
            batch_size=latencies.batch_size,
            epochs=st.session_state["epochs"],
            validation_images=st.session_state["validation_images"],
            anchor=outcome.prediction.anchor,
        )

    low = table({name: interval.low_ms for name, interval in latencies.intervals.items()})
    high = table({name: interval.high_ms for name, interval in latencies.intervals.items()})
    return Costs(
        catalog,
        table(latencies.latencies_ms),
        {ends.low.instance: ends for ends in map(CostEnds, low.rows, high.rows)},
        {row.instance: row for row in latencies.step_times if row.latency_ms is not None},
    )


def _result(costs: Costs, latencies: TrainingSteps) -> None:
    table, source = costs.table, plain(source_words(latencies))
    st.subheader("Time and cost of an epoch", anchor="epoch")
    st.caption(
        f"{table.images:,} images at batch size {table.batch_size}, {source}. Measured epochs of "
        f"the training data took {MEASURED_EPOCH_FACTOR[0] - 1:.0%} to {MEASURED_EPOCH_FACTOR[1] - 1:.0%} longer "
        "than steps times latency: add that for loading data and start-up."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        show_chart(bars(time_bars(costs), "Time of an epoch"), "epoch-time")
    with right:
        show_chart(bars(cost_bars(costs), "Cost of an epoch"), "epoch-cost")
    st.subheader(f"All {table.epochs:,} epochs" if table.epochs > 1 else "The whole training", anchor="training")
    show_chart(trade_off(points(costs)), "trade-off")
    _legend(costs)
    st.page_link(page_path("advise"), label="How sure is that? Ask Advise", icon=":material/explore:")
    if costs.ends:
        st.caption(
            "Between: both ends of the step latency's interval, as Predict has it; what else varies between runs is "
            "not in it."
        )
    elif latencies.carried:
        st.caption("Latencies carried to another batch size have no interval.")
    show_table(text_rows(costs), "Cost per instance")
    show_basis(costs.steps.values())
    download_buttons(data_rows(costs), "profet-cost")


def _legend(costs: Costs) -> None:
    rows = costs.table.rows
    retired = {row.instance for row in rows if row.status == "retired"}
    named = ", ".join(f"{name} (retired)" if name in retired else name for name in costs.best)
    st.caption(
        f"Worth considering, as no other one is both faster and cheaper by the estimates: {named}. Hollow: retired."
    )
    nodes = [row.instance for row in rows if costs.catalog[row.instance].gpu_count > 1]
    if nodes:
        st.caption(f"Price of the whole node, speed of one of its GPUs: {plain(', '.join(nodes))}.")


run_page(body, cost_keys)
