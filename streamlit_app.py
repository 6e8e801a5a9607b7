"""The app's entry point: `streamlit run streamlit_app.py`.

The navigation is a script of its own, so that a fresh server never takes `pages/` for its automatic menu.
"""

from streamlit import App

from ui.state.uploads_held import bounded_uploads

app = App("ui/navigation.py", lifespan=bounded_uploads)
