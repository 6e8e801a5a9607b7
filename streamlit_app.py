"""The app's entry point: `streamlit run streamlit_app.py`.

The navigation is a script of its own, so that a fresh server never takes `pages/` for its automatic menu.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streamlit import App

from ui.private import keep_to_itself


@asynccontextmanager
async def _warmed_up(_: App) -> AsyncIterator[None]:
    """Load in a thread: meanwhile the browser gets the files of the page, and the first visitor waits for the rest."""
    from ui.state.warm_up import warm_up

    loading = asyncio.create_task(asyncio.to_thread(warm_up))
    yield
    await loading


keep_to_itself()
app = App("ui/navigation.py", lifespan=_warmed_up)
