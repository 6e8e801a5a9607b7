"""The former page of networks without a profile: its links lead to Predict, and to Many-core CPUs."""

from __future__ import annotations

import streamlit as st

from ui.words import page_path

#: Parameters of its links -> what they are called now; None: of what is no longer there.
_RENAMED = {"net_gpu": "anchor", "net_time": "latency", "net_code": "training_code", "hardware": None}

given = st.query_params.to_dict()
renamed = {_RENAMED.get(name, name): value for name, value in given.items() if not name.startswith("estimate_")}
page = "many_core" if given.get("hardware") == "cpus" else "predict"
wanted = {name: value for name, value in renamed.items() if name is not None}
st.switch_page(page_path(page), query_params=wanted if page == "many_core" else {"source": "name", **wanted})
