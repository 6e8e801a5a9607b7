"""Ask which offers show, at which prices, and for custom instances and GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, replace
from datetime import date
from typing import Any, TypeVar

import streamlit as st

from profet_core import Catalog, InputError
from profet_core.advice.advise import Preset, PresetRow, preset_rows
from profet_core.catalog import HOME_REGION, MARKETS, Instance
from profet_core.catalog.collection import ANY_MARKET, CONFIDENCE_WORDS, MARKET_CHOICES, Narrowing
from profet_core.catalog.instance import FILE_COLUMNS, ON_DEMAND, OWN_HARDWARE, SPOT
from profet_core.catalog.naming import cloud_words
from profet_core.catalog.own_gpus import (
    HAS_NONE,
    PRECISIONS,
    SHEET_COLUMNS,
    USD_PER_KWH,
    OwnGpu,
    own_gpu_cells,
    own_gpu_of,
)
from profet_core.fields.questions import AdviseQuestion
from profet_core.precision.names import FP32
from profet_core.prediction.own_gpu_step import speed_of_step
from profet_core.transfer.own_gpu import BATCH_RANGE, PIXEL_RANGE, load_reference_steps
from profet_core.typed_numbers import as_typed, typed_positive
from profet_core.units import format_ms, listed_price
from ui.inputs.fields import choice, number_field, own_table, select, some_of, toggle
from ui.inputs.training import typed_network
from ui.predicted import current_network
from ui.state.own import (
    check_own,
    checked_own_instance,
    own_gpu_instances,
    put_own_gpus,
    put_own_instances,
    visitors_resources,
    without_own_gpus,
)
from ui.state.resources import Resources, load_resources, offer_choices
from ui.state.session import Drawn, Offers, session
from ui.words import MEASURE_IT, custom_gpu_link, one_line_errors, plain

#: A longer summary counts what narrows.
_MOST_WORDS = 28


def filter_button(resources: Resources) -> None:
    """Everything that narrows offers behind one button, drawn while it is open, what is chosen beside it."""
    # A button whose label changed would be another one, and closed.
    popover = st.popover("Filter", key="narrowing", on_change="rerun")
    if popover.open:
        with popover:
            narrowing_fields(resources)
    if words := _summary(chosen_narrowing(resources)):
        st.caption(plain(words), width="content")


def narrowing_fields(resources: Resources) -> None:
    """A field for each."""
    chosen_narrowing(resources)
    known = offer_choices(resources)
    clouds, gpus = st.columns(2, gap="small")
    with clouds:
        some_of("Cloud", Offers.provider, known["provider"], format_func=cloud_words, placeholder="any")
    with gpus:
        some_of("GPU", Offers.gpu, known["gpu"], placeholder="any")
    choice("Market", Offers.market)
    if spot_counts():
        number_field(
            "Spot is cheaper by (%)",
            Offers.spot_discount,
            empty="no guess",
            tip="A guess of yours, where no spot price is known: they change by the hour and the region.",
        )
    region, memory = st.columns(2, gap="small")
    with region:
        # No region is none of the options: a visitor's own may have any name.
        select("Region", Offers.region, {one: one for one in known["region"]}, index=None, placeholder="anywhere")
    number_field("GiB per GPU, at least", Offers.min_memory_gib, empty="any", at=memory)
    st.pills(
        "GPUs in a machine",
        known["gpu_count"],
        selection_mode="multi",
        key=Offers.gpu_count.key,
        help="None chosen: one, and the smallest node of a GPU that is rented in nodes only.",
        persist_state="session",
    )
    toggle("Retired instances", Offers.retired, "Can't be rented any more.")
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        choice("Confidence", Offers.confidence, help="Profiled GPUs can be good. Unprofiled GPUs are fair at best.")
        st.button("Every offer", key="narrowing:widen", icon=":material/filter_alt_off:", on_click=_widen)


def chosen_narrowing(resources: Resources) -> Narrowing:
    """What the settings ask of an offer; what is there no more, such as an own GPU that was removed, is forgotten."""
    offers = session.offers
    for name, options in offer_choices(resources).items():
        chosen = getattr(offers, name)
        if isinstance(chosen, list):
            kept: object = [value for value in chosen if value in options]
        else:
            kept = chosen if chosen in options else None
        if kept != chosen:
            setattr(offers, name, kept)
    return Narrowing(
        provider=tuple(offers.provider),
        region=offers.region,
        market=None if offers.market == MARKET_CHOICES[0] else offers.market,
        gpu=tuple(offers.gpu),
        gpu_count=tuple(int(count) for count in offers.gpu_count),
        min_memory_gib=offers.min_memory_gib,
        confidence=None if offers.confidence == CONFIDENCE_WORDS[0] else offers.confidence,
    )


def spot_counts() -> bool:
    """Whether the chosen market has spot prices."""
    return session.offers.market in (SPOT, ANY_MARKET)


def _widen() -> None:
    for name in ("provider", "gpu", "gpu_count", "market", "region", "min_memory_gib", "confidence"):
        setattr(session.offers, name, copy(vars(Offers)[name].default))


def _summary(narrowing: Narrowing) -> str:
    """'GCP, Lambda · V100 · spot'; how many where that is long; empty where nothing narrows."""
    parts = [
        ", ".join(map(cloud_words, narrowing.provider)),
        ", ".join(narrowing.gpu),
        narrowing.region or "",
        narrowing.market or "",
        f"≥ {narrowing.min_memory_gib:g} GiB" if narrowing.min_memory_gib else "",
        f"{', '.join(map(str, narrowing.gpu_count))} GPUs" if narrowing.gpu_count else "",
        narrowing.confidence or "",
    ]
    words = " · ".join(part for part in parts if part)
    return words if len(words) <= _MOST_WORDS else f"{sum(map(bool, parts))} limits"


#: GPUs that a chart shows until others are chosen.
MOST_DRAWN = 6

Row = TypeVar("Row", bound=PresetRow)


def preset_choice() -> None:
    """The preset, the same on every page."""
    choice("Instances", Offers.preset)


def chosen_rows(rows: Iterable[Row], *, keep: str = "", every_node: bool | None = None) -> list[Row]:
    """The rows of the chosen preset.

    Parameters
    ----------
    keep : label of a row that stays. every_node : None: where nodes are asked for.
    """
    offers = session.offers
    nodes = session.nodes.whole_nodes or bool(offers.gpu_count) if every_node is None else every_node
    return preset_rows(rows, Preset(offers.preset), retired=offers.retired, every_node=nodes, keep=keep)


def drawn_rows(rows: Sequence[Row], *, keep: str = "") -> list[Row]:
    """As many of the rows as a chart can show: of each chosen GPU the cheapest; else of the cheapest GPUs."""
    if session.offers.preset == Preset.ORIGINAL:
        return list(rows)
    each = preset_rows(rows, Preset.GPUS, retired=True, every_node=True, keep=keep)
    gpus = list(dict.fromkeys(row.offer.gpu for row in sorted(each, key=_by_cost)))
    session.drawn.drawn = [gpu for gpu in session.drawn.drawn if gpu in gpus]
    if len(gpus) > MOST_DRAWN:
        tip = "GPUs in the chart. The table has every instance."
        some_of("GPUs", Drawn.drawn, gpus, placeholder=f"The {MOST_DRAWN} cheapest", help=tip, width=320)
    wanted = session.drawn.drawn or gpus[:MOST_DRAWN]
    return [row for row in each if row.offer.gpu in wanted or row.is_anchor or (keep and row.label == keep)]


def _by_cost(row: PresetRow) -> tuple[bool, float]:
    return row.plan is None, row.offer.usd_per_hour if row.plan is None else row.plan.total_usd


def offer_buttons(resources: Resources) -> None:
    """What narrows offers, and everything about prices in a dialog; closing it draws the page with what was changed."""
    filter_button(resources)

    @st.dialog("Prices", width="large", on_dismiss="rerun")
    def dialog() -> None:
        with one_line_errors():
            # With what was added since the dialog opened.
            prices_input(visitors_resources())

    if st.button("Prices", key="offers"):
        dialog()


def with_offers(resources: Resources, question: AdviseQuestion) -> AdviseQuestion:
    """The question about the offers that the filter leaves, at the visitor's own prices."""
    whole_nodes = session.nodes.whole_nodes
    network, parameters = typed_network() if whole_nodes else (None, None)
    return replace(
        question,
        **offer_values(resources),
        include_retired=True,
        whole_nodes=whole_nodes,
        network=network,
        parameters=parameters,
    )


