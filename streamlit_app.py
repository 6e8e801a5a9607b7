"""The app's entry point: `streamlit run streamlit_app.py`.

The navigation is a script of its own, so that a fresh server never takes `pages/` for its automatic menu.
"""

from streamlit import App

from ui.private import keep_to_itself

keep_to_itself()
app = App("ui/navigation.py")
