"""Page settings and navigation: what Streamlit runs on every visit."""

from pathlib import Path

import streamlit as st

from ui.streamlit_internals import component
from ui.words import page_path

_PAGES = "navigation:pages"
_GROUPS = {
    "": (
        ("predict", "Predict", "recommend"),
        ("scaler", "Scaler", "straighten"),
        ("sizes", "Sizes", "show_chart"),
        ("compare", "Compare", "compare_arrows"),
        ("scale_out", "Scale out", "hub"),
    ),
    "More": (
        ("many_core", "Many-core CPUs", "memory"),
        ("accuracy", "Accuracy", "rule"),
        ("about", "About", "info"),
        # Where its links led to before.
        ("estimate", "No profile", "schema"),
    ),
}

# A file of ours: for the name of an icon, the browser would ask a font host.
_ICON = Path(__file__).with_name("icon.svg")

st.set_page_config(page_title="PROFET: cloud GPU training time and cost", page_icon=str(_ICON), layout="wide")
if _PAGES not in st.session_state:
    # Made once a session: each looks its script up on the disk, which took a sixth of an action.
    st.session_state[_PAGES] = {
        group: [
            st.Page(
                page_path(name),
                title=title,
                icon=f":material/{icon}:",
                url_path=name,
                default=name == "predict",
                visibility="hidden" if name == "estimate" else "visible",
            )
            for name, title, icon in pages
        ]
        for group, pages in _GROUPS.items()
    }
# Scripts and style of all pages.
limits = {"max_mb": st.get_option("server.maxUploadSize")}
component("page", Path(__file__).parent / "assets")(key="page", data=limits, on_reloaded_change=lambda: None)
st.navigation(st.session_state[_PAGES], position="top").run()