def offer_values(resources: Resources) -> dict[str, Any]:
    """Fields of a question: which offers, at which prices, and how sure of them."""
    narrowing, offers = chosen_narrowing(resources), session.offers
    return {
        **asdict(narrowing),
        "market": offers.market,
        "price": own_prices(resources),
        "spot_discount": offers.spot_discount / 100 if offers.spot_discount and spot_counts() else None,
    }


def own_prices(resources: Resources) -> dict[str, float]:
    """Instance -> the visitor's price, US dollars an hour."""
    return {name: usd for name, usd in session.offers.price.items() if name in resources.catalog}


def prices_input(resources: Resources) -> None:
    """Draw the tables of custom prices, instances and GPUs."""
    st.caption("Click the empty row to add one. Select rows to delete them.")
    own_price, own_instance, own_gpu = st.tabs(["Prices", "Custom instances", "Custom GPU"])
    with own_price:
        _own_price_input(resources)
    with own_instance:
        own_instances_input(resources)
    with own_gpu:
        own_gpu_input()


def _own_price_input(resources: Resources) -> None:
    """Draw the table of custom prices; a custom GPU has its price in its own table."""
    of_own_gpus = own_gpu_instances()
    names = tuple(name for name in resources.catalog if name not in of_own_gpus)

    def label(option: object) -> str:
        name = str(option)
        return f"{resources.instance_label(name)}, list {listed_price(resources.catalog[name].usd_per_hour)}/h"

    st.caption("A price here replaces the list price in every market, and the page's link keeps it.")
    own_table(
        "own-prices",
        {
            "instance": st.column_config.SelectboxColumn(
                "Instance", options=names, required=True, format_func=label, width="large"
            ),
            "usd": st.column_config.NumberColumn("Your price ($/h)", required=True, min_value=0),
        },
        list(own_prices(resources).items()),
        lambda row: {"instance": row[0], "usd": as_typed(row[1])},
        lambda cells: (cells["instance"], typed_positive(cells["usd"])),
        _put_prices,
    )


