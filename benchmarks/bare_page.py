"""A Streamlit page with a slider and two bar charts, and nothing else: what no page of the app can be faster than."""

import plotly.graph_objects as go
import streamlit as st

_ROWS = 15
#: As the app's own slider has them.
STOPS = (16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256)

st.title("Bare page")
size = st.select_slider("Batch size", STOPS, 64, key="slider:batch")
for key in ("latency-bars", "cost-bars"):
    with st.container(key=key):
        values = [size * (row + 1) for row in range(_ROWS)]
        names = [f"GPU {row}" for row in range(_ROWS)]
        labels = [f"{value} ms" for value in values]
        st.plotly_chart(go.Figure(go.Bar(x=values, y=names, text=labels, orientation="h")), key=f"{key}-chart")
st.write("$1 and 1 ms")
