"""Page settings and navigation: what Streamlit runs on every visit."""

from pathlib import Path

import streamlit as st

from ui.links import page_path

_PAGES = "navigation:pages"

# A file of ours: for the name of an icon, the browser would ask a font host.
_ICON = Path(__file__).with_name("icon.svg")

st.set_page_config(page_title="PROFET: cloud GPU training time and cost", page_icon=str(_ICON), layout="wide")
if _PAGES not in st.session_state:
    # Made once a session: each looks its script up on the disk, which took a sixth of an action.
    st.session_state[_PAGES] = {
        "": [
            st.Page(
                page_path("predict"), title="Predict", icon=":material/recommend:", url_path="predict", default=True
            ),
            st.Page(page_path("sizes"), title="Sizes", icon=":material/show_chart:", url_path="sizes"),
            st.Page(page_path("compare"), title="Compare", icon=":material/compare_arrows:", url_path="compare"),
            st.Page(page_path("scale_out"), title="Scale out", icon=":material/hub:", url_path="scale_out"),
        ],
        "More": [
            st.Page(page_path("estimate"), title="Without a profile", icon=":material/schema:", url_path="estimate"),
            st.Page(page_path("many_core"), title="Many-core CPUs", icon=":material/memory:", url_path="many_core"),
            st.Page(page_path("accuracy"), title="Accuracy", icon=":material/rule:", url_path="accuracy"),
            st.Page(page_path("about"), title="About", icon=":material/info:", url_path="about"),
        ],
    }
st.navigation(st.session_state[_PAGES], position="top").run()