def _put_prices(rows: Sequence[tuple[str, float]]) -> None:
    names = [name for name, _ in rows]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} has two prices: keep one.")
    session.offers.price = dict(rows)


MAX_GPUS = 64
_MARKET_LABELS = {OWN_HARDWARE: "my hardware"}


def own_instances_input(resources: Resources) -> None:
    """Draw the table of custom instances; they count on every page until the session ends."""
    say_whose()
    shared = load_resources().catalog

    def made(cells: dict[str, str]) -> Instance:
        name, gpu = cells["instance"], resources.gpus.get(cells["gpu"])
        if gpu is not None and name not in shared:
            cells["gpu_memory_gib"] = str(gpu.memory_gib)
        given = {column: text for column, text in cells.items() if text}
        return checked_own_instance(shared, dict.fromkeys(FILE_COLUMNS, "") | _defaults() | given)

    own_table(
        "own-instances",
        _columns(resources),
        session.own.own_instances,
        lambda row: _cells(row, resources, shared),
        made,
        lambda rows: put_own_instances(shared, rows),
    )


def say_whose() -> None:
    """On a server with a custom list of its operator, show how many rows are from it."""
    if count := sum(offer.own for offer in load_resources().catalog.all_offers):
        rows = "1 row is" if count == 1 else f"{count} rows are"
        st.caption(f"{rows} this server's own list, which its operator shows to everyone.")


def _columns(resources: Resources) -> dict[str, Any]:
    text, number, select = st.column_config.TextColumn, st.column_config.NumberColumn, st.column_config.SelectboxColumn
    # A custom GPU may have been removed.
    gpus = tuple(dict.fromkeys((*resources.gpus, *(row.gpu for row in session.own.own_instances))))
    defaults = _defaults()
    return {
        "instance": text("Name", required=True, pinned=True, help="A new name, or an instance to price elsewhere."),
        "gpu": select("GPU", options=gpus, help="Empty: as in the list of instances."),
        "gpu_count": number("GPUs", min_value=1, max_value=MAX_GPUS, step=1, help="Empty: 1, or as listed."),
        "usd_per_hour": number("Price ($/h)", required=True, min_value=0, help="Of the machine with all its GPUs."),
        "market": select(
            "Market",
            options=MARKETS,
            default=defaults["market"],
            format_func=lambda name: _MARKET_LABELS.get(str(name), str(name)),
        ),
        "region": text("Region", default=defaults["region"]),
        "as_of": text("Price date", default=defaults["as_of"], help="Year, year-month or year-month-day."),
        "source": text("Source", default=defaults["source"]),
    }


def _defaults() -> dict[str, str]:
    return {
        "market": ON_DEMAND,
        "region": HOME_REGION,
        "os": "linux",
        "as_of": date.today().isoformat(),
        "source": "given by the user",
    }


def _cells(row: Instance, resources: Resources, shared: Catalog) -> dict[str, str]:
    """Machine columns of listed instances are left empty, so that they stay as listed."""
    cells = {
        "instance": row.name,
        "usd_per_hour": as_typed(row.usd_per_hour),
        "market": row.market,
        "region": row.region,
        "as_of": row.as_of,
        "source": row.source,
    }
    if row.name in shared:
        return cells
    memory = {} if row.gpu in resources.gpus else {"gpu_memory_gib": as_typed(row.gpu_memory_gib)}
    return cells | {"gpu": row.gpu, "gpu_count": f"{row.gpu_count}"} | memory


