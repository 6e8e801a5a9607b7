"""What the server does around Streamlit: static files, turns, warm start, the recorder's wheel."""

from __future__ import annotations

import asyncio
import base64
import ctypes
import gc
import gzip
import hashlib
import importlib
import mimetypes
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profet_profiles import VERSION
from profet_profiles.queues import BoundedQueue
from ui.streamlit_internals import STATIC

_HERE = Path(__file__).parent
_PAGES = _HERE.parent / "pages"
#: Addresses of the app's pages: all of them are the one document.
_ADDRESSES = {"/", *(f"/{path.name}" for path in _PAGES.iterdir())}
#: Address -> Streamlit's texts; fonts and pictures are compressed already.
_TEXTS = {
    f"/{path.relative_to(STATIC).as_posix()}": path
    for path in (STATIC / "static").rglob("*")
    if path.suffix in (".js", ".css", ".svg", ".json")
}


def content_policy() -> str:
    """Return the Content-Security-Policy of the page, with the hashes of the scripts that stand in it."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    # Streamlit's and Plotly's components write styles as they draw.
    return (
        f"default-src 'self'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
        "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
    )


def _hints(*scripts: str) -> str:
    """Return a Link header for a page that needs these scripts."""
    return ", ".join(
        f'<./{path.relative_to(STATIC).as_posix()}>; rel=modulepreload; crossorigin; fetchpriority="low"'
        for name in scripts
        for path in (STATIC / "static").glob(f"js/{name}.*.js")
    )


#: Without these a page's charts are requested last, though the line is idle while the scripts start. The first page has
#: bars of its own: Plotly's megabyte would come before all else that it needs, as would the icons' 375 KB.
_HINTS = dict.fromkeys(_ADDRESSES, _hints("PlotlyChart")) | {
    "/": _hints("BidiComponent", "serialization", "recordbatch")
}


#: Parts of the first answer as HTML, once a visitor has seen it (ui/first_paint.py): the same for all of this server.
FIRST_PAINT: dict[str, str] = {}


class StaticFiles:
    """ASGI middleware: compressed texts of Streamlit, hints at what a page needs, and the first answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""

        async def send_with_hints(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Link"] = _HINTS[path]
            await send(message)

        path = scope["path"] if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else ""
        if path in _TEXTS and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            headers = {"Cache-Control": "public, immutable, max-age=31536000", "Vary": "Accept-Encoding"}
            body = await asyncio.to_thread(_packed, path)
            response = Response(body, 200, {**headers, "Content-Encoding": "gzip"}, mimetypes.guess_type(path)[0])
            await response(scope, receive, send)
        elif path == "/" and len(FIRST_PAINT) == 2 and not scope["query_string"]:
            page = HTMLResponse(_first_page(), headers={"Cache-Control": "no-cache"})
            await GZipMiddleware(page)(scope, receive, send_with_hints)
        else:
            await self._app(scope, receive, send_with_hints if path in _ADDRESSES else send)


def _first_page() -> str:
    page, end = (STATIC / "index.html").read_text(encoding="utf-8"), "</body>"
    return page.replace(end, f'<div id="first-paint">{FIRST_PAINT["words"]}{FIRST_PAINT["bars"]}</div>{end}')


@cache
def _packed(path: str) -> bytes:
    # Level 9 takes a third longer for 0.3% less.
    return gzip.compress(_TEXTS[path].read_bytes(), 6)


#: In glibc's malloc.h.
_M_ARENA_MAX = -8


def share_one_heap() -> None:
    """Let all threads take memory from one heap, where the C library is glibc.

    Each thread would have its own, and what a page leaves there stays taken: 2 MiB a minute with 50 visitors.
    """
    # Windows; another C library.
    with suppress(TypeError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def warm_up() -> None:
    """Load what all visitors share, and the pages' modules."""
    # The server answers before these are loaded.
    from profet_core import predict
    from ui.resources import load_resources

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


#: Who draws for longer no longer keeps others waiting: an ordinary page takes a tenth of it.
LONGEST_TURN_S = 0.5


class Turns:
    """One page at a time; within one's turn one goes on, or lets others have theirs."""

    def __init__(self, longest_s: float = LONGEST_TURN_S) -> None:
        self._queue, self._mine = BoundedQueue(longest_s=longest_s), threading.local()

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Wait for one's turn, and keep it for the block; within one's turn, go on."""
        if getattr(self._mine, "turn", None) is not None:
            yield
            return
        self._begin()
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def others_first(self) -> Iterator[None]:
        """Within one's turn: let others have theirs while the block waits for something else than the processor."""
        self._end()
        try:
            yield
        finally:
            self._begin()

    def _begin(self) -> None:
        self._mine.turn = self._queue.turn()
        self._mine.turn.__enter__()

    def _end(self) -> None:
        turn, self._mine.turn = self._mine.turn, None
        turn.__exit__(None, None, None)


_turns = Turns()
in_turn, others_first = _turns.in_turn, _turns.others_first


#: Built whenever the project is installed (deploy/recorder_wheel.py); missing where only its requirements are.
WHEEL = Path(__file__).resolve().parents[1] / "dist" / f"profet_recorder-{VERSION}-py3-none-any.whl"
_RECORDER = "/recorder"


def recorder_route() -> Route:
    """Return the wheel, by its own name only."""
    return Route(f"{_RECORDER}/{{name}}", _send)


def recorder_address(page_url: str | None) -> str | None:
    """Where a browser that shows a page at `page_url` finds the wheel; None where that is no address of a page.

    >>> recorder_address("https://example.org/profet/about?open=record").rpartition("/")[0]
    'https://example.org/profet/recorder'
    """
    parts = urlsplit(page_url or "")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    above = parts.path.rstrip("/").rpartition("/")[0]
    return urlunsplit((parts.scheme, parts.netloc, f"{above}{_RECORDER}/{WHEEL.name}", "", ""))


def _send(request: Request) -> Response:
    if request.path_params["name"] != WHEEL.name or not WHEEL.is_file():
        return PlainTextResponse(f"There is nothing here but {WHEEL.name}.", 404)
    # It is no page: nothing is loaded for it, and no frame shows it. Its name says the version, not which sources.
    policy = "default-src 'none'; frame-ancestors 'none'; sandbox"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
    return FileResponse(WHEEL, headers=headers, media_type="application/octet-stream", filename=WHEEL.name)
