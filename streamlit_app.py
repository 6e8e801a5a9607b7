"""The app's entry point: `streamlit run streamlit_app.py`; the endpoint is on the same port.

The navigation is a script of its own, so that a fresh server never takes `pages/` for its automatic menu.
"""

import os

from starlette.middleware import Middleware
from streamlit import App

from profet_http.app import Api
from profet_http.headers import SecurityHeaders
from profet_http.origins import OwnOrigin
from ui.content_policy import content_policy

# Figures on the server's load and memory are for whoever runs it.
hidden = () if os.environ.get("PROFET_METRICS") == "1" else ("/_stcore/metrics",)
api = Api()
app = App(
    "ui/navigation.py",
    routes=[api.route],
    lifespan=api.lifespan,
    middleware=[Middleware(SecurityHeaders, policy=content_policy(), hidden=hidden), Middleware(OwnOrigin)],
)
