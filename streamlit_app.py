"""The app's entry point: page settings and navigation."""

import streamlit as st

st.set_page_config(page_title="PROFET: which cloud GPU?", page_icon=":material/speed:", layout="wide")
st.navigation(
    [
        st.Page("app_pages/predict.py", title="Predict", icon=":material/speed:", url_path="home", default=True),
        st.Page("app_pages/scale.py", title="Scale", icon=":material/show_chart:", url_path="scale"),
        st.Page("app_pages/cost.py", title="Cost", icon=":material/payments:", url_path="cost"),
        st.Page("app_pages/advise.py", title="Advise", icon=":material/recommend:", url_path="advise"),
        st.Page("app_pages/compare.py", title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page("app_pages/inspect.py", title="Inspect", icon=":material/troubleshoot:", url_path="inspect"),
        st.Page("app_pages/accuracy.py", title="Accuracy", icon=":material/rule:", url_path="accuracy"),
        st.Page("app_pages/guide.py", title="Guide", icon=":material/menu_book:", url_path="guide"),
        # The default page lives at /; this makes /predict work too.
        st.Page("app_pages/predict.py", title="Predict", url_path="predict", visibility="hidden"),
    ],
    position="top",
).run()
