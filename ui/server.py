"""What the server does around Streamlit: it bounds unread uploads, loads first, and asks nobody outside."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlit import net_util
from streamlit.runtime import get_instance
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from profet_core import predict
from ui.state.resources import load_resources


def keep_to_itself() -> None:
    """Turn off what Streamlit has no option for; called once, before anything is served.

    Where a browser's origin is none it knows, Streamlit asks an outside host for the machine's own address, and all
    sessions wait for the answer. Of a checkout it tells any visitor who asks repository, branch and changed files.

    Raises
    ------
    RuntimeError : this Streamlit has these in another place; serving would not be private.
    """
    _replace(net_util, "get_external_ip", _unknown)
    _replace(net_util, "get_internal_ip", _unknown)
    _replace(AppSession, "_handle_git_information_request", _tell_nothing)


def _replace(owner: object, name: str, by: object) -> None:
    if not hasattr(owner, name):
        raise RuntimeError(f"Streamlit has no {name} any more: see ui/server.py.")
    setattr(owner, name, by)


def _unknown() -> None:
    """An address that nobody was asked for."""


def _tell_nothing(_: AppSession) -> None:
    """What a visitor learns of the checkout."""


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


@dataclass(frozen=True, slots=True)
class _Held:
    """A file that waits to be read: its session, number and size, and when it came."""

    session_id: str
    file_id: str
    size: int
    since_s: float


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
            held = self._held()
            size = len(file.data)
            of_session = sum(each.size for each in held if each.session_id == session_id)
            of_all = sum(each.size for each in held)
            if of_session + size > SESSION_BYTES or of_all + size > ALL_BYTES:
                file = dropped(file)
            self._came[session_id, file.file_id] = time.monotonic()
            self._add(session_id, file)

    def sweep(self, now_s: float) -> None:
        """Drop what was not read in time."""
        with self._lock:
            held = self._held()
            for each in held:
                if now_s - each.since_s > UNREAD_S and each.size:
                    for file in self._manager.get_files(each.session_id, [each.file_id]):
                        self._add(each.session_id, dropped(file))
            self._came = {(each.session_id, each.file_id): each.since_s for each in held}

    def _held(self) -> list[_Held]:
        """What is there now: pages and sessions that end let go of files without a word."""
        now_s = time.monotonic()
        return [
            _Held(session, number, len(file.data), self._came.get((session, number), now_s))
            for session, files in list(self._manager.file_storage.items())
            for number, file in list(files.items())
        ]


def dropped(file: UploadedFileRec) -> UploadedFileRec:
    """What is kept of a file, so that its visitor is told."""
    return file._replace(type=DROPPED_TYPE, data=b"")


@asynccontextmanager
async def bounded_uploads() -> AsyncIterator[None]:
    """Bound the uploads of the app that is served, from its start to its end."""
    manager = get_instance().uploaded_file_mgr
    if not isinstance(manager, MemoryUploadedFileManager):
        yield
        return
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
    resources = load_resources()
    sample = next(iter(resources.samples.values()))
    predict(resources.models, resources.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    for path in sorted(_PAGES.glob("*/*.py")):
        # A page itself is a script that Streamlit runs; the others are its parts.
        if path.stem != path.parent.name:
            importlib.import_module(f"pages.{path.parent.name}.{path.stem}")
    # What is loaded lasts; when Python collects garbage, it need not go through it.
    gc.collect()
    gc.freeze()
