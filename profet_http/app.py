"""The endpoint as an ASGI application, and as routes beside the app's."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache, partial

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from profet_core.errors import ProfetError
from profet_http.context import Health, SharedContext, Workers
from profet_http.endpoints import LISTING, QUESTIONS, Endpoint
from profet_http.headers import ANSWER_POLICY, SecurityHeaders
from profet_http.openapi import PAGE, PAGE_POLICY, openapi_document
from profet_http.requests import BUSY, JSON, NOT_FOUND, NOT_READY, Received, RequestError, failure_of, received

_LOG = logging.getLogger(__name__)
PREFIX = "/v1"
#: Requests at once for the thread that reads files and larger JSON.
MAX_FILES = 8
#: What it does not know are numpy's numbers.
_ENCODER = msgspec.json.Encoder(enc_hook=float)

Handler = Callable[[Request], Awaitable[Response]]


class Api:
    """The endpoints over one context, with the thread that reads files."""

    def __init__(self, context: SharedContext | None = None) -> None:
        self._context = context or SharedContext()
        self._files = Workers("file", 1, MAX_FILES)
        self._health = Health(self._context.get)

    @property
    def routes(self) -> list[BaseRoute]:
        """Everything at `PREFIX` and below."""
        routes = [
            *(
                Route(path, _in_one_line(partial(self._ask, endpoint)), methods=["POST"])
                for path, endpoint in QUESTIONS.items()
            ),
            Route("/instances", _in_one_line(partial(self._ask, LISTING)), methods=["GET"]),
            Route("/health", _in_one_line(self._tell_health), methods=["GET"]),
            Route("/openapi.json", _describe, methods=["GET"]),
            Route("/docs", _show_docs, methods=["GET"]),
        ]
        app = Starlette(
            routes=routes,
            exception_handlers={HTTPException: _failed},
            middleware=[Middleware(SecurityHeaders, policy=ANSWER_POLICY)],
        )
        app.router.redirect_slashes = False
        # Without the first, Starlette redirects to whatever host the request named.
        return [Route(PREFIX, _nothing_here, methods=["GET", "HEAD", "POST"]), Mount(PREFIX, app=app)]

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Load in a thread, and let nothing begin at the end; a server that can't load says so on `/health`."""
        loading = asyncio.create_task(asyncio.to_thread(self._load))
        try:
            yield
        finally:
            self._files.close()
            await loading

    def _load(self) -> None:
        try:
            self._context.get()
        except ProfetError as error:
            _LOG.error("The models can't be used: %s", error)
        # What is loaded lasts: the garbage collector need not go through it again and again.
        gc.collect()
        gc.freeze()

    async def _ask(self, endpoint: Endpoint, request: Request) -> Response:
        # A slow sender blocks nobody: a file is written to disk as it comes.
        async with received(request, endpoint.fields) as sent:
            if sent.quick and self._context.is_ready:
                # A few milliseconds. From a thread they would take longer: it and this one wait for each other's turn.
                return _json(self._answered(endpoint, sent))
            return _json(await self._files.run(partial(self._answered, endpoint, sent)))

    def _answered(self, endpoint: Endpoint, sent: Received) -> bytes:
        """The answer's JSON."""
        answer = endpoint.answer(self._context.get(), sent.read(endpoint.fields))
        return _ENCODER.encode(endpoint.document.document(answer))

    async def _tell_health(self, _: Request) -> Response:
        found = await self._health.document()
        if found is None:
            raise RequestError(BUSY, NOT_READY)
        return _json(_ENCODER.encode(found))


async def _describe(_: Request) -> Response:
    return _json(_description())


@cache
def _description() -> bytes:
    return _ENCODER.encode(openapi_document())


async def _show_docs(_: Request) -> Response:
    return HTMLResponse(PAGE, headers={"Content-Security-Policy": PAGE_POLICY})


async def _nothing_here(request: Request) -> Response:
    return await _failed(request, HTTPException(NOT_FOUND))


def _in_one_line(handler: Handler) -> Handler:
    """`handler`, with whatever it raises as an answer of one line."""

    async def handled(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            return await _failed(request, error)

    return handled


async def _failed(_: Request, error: Exception) -> Response:
    failure = failure_of(error)
    return _json(_ENCODER.encode({"error": str(failure), "code": failure.code}), failure.status, failure.headers)


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, {"Cache-Control": "no-store", **(headers or {})}, JSON)


def create() -> Starlette:
    """Nothing but what is below `PREFIX`; `uvicorn --factory profet_http.app:create` serves it too."""
    api = Api()
    return Starlette(routes=api.routes, lifespan=api.lifespan, exception_handlers={HTTPException: _failed})
