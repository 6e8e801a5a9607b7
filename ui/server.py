"""What the server does around Streamlit: page with our style, uploads, turns, warm start, the recorder's wheel."""

from __future__ import annotations

import asyncio
import base64
import gc
import gzip
import hashlib
import importlib
import mimetypes
import re
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.typing import UploadedFile

from profet_profiles import VERSION
from ui.streamlit_internals import STATIC, MemoryUploadedFileManager, UploadedFileRec, uploads_of_all

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


@cache
def page_html() -> str:
    """Streamlit's page with our style, and our scripts before its own."""
    before, head, after = (STATIC / "index.html").read_text(encoding="utf-8").partition("</head>")
    if not head:
        raise RuntimeError("Streamlit's page is another than ui/server.py knows.")
    names = ("history.js", "exports.js", "uploads.js")
    scripts = (_HERE.joinpath("assets", name).read_text(encoding="utf-8") for name in names)
    ours = "".join(f"<script>{script}</script>" for script in scripts)
    # Without this they are requested last, though the line is idle while the page's scripts start.
    font = 'preload" as="font" type="font/woff2'
    for pattern, kind in (("js/PlotlyChart.*.js", "modulepreload"), ("media/MaterialSymbols-*.woff2", font)):
        for path in (STATIC / "static").glob(pattern):
            href = path.relative_to(STATIC).as_posix()
            ours += f'<link rel="{kind}" href="./{href}" fetchpriority="low" crossorigin>'
    return f"{before}{ours}<style>{_HERE.joinpath('assets/page.css').read_text()}</style>{head}{after}"


def content_policy() -> str:
    """The Content-Security-Policy of the page, with the hashes of the scripts that stand in it."""
    scripts = re.findall(r"<script>(.*?)</script>", page_html(), re.DOTALL)
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    # Streamlit's and Plotly's components write styles as they draw.
    return (
        f"default-src 'self'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
        "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
    )


class CompressedPage:
    """ASGI middleware: answers for the files of the page, and puts our page in the place of Streamlit's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        path = scope["path"] if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else ""
        gzipped = "gzip" in Headers(scope=scope).get("accept-encoding", "") if path else False
        if path in _ADDRESSES or (gzipped and path in _TEXTS):
            kept = "no-cache" if path in _ADDRESSES else "public, immutable, max-age=31536000"
            headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
            headers |= {"Content-Encoding": "gzip"} if gzipped else {}
            body = await asyncio.to_thread(_packed, path) if gzipped else page_html()
            media_type = "text/html" if path in _ADDRESSES else mimetypes.guess_type(path)[0]
            await Response(body, 200, headers, media_type)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


@cache
def _packed(path: str) -> bytes:
    # Level 9 takes a third longer for 0.3% less.
    return gzip.compress(page_html().encode() if path in _ADDRESSES else _TEXTS[path].read_bytes(), 6)


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
    manager = uploads_of_all()
    held = UploadsHeld(manager)
    # Streamlit makes its manager itself; its upload endpoint calls this method and no other.
    manager.add_file = held.add_file  # type: ignore[method-assign]

    async def sweep() -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            held.sweep(time.monotonic())

    sweeping = asyncio.create_task(sweep())
    try:
        yield
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])


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
    """One turn at a time, in the order in which they were asked for; after `longest_s` the next one begins anyway."""

    def __init__(self, longest_s: float = LONGEST_TURN_S) -> None:
        self._longest_s, self._lock, self._mine = longest_s, threading.Lock(), threading.local()
        self._queue = deque[threading.Event]()
        self._holder: object = None
        self._until = 0.0

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
            self._mine.turn = None

    @contextmanager
    def others_first(self) -> Iterator[None]:
        """Within one's turn: let others have theirs while the block waits for something else than the processor."""
        self._end()
        try:
            yield
        finally:
            self._begin()

    def _begin(self) -> None:
        called = threading.Event()
        with self._lock:
            self._queue.append(called)
        while (left_s := self._left_s(called)) > 0:
            called.wait(left_s)

    def _left_s(self, called: threading.Event) -> float:
        """Begin, and return 0; else seconds to wait unless called: none but the first in the queue has a limit."""
        with self._lock:
            called.clear()
            if self._queue[0] is not called:
                return threading.TIMEOUT_MAX
            if self._holder is not None and (left_s := self._until - time.monotonic()) > 0:
                return left_s
            self._queue.popleft()
            self._holder = self._mine.turn = called
            self._until = time.monotonic() + self._longest_s
            if self._queue:
                self._queue[0].set()
            return 0.0

    def _end(self) -> None:
        with self._lock:
            # Another one has begun if it took too long.
            if self._holder is self._mine.turn:
                self._holder = None
                if self._queue:
                    self._queue[0].set()


_turns = Turns()
in_turn, others_first = _turns.in_turn, _turns.others_first


#: Built whenever the project is installed (deploy/recorder_wheel.py); missing where only its requirements are.
WHEEL = Path(__file__).resolve().parents[1] / "dist" / f"profet_recorder-{VERSION}-py3-none-any.whl"
_RECORDER = "/recorder"


def recorder_route() -> Route:
    """The wheel, by its own name only."""
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
