"""Every instance with its list price and what a latency there rests on."""

from __future__ import annotations

import streamlit as st

from profet_core.prediction.unprofiled import basis_by_instance
from profet_core.units import listed_price
from ui.basis import SHORT_BASIS
from ui.inputs.own_instances import say_whose
from ui.state.resources import Resources
from ui.tables import MISSING, price_source, show_table
from ui.texts import plain


def show_prices(resources: Resources) -> None:
    """Words first, then the table."""
    st.markdown(
        "What each number rests on, and the list price that costs are computed with. Your own instances, prices, "
        "regions and spot offers: on Answer, for your session; on the command line `profet instances add`, "
        "and list prices anew `profet instances refresh`."
    )
    say_whose(resources)
    basis = basis_by_instance(resources.models, resources.catalog)
    show_table(
        [
            {
                "Instance": name,
                "GPU": entry.gpu if entry.gpu_count == 1 else f"{entry.gpu_count} × {entry.gpu}",
                "Latency is": SHORT_BASIS[basis[name]] if name in basis else MISSING,
                "GPU memory": f"{entry.gpu_memory_gib:g} GiB",
                "Price per hour": plain(listed_price(entry.usd_per_hour)),
                "Price from": price_source(entry),
                "Status": entry.status,
            }
            for name, entry in resources.catalog.items()
        ],
        "Instances and prices",
    )
