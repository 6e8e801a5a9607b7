"""Cost: a data set and a number of epochs in, time and money on every instance out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import streamlit as st

from profet_core import Catalog, CostRow, CostTable, cost_table
from profet_core.advice.frontier import frontier
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.latency import StepTime
from profet_core.units import format_duration, format_ms, format_significant, format_usd
from ui.basis import MARK, SHORT_BASIS, say_basis
from ui.charts import Bar, TradeOffPoint, bars, trade_off
from ui.cost_latencies import StepLatencies, latencies_for_cost, step_times
from ui.errors import plain, show_error
from ui.frame import run_page
from ui.inputs.training import batch_inputs, own_prices, predicted_on_predict, profiled_batch, training_inputs
from ui.memory import fits_of, say_fits
from ui.paths import page_path
from ui.state.resources import Resources
from ui.state.session import Outcome
from ui.state.settings import cost_keys, scale_keys
from ui.tables import MISSING, download_buttons, format_price, format_range, price_source, show_table

#: Costs at the low and at the high end of one instance's interval.
Ends = tuple[CostRow, CostRow]


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
    for name, line in latencies.problems.items():
        show_error(f"{name}: {line}")
    _say_anchor_is_missing(outcome, latencies)
    if latencies.latencies_ms:
        say_fits(fits_of(resources, outcome, latencies.latencies_ms, latencies.batch_size))
        table = _table(catalog, outcome, latencies.latencies_ms, latencies.batch_size)
        rests = {row.instance: row for row in step_times(outcome, latencies) if row.instance in latencies.latencies_ms}
        _result(catalog, table, latencies, _ends(catalog, outcome, latencies), rests)


def keys(resources: Resources) -> Iterable[str]:
    """Settings of the page's link; the ends of the batch axis too where the costs come from them."""
    scaled = st.session_state["batch_from"] == "scaled"
    return (*cost_keys(resources), *(scale_keys(resources, "batch") if scaled else ()))


def _say_anchor_is_missing(outcome: Outcome, latencies: StepLatencies) -> None:
    anchor = outcome.prediction.anchor
    if anchor not in latencies.latencies_ms and anchor not in latencies.problems:
        st.info(f"{anchor} is the anchor and its latency isn't given, so it has no row and there is no speed-up.")


def _table(catalog: Catalog, outcome: Outcome, latencies_ms: Mapping[str, float], batch_size: int) -> CostTable:
    return cost_table(
        latencies_ms,
        catalog,
        images=st.session_state["images"],
        batch_size=batch_size,
        epochs=st.session_state["epochs"],
        validation_images=st.session_state["validation_images"],
        anchor=outcome.prediction.anchor,
    )


def _ends(catalog: Catalog, outcome: Outcome, latencies: StepLatencies) -> dict[str, Ends]:
    """Costs at both ends of each interval, for the instances that have one."""
    low, high = (
        _table(catalog, outcome, ends_ms, latencies.batch_size)
        for ends_ms in (
            {name: interval.low_ms for name, interval in latencies.intervals.items()},
            {name: interval.high_ms for name, interval in latencies.intervals.items()},
        )
    )
    return {at_low.instance: (at_low, at_high) for at_low, at_high in zip(low.rows, high.rows, strict=True)}


def _result(
    catalog: Catalog,
    table: CostTable,
    latencies: StepLatencies,
    ends: Mapping[str, Ends],
    rests: Mapping[str, StepTime],
) -> None:
    st.subheader("Time and cost of an epoch", anchor="epoch")
    st.caption(
        f"{table.images:,} images at batch size {table.batch_size}, {plain(latencies.source)}. Measured epochs of "
        f"the training data took {MEASURED_EPOCH_FACTOR[0] - 1:.0%} to {MEASURED_EPOCH_FACTOR[1] - 1:.0%} longer "
        "than steps times latency: add that for loading data and start-up."
    )
    left, right = st.columns(2, gap="medium")
    rough = {name for name, row in rests.items() if row.basis.is_rough}
    times = [_bar(row, ends.get(row.instance), "epoch_s", format_duration, rough) for row in table.rows]
    costs = [_bar(row, ends.get(row.instance), "epoch_usd", format_usd, rough) for row in table.rows]
    left.plotly_chart(bars(times, "Time of an epoch"), config={"displayModeBar": False}, key="epoch-time")
    right.plotly_chart(bars(costs, "Cost of an epoch"), config={"displayModeBar": False}, key="epoch-cost")
    st.subheader(f"All {table.epochs:,} epochs" if table.epochs > 1 else "The whole training", anchor="training")
    best = [row.instance for row in frontier(table.rows)]
    st.plotly_chart(
        trade_off([_point(row, row.instance in best, rough) for row in table.rows]),
        config={"displayModeBar": False},
        key="trade-off",
    )
    retired = {row.instance for row in table.rows if row.status == "retired"}
    named = ", ".join(f"{name} (retired)" if name in retired else name for name in best)
    st.caption(
        f"Worth considering, as no other one is both faster and cheaper by the estimates: {named}. Hollow: retired."
    )
    nodes = [row.instance for row in table.rows if catalog[row.instance].gpu_count > 1]
    if nodes:
        st.caption(f"Price of the whole node, speed of one of its GPUs: {plain(', '.join(nodes))}.")
    st.page_link(page_path("advise"), label="How sure is that? Ask Advise", icon=":material/explore:")
    if ends:
        st.caption(
            "Between: both ends of the step latency's interval, as Predict has it; what else varies between runs is "
            "not in it."
        )
    elif latencies.carried:
        st.caption("Latencies carried to another batch size have no interval.")
    show_table([_text_row(catalog, row, table.epochs, ends, rests) for row in table.rows], "Cost per instance")
    say_basis(list(rests.values()))
    download_buttons([_data_row(catalog, table, row, ends, rests) for row in table.rows], "profet-cost")