_STEP, _TF32 = "step_ms", "tf32_tensor_dense_tflops"


def own_gpu_input() -> None:
    """Draw the table of custom GPUs; they count on every page until the session ends."""
    st.caption(
        "Enter a GPU and the most similar one. Empty specs are those of the similar GPU. "
        "For a better prediction, enter the latency of your profile's step on it, or a training throughput."
    )
    own_table(
        "own-gpus",
        _gpu_columns(),
        session.own.own_gpus,
        _gpu_cells,
        _made,
        put_own_gpus,
    )
    st.caption(f"For better predictions, {MEASURE_IT}.")
    custom_gpu_link()


def _gpu_columns() -> dict[str, Any]:
    text, number, select = st.column_config.TextColumn, st.column_config.NumberColumn, st.column_config.SelectboxColumn
    as_similar = "Empty: as the similar GPU."
    step_tip = "Latency of the shown profile's step, at the size it was recorded at, measured without a profiler."
    electricity = f"Empty: its electricity, the power limit at ${USD_PER_KWH:.2f}/kWh."
    networks = load_reference_steps().networks

    def whole(label: str, bounds: tuple[int, int]) -> Any:
        return number(label, min_value=bounds[0], max_value=bounds[1], step=1)

    return {
        "gpu": text("Name", required=True, pinned=True),
        "like": select("Similar to", options=tuple(load_resources().gpus.shipped), required=True),
        _STEP: number("Step (ms)", min_value=0, help=step_tip),
        "times_reference": number("Relative speed", min_value=0, help="From a measured step. Empty: not known."),
        "usd_per_hour": number("Price ($/h)", min_value=0, help=electricity),
        "memory_gib": number("Memory (GiB)", min_value=0, help=as_similar),
        "bandwidth_gb_per_s": number("Bandwidth (GB/s)", min_value=0, help=as_similar),
        "fp32_tflops": number("FP32 (TFLOP/s)", min_value=0, help=as_similar),
        _TF32: number("TF32 (TFLOP/s)", min_value=0, help=f"Dense, on tensor cores. {as_similar} 0: none."),
        "tdp_w": number("Power limit (W)", min_value=0, help=as_similar),
        "images_per_s": number("Images/s", min_value=0, help="Training throughput on one GPU."),
        "network": select("Network", options=networks, help="Of the throughput."),
        "batch_size": whole("Batch size", BATCH_RANGE),
        "pixels": whole("Image size (pixels)", PIXEL_RANGE),
        "precision": select("Precision", options=PRECISIONS),
        "source": text("Source"),
    }


def _gpu_cells(own: OwnGpu) -> dict[str, str]:
    """As in a file, without what is as the similar GPU has it."""
    cells, like = own_gpu_cells(own), load_resources().gpus[own.like]
    same = {column: "" for column in SHEET_COLUMNS if getattr(own.gpu, column) == getattr(like, column)}
    return {column: "0" if text == HAS_NONE else text for column, text in (cells | same).items()}


def _made(cells: dict[str, str]) -> OwnGpu:
    """A checked GPU of the table's cells.

    Raises
    ------
    ProfetError : one line that names the GPU and what is wrong.
    """
    step_ms, name = cells.pop(_STEP), cells["gpu"]
    if cells[_TF32] == "0":
        cells[_TF32] = HAS_NONE
    if cells["images_per_s"]:
        # A new throughput replaces what an earlier step said.
        cells["times_reference"] = ""
    elif not cells["times_reference"]:
        cells["precision"] = ""
    own = own_gpu_of(cells, load_resources().gpus)
    if step_ms and own.point is not None and cells["images_per_s"]:
        raise InputError(f"{name}: enter a step or images/s, not both.")
    check_own(own)
    return _with_step(own, float(step_ms)) if step_ms else own


def _with_step(own: OwnGpu, measured_ms: float) -> OwnGpu:
    """With the speed that a measured step of the shown profile implies."""
    resources = without_own_gpus()
    training = current_network(resources).training
    point = speed_of_step(
        resources.models,
        resources.catalog,
        training.profile,
        training.prediction.anchor,
        own,
        measured_ms,
        latency_ms=training.prediction.anchor_latency_ms,
        tf32=session.network.precision != FP32,
    )
    return replace(own, point=point, source=f"a step of {format_ms(measured_ms)} that you measured")
