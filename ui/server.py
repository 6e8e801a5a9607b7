"""What the server does around Streamlit: it bounds unread uploads, loads first, and asks nobody outside."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from streamlit import net_util
from streamlit.runtime import get_instance
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec


def keep_to_itself() -> None:
    """Turn off what Streamlit has no option for; called once, before anything is served.

    Where a browser's origin is none it knows, Streamlit asks an outside host for the machine's own address, and all
    sessions wait for the answer. Of a checkout it tells any visitor who asks repository, branch and changed files.

    Raises
    ------
    RuntimeError : this Streamlit has these in another place; serving would not be private.
    """
    asked = "_handle_git_information_request"
    for owner, name in ((net_util, "get_external_ip"), (net_util, "get_internal_ip"), (AppSession, asked)):
        if not hasattr(owner, name):
            raise RuntimeError(f"Streamlit has no {name} any more: see ui/server.py.")
        setattr(owner, name, lambda *_: None)


#: A visitor gives a run's folder or a dozen traces at once; everybody together has some gigabytes of a server.
SESSION_BYTES, ALL_BYTES = 120 * 2**20, 600 * 2**20
#: Files of a page are read as soon as all of them are there.
UNREAD_S = 300.0
SWEEP_S = 15.0
#: What is left of a file that was dropped: its name, and this type.
DROPPED_TYPE = "application/x-profet-dropped"


def is_dropped(file: UploadedFile) -> bool:
    """True for a file whose bytes were let go before it was read."""
    return file.type == DROPPED_TYPE and file.size == 0


class UploadsHeld:
    """Drops the bytes of uploads beyond the budgets, the newest first, and of those that nobody reads in time."""

    def __init__(self, manager: MemoryUploadedFileManager) -> None:
        self._manager = manager
        self._add = manager.add_file
        self._lock = threading.Lock()
        self._came: dict[tuple[str, str], float] = {}

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Take a file, or its name alone where there is no room for its bytes."""
        with self._lock:
            sizes = Counter({session: sum(len(each.data) for each in files) for session, files in self._held()})
            size = len(file.data)
            if sizes[session_id] + size > SESSION_BYTES or sizes.total() + size > ALL_BYTES:
                file = dropped(file)
            self._came[session_id, file.file_id] = time.monotonic()
            self._add(session_id, file)

    def sweep(self, now_s: float) -> None:
        """Drop what was not read in time."""
        with self._lock:
            held = {(session, file.file_id): file for session, files in self._held() for file in files}
            self._came = {key: self._came.get(key, now_s) for key in held}
            for key, file in held.items():
                if now_s - self._came[key] > UNREAD_S and file.data:
                    self._add(key[0], dropped(file))

    def _held(self) -> list[tuple[str, list[UploadedFileRec]]]:
        """What is there now: pages and sessions that end let go of files without a word."""
        return [(session, list(files.values())) for session, files in list(self._manager.file_storage.items())]


def dropped(file: UploadedFileRec) -> UploadedFileRec:
    """What is kept of a file, so that its visitor gets a message."""
    return file._replace(type=DROPPED_TYPE, data=b"")


@asynccontextmanager
async def bounded_uploads() -> AsyncIterator[None]:
    """Bound the uploads of the app that is served, from its start to its end."""
    manager = cast(MemoryUploadedFileManager, get_instance().uploaded_file_mgr)
    held = UploadsHeld(manager)
    # Streamlit makes its manager itself; its upload endpoint calls this method and no other.
    manager.add_file = held.add_file  # type: ignore[method-assign]
    sweeping = asyncio.create_task(_sweep(held))
    try:
        yield
    finally:
        sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sweeping


async def _sweep(held: UploadsHeld) -> None:
    while True:
        await asyncio.sleep(SWEEP_S)
        held.sweep(time.monotonic())


_PAGES = Path(__file__).parents[1] / "pages"


def warm_up() -> None:
    """Load what all visitors share, and the pages' modules."""
    # The server answers before these are loaded.
    from profet_core import predict
    from ui.state.resources import load_resources

    resources = load_resources()
    held = next(iter(resources.samples.values()))
    predict(resources.models, resources.catalog, held.profile, held.anchor or "", latency_ms=held.latency_ms)
    for path in sorted(_PAGES.glob("*/*.py")):
        # A page itself is a script that Streamlit runs; the others are its parts.
        if path.stem != path.parent.name:
            importlib.import_module(f"pages.{path.parent.name}.{path.stem}")
    # What is loaded lasts; when Python collects garbage, it need not go through it.
    gc.collect()
    gc.freeze()
