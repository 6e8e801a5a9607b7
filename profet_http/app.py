"""The endpoint as an ASGI application, and as routes beside the app's: models, threads, health check and headers."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import ip_address
from threading import BoundedSemaphore, Lock
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profet_core.answers.context import Context, load_served
from profet_core.answers.document import json_of
from profet_core.errors import ProfetError
from profet_core.prediction.models import load_models, load_samples
from profet_core.prediction.predict import predict
from profet_http.bodies import BUSY, JSON, NOT_FOUND, NOT_READY, Received, RequestError, failure_of, received
from profet_http.connections import prepare_process
from profet_http.endpoints import LISTING, PAGE, PAGE_POLICY, QUESTIONS, Endpoint, openapi_document

_LOG = logging.getLogger(__name__)

#: A check answers for so long; then the next request makes a new one.
CHECKED_FOR_S = 10.0
#: A sample that the models learned from comes out within this share of what was measured.
TOLERANCE = 0.25
#: A failed loading is not tried again sooner.
RETRY_S = 5.0
#: An answer takes at most so long, waiting included.
ANSWER_LIMIT_S = 30.0

Answer = TypeVar("Answer")


class SharedContext:
    """One `Context` for all requests of a process."""

    def __init__(self, load: Callable[[], Context] = lambda: load_served().context) -> None:
        self._load = load
        self._lock = Lock()
        self._context: Context | None = None
        self._failure: ProfetError | None = None
        self._failed_at_s = 0.0

    @property
    def is_ready(self) -> bool:
        """Whether it is loaded."""
        return self._context is not None

    def get(self) -> Context:
        """Return the context, loaded if it isn't yet; raises ProfetError if it can't be."""
        with self._lock:
            if self._context is None:
                if self._failure is not None and time.monotonic() < self._failed_at_s + RETRY_S:
                    raise self._failure
                try:
                    self._context = self._load()
                except ProfetError as error:
                    self._failure, self._failed_at_s = error, time.monotonic()
                    raise
            return self._context


class Workers:
    """Threads with a number of places; a request without one is answered with "busy".

    Parameters
    ----------
    threads : at work at once.
    places : requests that wait or are at work.
    """

    def __init__(self, name: str, threads: int, places: int, *, limit_s: float = ANSWER_LIMIT_S) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = BoundedSemaphore(places)
        self._limit_s = limit_s

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Do `work` in a thread; what still runs at the limit keeps its place until it is done.

        Raises
        ------
        RequestError : no place is free, or it takes too long. Whatever `work` raises.
        """
        if not self._free.acquire(blocking=False):
            raise RequestError(BUSY, "The server is busy: try again in a moment.")
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: self._free.release())
        waiting = asyncio.wrap_future(future)
        if not (await asyncio.wait([waiting], timeout=self._limit_s))[0]:
            # A thread can't be ended; what is still in the queue is.
            future.cancel()
            smaller = "send a smaller file (`profet convert TRACE -o profile.json` makes one)"
            raise RequestError(BUSY, f"The request took too long: {smaller}.")
        return waiting.result()

    def close(self) -> None:
        """Let nothing more begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def check(context: Context) -> dict[str, object]:
    """Check the models on the disk, file by file, and those in memory by a prediction whose truth is known.

    Raises
    ------
    ProfetError : they can't be used, or predict something else.
    """
    load_models(context.models.folder).verify()
    sample = load_samples()[0]
    prediction = predict(context.models, context.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    for instance, measured_ms in sample.measured_ms.items():
        predicted_ms = prediction.latencies_ms.get(instance)
        if predicted_ms is None or abs(predicted_ms / measured_ms - 1) > TOLERANCE:
            raise ProfetError(f"{sample.name} takes {measured_ms:g} ms on {instance}; predicted: {predicted_ms}.")
    return {"status": "ok", "sample": sample.name, "predicted": len(prediction.latencies_ms)}


class Health:
    """The last check's result, checked again when it is old: however often it is asked, the work stays the same."""

    def __init__(self, context: Callable[[], Context]) -> None:
        self._context = context
        self._lock = asyncio.Lock()
        self._checked_at_s = -CHECKED_FOR_S
        self._document: dict[str, object] | None = None

    async def document(self) -> dict[str, object] | None:
        """Return what the check found; None if the server is not healthy, its log says why."""
        async with self._lock:
            if time.monotonic() >= self._checked_at_s + CHECKED_FOR_S:
                try:
                    self._document = await asyncio.to_thread(lambda: check(self._context()))
                except Exception as error:
                    _LOG.error("Not healthy: %s", error, exc_info=not isinstance(error, ProfetError))
                    self._document = None
                self._checked_at_s = time.monotonic()
            return self._document


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
_OTHER_SITE = {"error": "Pages of another site can't ask here.", "code": "other_site"}
_OTHER_HOST = {"error": "This host isn't served: name it in PROFET_APP_HOSTS.", "code": "other_host"}


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


