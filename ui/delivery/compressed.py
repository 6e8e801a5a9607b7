"""Sends the page and Streamlit's files compressed: each is compressed once, when it is first asked for.

Streamlit leaves that to a proxy, because compressing anew for each visitor takes longer than sending. What is sent says
nothing of a visitor, so that its length gives nothing away.
"""

from __future__ import annotations

import asyncio
import gzip
import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.delivery.shell import STATIC, load_shell

#: Addresses of the app's pages: all of them are the one document.
_PAGES = {"/", *(f"/{path.name}" for path in (Path(__file__).parents[2] / "pages").iterdir())}
#: Fonts and pictures are compressed already.
_TEXTS = {".js", ".css", ".svg", ".json"}
_KEPT = "public, immutable, max-age=31536000"
#: Smaller ones fit into a packet as they are.
_LEAST_BYTES = 1000
#: 9 takes a third longer for 0.3% less.
_LEVEL = 6


class CompressedPage:
    """ASGI middleware: answers for the files of the page, and puts our page in the place of Streamlit's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._html, self._script_path, self._script = load_shell()
        self._packed_html = gzip.compress(self._html, _LEVEL)
        self._files = _text_files()
        self._packed: dict[str, asyncio.Future[bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        path, gzipped = scope["path"], "gzip" in Headers(scope=scope).get("accept-encoding", "")
        if path == self._script_path:
            response = Response(self._script, 200, {"Cache-Control": _KEPT}, "text/javascript")
        elif path in _PAGES:
            headers = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
            encoding = {"Content-Encoding": "gzip"} if gzipped else {}
            response = Response(self._packed_html if gzipped else self._html, 200, headers | encoding, "text/html")
        elif gzipped and path in self._files:
            response = await self._compressed(path)
        else:
            await self._app(scope, receive, send)
            return
        await response(scope, receive, send)

    async def _compressed(self, path: str) -> Response:
        packing = self._packed.get(path)
        if packing is None:
            # The others who ask for it meanwhile wait for the same.
            packing = self._packed[path] = asyncio.ensure_future(asyncio.to_thread(_pack, self._files[path]))
        body = await asyncio.shield(packing)
        headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding", "Cache-Control": _KEPT}
        return Response(body, 200, headers, mimetypes.guess_type(path)[0])


def _text_files() -> dict[str, Path]:
    """Address -> file."""
    return {
        f"/{path.relative_to(STATIC).as_posix()}": path
        for path in (STATIC / "static").rglob("*")
        if path.suffix in _TEXTS and path.stat().st_size >= _LEAST_BYTES
    }


def _pack(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), _LEVEL)
