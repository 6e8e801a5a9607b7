"""The app's entry point: `streamlit run streamlit_app.py`.

The navigation is a script of its own, so that a fresh server never takes `pages/` for its automatic menu.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streamlit import App


@asynccontextmanager
async def _bounded_and_warmed_up(_: App) -> AsyncIterator[None]:
    """Load in a thread: meanwhile the browser gets the files of the page, and the first visitor waits for the rest."""
    from ui.state.uploads_held import bounded_uploads
    from ui.state.warm_up import warm_up

    async with bounded_uploads():
        loading = asyncio.create_task(asyncio.to_thread(warm_up))
        yield
        await loading


app = App("ui/navigation.py", lifespan=_bounded_and_warmed_up)
