"""Where the server has the recorder: a training machine installs it from there, or a visitor takes it along."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ui.recorder.wheel import recorder_wheel

PREFIX = "/recorder"
_NOT_FOUND = 404
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
    return urlunsplit((parts.scheme, parts.netloc, f"{above}{PREFIX}/{recorder_wheel().name}", "", ""))


async def _send(request: Request) -> Response:
    wheel = await run_in_threadpool(recorder_wheel)
    if request.path_params["name"] != wheel.name:
        return PlainTextResponse(f"There is nothing here but {wheel.name}.", _NOT_FOUND)
    headers = {
        "Content-Disposition": f'attachment; filename="{wheel.name}"',
        "Content-Security-Policy": _POLICY,
        # Its name says the version, not which sources.
        "Cache-Control": "no-cache",
        "ETag": f'"{wheel.sha256}"',
    }
    return Response(wheel.data, headers=headers, media_type="application/octet-stream")
