"""The app's entry point: page settings and navigation."""

import streamlit as st

st.set_page_config(page_title="PROFET: which cloud GPU?", page_icon=":material/speed:", layout="wide")
st.navigation(
    [
        st.Page("pages/predict.py", title="Predict", icon=":material/speed:", url_path="predict", default=True),
        st.Page("pages/scale.py", title="Scale", icon=":material/show_chart:", url_path="scale"),
        st.Page("pages/cost.py", title="Cost", icon=":material/payments:", url_path="cost"),
        st.Page("pages/guide.py", title="Guide", icon=":material/menu_book:", url_path="guide"),
    ],
    position="top",
).run()
