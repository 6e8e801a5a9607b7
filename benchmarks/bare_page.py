"""A Streamlit page with a slider and two bar charts, and nothing else: what no page of the app can be faster than."""

import plotly.graph_objects as go
import streamlit as st

_ROWS = 15

st.title("Bare page")
size = st.slider("Batch size", 16, 256, 64, step=16)
for key in ("latency-bars", "cost-bars"):
    with st.container(key=key):
        values = [size * (row + 1) for row in range(_ROWS)]
        names = [f"GPU {row}" for row in range(_ROWS)]
        labels = [f"{value} ms" for value in values]
        st.plotly_chart(go.Figure(go.Bar(x=values, y=names, text=labels, orientation="h")), key=f"{key}-chart")
st.write("$1 and 1 ms")
