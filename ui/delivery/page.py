"""Streamlit's page and files with our style and scripts: compressed once, and what they may load."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import mimetypes
import re
from pathlib import Path

import streamlit
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

STATIC = Path(streamlit.__file__).parent / "static"
_SCRIPTS = Path(__file__).with_name("scripts")
_STYLE = Path(__file__).with_name("page.css")
#: Streamlit's scripts are modules and so run after the page is read; a plain one in the head runs before them.
_HEAD = b"</head>"


def load_shell() -> tuple[bytes, str, bytes]:
    """Streamlit's page with our style, which asks for our scripts; where these are, named by their content; and they.

    Raises
    ------
    RuntimeError : this Streamlit's page has no head to put it in.
    """
    original = (STATIC / "index.html").read_bytes()
    script = b"".join(b"{\n%s}\n" % path.read_bytes() for path in sorted(_SCRIPTS.glob("*.js")))
    if original.count(_HEAD) != 1:
        raise RuntimeError("Streamlit's page is another than ui/delivery/page.py knows.")
    name = f"profet.{hashlib.sha256(script).hexdigest()[:12]}.js"
    # Relative, as Streamlit's own are, so that it works below any path.
    tag = f'<script src="./static/js/{name}"></script>\n  <style>{_STYLE.read_text()}</style>\n  '.encode()
    return original.replace(_HEAD, tag + _HEAD), f"/static/js/{name}", script


def content_policy() -> str:
    """The Content-Security-Policy of Streamlit's page, with the hashes of the scripts that stand in it."""
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    scripts = re.findall(r"<script>(.*?)</script>", index.read_text(encoding="utf-8"), re.DOTALL)
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    sources = {
        "default-src": "'self'",
        "script-src": f"'self' {hashes}".rstrip(),
        # Streamlit's and Plotly's components write styles as they draw.
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'self'",
    }
    return "; ".join(f"{name} {source}" for name, source in sources.items())


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


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
