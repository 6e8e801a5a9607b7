"""How Streamlit's page and its files get to a browser: compressed, from memory, and with a script of ours."""
