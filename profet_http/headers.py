"""What keeps a browser from doing more than pages and answers are for: headers, and who may ask."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: For JSON: it loads nothing and is shown in no frame.
ANSWER_POLICY = "default-src 'none'; frame-ancestors 'none'"

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
#: RFC 6455: a message that violates a policy. Before a handshake is done, servers answer 403 in its place.
_POLICY_VIOLATION = 1008
_REFUSAL = {"error": "Pages of another site can't ask here.", "code": "other_site"}


class SecurityHeaders:
    """ASGI middleware: adds the headers to every response that has none of its own.

    Parameters
    ----------
    policy : Content-Security-Policy of responses that bring no other.
    hidden : paths that are answered with 404, such as metrics.
    """

    def __init__(self, app: ASGIApp, *, policy: str, hidden: Collection[str] = ()) -> None:
        self._app = app
        self._headers = {**_ALWAYS, "Content-Security-Policy": policy}
        self._hidden = frozenset(hidden)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; its response gets the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        app = PlainTextResponse("Not Found", 404) if scope["path"].rstrip("/") in self._hidden else self._app
        await app(scope, receive, send_with_headers)


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
