"""The app's entry point: `streamlit run streamlit_app.py`; the endpoint is on the same port.

The navigation is a script of its own, so that a fresh server never takes `pages/` for its automatic menu.
"""

import os

# Before numpy is imported: arrays are small here, and a second thread only waits for the first by spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware
from streamlit import App

from profet_core.answers.context import Context
from profet_http.app import Api, SameOrigin, SecurityHeaders, SharedContext
from ui.server import StaticFiles, content_policy, recorder_route, share_one_heap, warm_up
from ui.streamlit_internals import keep_to_itself, run_once


def _context() -> Context:
    """Return what the pages predict from, for the endpoint beside them."""
    from ui.resources import load_resources

    return load_resources()


api = Api(SharedContext(_context))


@asynccontextmanager
async def _warmed_up(app: App) -> AsyncIterator[None]:
    """Load in a thread: meanwhile the browser gets the files of the page, and the first visitor waits for the rest."""
    async with api.lifespan(app):
        loading = asyncio.create_task(asyncio.to_thread(warm_up))
        drawing = asyncio.create_task(_draw_after(loading))
        yield
        drawing.cancel()
        await loading


async def _draw_after(loading: asyncio.Task[None]) -> None:
    """Draw the first answer, so that the page of the first visitor has it too."""
    await asyncio.wait([loading])
    if loading.exception() is None:
        await run_once()


share_one_heap()
keep_to_itself()
# Figures on the server's load and memory are for whoever runs it.
hidden = () if os.environ.get("PROFET_METRICS") == "1" else ("/_stcore/metrics",)
# Beside localhost and addresses: where it listens, and what whoever runs it names.
hosts = {st.get_option("server.address") or "", *os.environ.get("PROFET_APP_HOSTS", "").replace(",", " ").split()}
app = App(
    "ui/navigation.py",
    routes=[*api.routes, recorder_route()],
    lifespan=_warmed_up,
    middleware=[
        Middleware(SecurityHeaders, policy=content_policy(), hidden=hidden),
        Middleware(SameOrigin, hosts=hosts),
        Middleware(StaticFiles),
    ],
)
