"""What a page costs at least: a slider and a line, served beside the app under the same load."""

import streamlit as st

st.write(f"Batch size {st.slider('Batch size', 16, 256, 64, key='batch')}")
