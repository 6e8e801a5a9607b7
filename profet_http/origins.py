"""Requests that another site's page makes in a visitor's browser go no further."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

#: RFC 6455: a message that violates a policy. Before a handshake is done, servers answer 403 in its place.
_POLICY_VIOLATION = 1008
_REFUSAL = {"error": "Pages of another site can't ask here.", "code": "other_site"}


class OwnOrigin:
    """ASGI middleware: refuses what has another origin than the host it is sent to.

    Streamlit would refuse it too, but first ask a server on the internet for its own address, and wait.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 403."""
        if scope["type"] not in ("http", "websocket") or _is_own(Headers(scope=scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await JSONResponse(_REFUSAL, 403)(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})


def _is_own(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""
    except ValueError:
        return False
