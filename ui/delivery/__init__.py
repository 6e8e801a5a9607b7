"""How Streamlit's page and files get to a browser: compressed, from memory, with our style and script."""