class SameOrigin:
    """ASGI middleware: refuses what has another origin than the host it is sent to, or a host that isn't served.

    Streamlit would refuse the first too, but first ask a server on the internet for its own address, and wait. The
    second are sites whose name was changed to this server's address, so that their pages may ask here (DNS rebinding).

    Parameters
    ----------
    hosts : names that are served beside `localhost` and addresses, which no site can take; `*` for all.
    """

    def __init__(self, app: ASGIApp, *, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 403."""
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await JSONResponse(refusal, 403)(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})

    def _refusal(self, headers: Headers) -> Mapping[str, str] | None:
        if not _is_same_origin(headers):
            return _OTHER_SITE
        host = headers.get("host")
        if host is None or "*" in self._hosts:
            # Every browser sends one.
            return None
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return None if name in self._hosts or ip_address(name) else _OTHER_HOST
        except ValueError:
            return _OTHER_HOST


def _is_same_origin(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""
    except ValueError:
        return False


PREFIX = "/v1"
#: Requests at once for the thread that reads files and larger JSON.
MAX_FILES = 8

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
        prepare_process()
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
        async with received(request, endpoint.profiles) as body:
            answered = partial(self._answered, endpoint, body)
            if body.quick and self._context.is_ready:
                # A few milliseconds. From a thread they would take longer: it and this one wait for each other's turn.
                return _json(answered())
            return _json(await self._files.run(answered))

    def _answered(self, endpoint: Endpoint, body: Received) -> bytes:
        """Return the answer's JSON."""
        return json_of(endpoint.answer(self._context.get(), body.question(endpoint.question)))

    async def _tell_health(self, _: Request) -> Response:
        document = await self._health.document()
        if document is None:
            raise RequestError(BUSY, NOT_READY)
        return _json(json_of(document))


async def _describe(_: Request) -> Response:
    return _json(json_of(openapi_document()))


async def _show_docs(_: Request) -> Response:
    return HTMLResponse(PAGE, headers={"Content-Security-Policy": PAGE_POLICY})


async def _nothing_here(request: Request) -> Response:
    return await _failed(request, HTTPException(NOT_FOUND))


def _in_one_line(handler: Handler) -> Handler:
    """Wrap `handler`: whatever it raises becomes an answer of one line."""

    async def handled(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            return await _failed(request, error)

    return handled


async def _failed(_: Request, error: Exception) -> Response:
    failure = failure_of(error)
    return _json(json_of({"error": str(failure), "code": failure.code}), failure.status, failure.headers)


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, {"Cache-Control": "no-store", **(headers or {})}, JSON)


def create() -> Starlette:
    """Nothing but what is below `PREFIX`; `uvicorn --factory profet_http.app:create` serves it too."""
    api = Api()
    return Starlette(routes=api.routes, lifespan=api.lifespan, exception_handlers={HTTPException: _failed})