def _marked(instance: str, rough: Collection[str]) -> str:
    return f"{instance}{MARK if instance in rough else ''}"


def _bar(row: CostRow, ends: Ends | None, figure: str, words: Callable[[float], str], rough: Collection[str]) -> Bar:
    value = getattr(row, figure)
    low, high = (getattr(end, figure) for end in ends) if ends else (None, None)
    label = _marked(row.instance, rough)
    return Bar(label, value, words(value), row.status == "retired", low, high, row.instance in rough)


def _point(row: CostRow, best: bool, rough: Collection[str]) -> TradeOffPoint:
    hover = f"{row.instance}<br>{format_duration(row.total_s)}<br>{format_usd(row.total_usd)}"
    label = _marked(row.instance, rough)
    return TradeOffPoint(label, row.total_s / 3600, row.total_usd, hover, best, row.status == "retired")


def _text_row(
    catalog: Catalog, row: CostRow, epochs: int, ends: Mapping[str, Ends], rests: Mapping[str, StepTime]
) -> dict[str, str]:
    entry = catalog[row.instance]
    time, cost = _between(ends.get(row.instance), "epoch_s", format_duration), _cost_between(ends.get(row.instance))
    return {
        "Instance": row.instance,
        "An epoch": format_duration(row.epoch_s),
        **({"An epoch, between": time} if ends else {}),
        "$ an epoch": plain(format_usd(row.epoch_usd)),
        **({"$ an epoch, between": cost} if ends else {}),
        f"{epochs:,} epochs": format_duration(row.total_s),
        f"$ for {epochs:,} epochs": plain(format_usd(row.total_usd)),
        "Time is": SHORT_BASIS[rests[row.instance].basis],
        "GPU": entry.gpu_model if entry.gpu_count == 1 else f"{entry.gpu_model} (1 of {entry.gpu_count})",
        "Images per second": format_significant(row.images_per_s),
        "Speed-up": MISSING if row.speedup is None else f"{format_significant(row.speedup)}×",
        "Step latency": format_ms(row.latency_ms),
        "Price per hour": plain(format_price(row.usd_per_hour)),
        "Price from": price_source(entry),
        "Status": row.status,
    }


def _between(ends: Ends | None, figure: str, words: Callable[[float], str]) -> str:
    return format_range(*(words(getattr(end, figure)) for end in ends)) if ends else MISSING


def _cost_between(ends: Ends | None) -> str:
    return plain(_between(ends, "epoch_usd", format_usd)) if ends else MISSING


def _data_row(
    catalog: Catalog, table: CostTable, row: CostRow, ends: Mapping[str, Ends], rests: Mapping[str, StepTime]
) -> dict[str, object]:
    entry = catalog[row.instance]
    low, high = ends.get(row.instance, (None, None))
    return {
        "instance": row.instance,
        "batch_size": table.batch_size,
        "images": table.images,
        "validation_images": table.validation_images,
        "epochs": table.epochs,
        "gpu": entry.gpu,
        "gpu_count": entry.gpu_count,
        "basis": rests[row.instance].basis,
        "note": rests[row.instance].note,
        "latency_ms": row.latency_ms,
        "images_per_s": row.images_per_s,
        "speedup": row.speedup,
        "epoch_s": row.epoch_s,
        **({"epoch_s_low": low and low.epoch_s, "epoch_s_high": high and high.epoch_s} if ends else {}),
        "epoch_usd": row.epoch_usd,
        **({"epoch_usd_low": low and low.epoch_usd, "epoch_usd_high": high and high.epoch_usd} if ends else {}),
        "total_s": row.total_s,
        "total_usd": row.total_usd,
        "usd_per_hour": row.usd_per_hour,
        "price_as_of": entry.as_of,
        "market": entry.market,
        "region": entry.region,
        "status": row.status,
    }


run_page(body, keys)
