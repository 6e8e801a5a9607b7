"""Headers that keep a browser from doing more with a response than it is for."""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: For JSON: it loads nothing and is shown in no frame.
ANSWER_POLICY = "default-src 'none'; frame-ancestors 'none'"

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


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
