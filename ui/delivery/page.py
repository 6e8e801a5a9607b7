"""Streamlit's page and files with our style and script: compressed once, and what they may load."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import mimetypes
import re
from functools import cache
from pathlib import Path

import streamlit
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

STATIC = Path(streamlit.__file__).parent / "static"
_HERE = Path(__file__).parent
#: Addresses of the app's pages: all of them are the one document.
_PAGES = {"/", *(f"/{path.name}" for path in (_HERE.parents[1] / "pages").iterdir())}
#: Address -> Streamlit's texts; fonts and pictures are compressed already.
_TEXTS = {
    f"/{path.relative_to(STATIC).as_posix()}": path
    for path in (STATIC / "static").rglob("*")
    if path.suffix in (".js", ".css", ".svg", ".json")
}


@cache
def page_html() -> str:
    """Streamlit's page with our style, and our script before its own.

    Raises
    ------
    RuntimeError : this Streamlit's page has no head to put them in.
    """
    before, head, after = (STATIC / "index.html").read_text(encoding="utf-8").partition("</head>")
    if not head:
        raise RuntimeError("Streamlit's page is another than ui/delivery/page.py knows.")
    ours = f"<script>{_HERE.joinpath('history.js').read_text()}</script>"
    return f"{before}{ours}<style>{_HERE.joinpath('page.css').read_text()}</style>{head}{after}"


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
        if path in _PAGES or (gzipped and path in _TEXTS):
            kept = "no-cache" if path in _PAGES else "public, immutable, max-age=31536000"
            headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
            headers |= {"Content-Encoding": "gzip"} if gzipped else {}
            body = await asyncio.to_thread(_packed, path) if gzipped else page_html()
            media_type = "text/html" if path in _PAGES else mimetypes.guess_type(path)[0]
            await Response(body, 200, headers, media_type)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


@cache
def _packed(path: str) -> bytes:
    # Level 9 takes a third longer for 0.3% less.
    return gzip.compress(page_html().encode() if path in _PAGES else _TEXTS[path].read_bytes(), 6)
