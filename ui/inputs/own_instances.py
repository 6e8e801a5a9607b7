"""Asks for a visitor's own instances and prices: a file in, its rows listed, each removable; for this session alone."""

from __future__ import annotations

import streamlit as st

from profet_core.catalog import Instance
from profet_core.units import listed_price
from ui.inputs.own_file import OwnFile, own_file_input
from ui.inputs.own_offer import can_edit, edit_offer, own_offer_input
from ui.state.own_gpus import own_gpu_instances
from ui.state.own_instances import (
    MAX_BYTES,
    add_own_instances,
    own_csv,
    own_instances,
    remove_own_instance,
    remove_own_instances,
)
from ui.state.resources import Resources, load_resources
from ui.texts import plain

#: More rows are in the list of choices alone.
_LISTED = 10
_FILE = OwnFile(
    key="own-instances",
    label="Own instances and prices (CSV)",
    tip=f"The file of `profet instances add`, or the template filled in; at most {MAX_BYTES // 1000} kB. Rows stay in "
    "this session; nobody else sees them.",
    max_bytes=MAX_BYTES,
    too_large=f"The file is larger than {MAX_BYTES // 1000} kB: a row of instances takes about 100 bytes.",
    take=lambda data: add_own_instances(load_resources().catalog, data, own_gpu_instances()),
    text=own_csv,
    file_name="instances.csv",
)


def own_instances_input(resources: Resources) -> None:
    """The visitor's rows, a form for one, and files in and out; they count on every page until the session ends."""
    say_whose(resources)
    rows = own_instances()
    if rows:
        _show_rows(rows, resources)
    own_offer_input(resources)
    with st.expander("From a file", icon=":material/upload_file:"):
        own_file_input(_FILE, has_rows=bool(rows))


def say_whose(resources: Resources) -> None:
    """On a server that shows a list of its operator's own: how many rows of the catalogue are from it."""
    if resources.server_rows:
        rows = "1 row is" if resources.server_rows == 1 else f"{resources.server_rows} rows are"
        st.caption(f"{rows} this server's own list, which its operator shows to everyone.")


def _show_rows(rows: tuple[Instance, ...], resources: Resources) -> None:
    titles = {_title(row): row for row in rows}
    if len(rows) <= _LISTED:
        st.markdown("\n".join(f"- {plain(title)}" for title in titles))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = titles.get(st.selectbox("Your rows", tuple(titles), key="own-instances:row"))
        if chosen is not None and can_edit(chosen, resources):
            st.button(
                "Edit", key="own-instances:edit", icon=":material/edit:", on_click=edit_offer, args=(chosen, resources)
            )
        st.button("Remove", key="own-instances:remove", icon=":material/delete:", on_click=_remove, args=(chosen,))
        st.button(
            f"Remove all {len(rows)}",
            key="own-instances:remove-all",
            icon=":material/delete_sweep:",
            on_click=remove_own_instances,
        )


def _remove(row: Instance | None) -> None:
    if row is not None:
        remove_own_instance(load_resources().catalog, row)


def _title(row: Instance) -> str:
    gpus = f"{row.gpu_count} x {row.gpu}" if row.gpu_count > 1 else row.gpu
    where = f"{row.region}, {row.os}, {row.market}, {row.as_of}"
    return f"{row.name} ({gpus}; {where}): {listed_price(row.usd_per_hour)} an hour"
