"""The recorder's wheel, and where a training machine gets it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from profet_recorder import VERSION

#: Built whenever the project is installed (deploy/recorder_wheel.py); missing where only its requirements are.
WHEEL = Path(__file__).resolve().parents[1] / "dist" / f"profet_recorder-{VERSION}-py3-none-any.whl"
PREFIX = "/recorder"
#: It is no page: nothing is loaded for it, and no frame shows it.
_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"


def recorder_route() -> Route:
    """The wheel, by its own name only."""
    return Route(f"{PREFIX}/{{name}}", _send)


def recorder_address(page_url: str | None) -> str | None:
    """Where a browser that shows a page at `page_url` finds the wheel; None where that is no address of a page.

    >>> recorder_address("https://example.org/profet/about?open=record").rpartition("/")[0]
    'https://example.org/profet/recorder'
    """
    parts = urlsplit(page_url or "")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    above = parts.path.rstrip("/").rpartition("/")[0]
    return urlunsplit((parts.scheme, parts.netloc, f"{above}{PREFIX}/{WHEEL.name}", "", ""))


def _send(request: Request) -> Response:
    if request.path_params["name"] != WHEEL.name or not WHEEL.is_file():
        return PlainTextResponse(f"There is nothing here but {WHEEL.name}.", 404)
    # Its name says the version, not which sources.
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
    return FileResponse(WHEEL, headers=headers, media_type="application/octet-stream", filename=WHEEL.name)
