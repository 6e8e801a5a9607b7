"""Asks for custom prices, instances and GPUs, and puts the wanted offers into questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from profet_core import InputError
from profet_core.answers.questions import AdviseQuestion
from profet_core.typed_numbers import as_typed, typed_positive
from profet_core.units import listed_price
from ui.errors import one_line_errors
from ui.inputs.narrowing import chosen_narrowing, filter_button, spot_counts
from ui.inputs.own_gpu import own_gpu_input
from ui.inputs.own_instances import own_instances_input
from ui.inputs.own_table import OwnTable, own_table
from ui.inputs.parameters import typed_network
from ui.state.own_catalog import own_gpu_instances, visitors_resources
from ui.state.resources import Resources
from ui.state.session import PRICE, session


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
        "provider": narrowing.provider,
        "region": narrowing.region,
        "market": offers.market,
        "gpu": narrowing.gpu,
        "gpu_count": narrowing.gpu_count,
        "min_memory_gib": narrowing.min_memory_gib,
        "confidence": narrowing.confidence,
        "price": PRICE.given(resources),
        "spot_discount": offers.spot_discount / 100 if offers.spot_discount and spot_counts() else None,
    }


def prices_input(resources: Resources) -> None:
    """Draw the tables of custom prices, instances and GPUs."""
    st.caption("Click the empty row to add one. Select rows to delete them.")
    own_price, own_instance, own_gpu = st.tabs(["Prices", "Custom instances", "Custom GPU"])
    with own_price:
        _own_price_input(resources)
    with own_instance:
        own_instances_input(resources)
    with own_gpu:
        own_gpu_input(resources)


def _own_price_input(resources: Resources) -> None:
    """Draw the table of custom prices; a custom GPU has its price in its own table."""
    of_own_gpus = own_gpu_instances()
    names = tuple(name for name in resources.catalog if name not in of_own_gpus)

    def label(option: object) -> str:
        name = str(option)
        return f"{resources.instance_label(name)}, list {listed_price(resources.catalog[name].usd_per_hour)}/h"

    st.caption("A price here replaces the list price in every market, and the page's link keeps it.")
    own_table(
        OwnTable(
            key="own-prices",
            columns={
                "instance": st.column_config.SelectboxColumn(
                    "Instance", options=names, required=True, format_func=label, width="large"
                ),
                "usd": st.column_config.NumberColumn("Your price ($/h)", required=True, min_value=0),
            },
            numbers=("usd",),
            rows=lambda: list(PRICE.given(resources).items()),
            cells=lambda: [{"instance": name, "usd": as_typed(usd)} for name, usd in PRICE.given(resources).items()],
            make=lambda cells: (cells["instance"], typed_positive(cells["usd"])),
            keep=_put_prices,
        )
    )


def _put_prices(rows: Mapping[int, tuple[str, float]], before: Mapping[int, tuple[str, float]]) -> None:
    names = [name for name, _ in rows.values()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} has two prices: keep one.")
    for name, _ in before.values():
        st.session_state[PRICE.key(name)] = None
    for name, usd in rows.values():
        st.session_state[PRICE.key(name)] = usd
