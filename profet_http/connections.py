"""Serve over HTTP: limits on connections that wait, a quiet log, and a graceful end of each process."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from profet_core.errors import InputError

#: A request's head must be there by then, the first one of a connection and each that follows.
HEAD_LIMIT_S = 5.0
#: Connections of one process, at most half of its file descriptors: the one that waits longest is closed for another.
MAX_CONNECTIONS = 1000
#: Connections of one client that have not sent a head; one that came just now may have it on its way.
MAX_WITHOUT_HEAD, NEW_S = 64, 0.5
#: Requests under way when the server is stopped get this long.
_STOP_WITHIN_S = 10
#: An event loop accepts so many at once, before it closes any.
_BACKLOG = 128


class LimitedConnection(H11Protocol):
    """uvicorn's connection, which by itself waits without end for the rest of a head."""

    #: Those of this process that wait for a head, the longest first, with their timers.
    waiting: dict[LimitedConnection, asyncio.TimerHandle] = {}  # noqa: RUF012

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head; of too many connections the one that waits longest is closed."""
        super().connection_made(transport)
        # Beyond it uvicorn answers 503.
        self.limit_concurrency = MAX_CONNECTIONS + 1
        if len(self.connections) > MAX_CONNECTIONS and self.waiting:
            next(iter(self.waiting)).close()
        self._wait()
        self.loop.call_later(NEW_S, self._limit_client)

    def data_received(self, data: bytes) -> None:
        """Wait no longer once a request is there."""
        super().data_received(data)
        if self._is_at_work:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next head."""
        super().on_response_complete()
        if not self._is_at_work and not self.transport.is_closing():
            self._wait()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Wait no longer: another protocol goes on."""
        self._stop_waiting()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def close(self) -> None:
        """Close it, if it is open."""
        self._stop_waiting()
        self.transport.close()

    @property
    def _is_at_work(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self.waiting[self] = self.loop.call_later(HEAD_LIMIT_S, self.close)

    def _stop_waiting(self) -> None:
        if (timer := self.waiting.pop(self, None)) is not None:
            timer.cancel()

    def _limit_client(self) -> None:
        host = (self.client or [""])[0]
        new = [waits for waits in self.waiting if not waits.cycle and (waits.client or [""])[0] == host]
        for connection in new[:-MAX_WITHOUT_HEAD]:
            connection.close()


class OneASecond(logging.Filter):
    """Lets one warning a second through, an operating system's error without its traceback: clients cause them."""

    def __init__(self) -> None:
        super().__init__()
        self._next_s = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is logged."""
        if record.levelno < logging.WARNING:
            return True
        now_s = time.monotonic()
        if now_s < self._next_s:
            return False
        self._next_s = now_s + 1
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError):
            record.msg, record.args, record.exc_info = f"{record.getMessage().splitlines()[0]}: {error}", (), None
        return True


_ONE_A_SECOND = OneASecond()


def prepare_process() -> None:
    """Prepare the process that serves, as it starts: log, file descriptors, and an end that finishes requests."""
    global MAX_CONNECTIONS
    for name in ("asyncio", "uvicorn.error"):
        # The same one again is no second one.
        logging.getLogger(name).addFilter(_ONE_A_SECOND)
    with suppress(ImportError, OSError, ValueError):  # Windows; a limit that may not be raised
        import resource

        files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files < 4 * MAX_CONNECTIONS:
            files = 4 * MAX_CONNECTIONS if most == resource.RLIM_INFINITY else min(4 * MAX_CONNECTIONS, most)
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
        MAX_CONNECTIONS = min(MAX_CONNECTIONS, files // 2)
    if threading.current_thread() is not threading.main_thread():
        return
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_DFL:
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    if (parent := multiprocessing.parent_process()) is not None:
        # uvicorn's workers would outlive a supervisor that is killed.
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: multiprocessing.process.BaseProcess) -> None:
    """End this process once its supervisor has ended."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def check_address(host: str, port: int) -> None:
    """Check that one can listen there; InputError: the port is no number of one, or it can't be used."""
    if not 0 < port < 2**16:
        raise InputError(f"The port must be a whole number from 1 to 65535, not {port}.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise InputError(f"Port {port} of {host} can't be used: {error.strerror or error}.") from None


def serve(host: str, port: int, workers: int) -> None:
    """Serve the endpoint until stopped, with uvicorn's own supervisor where there are several workers."""
    check_address(host, port)
    uvicorn.run(
        "profet_http.app:create",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        http=CONNECTION,
        ws="none",
        loop="asyncio",
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_STOP_WITHIN_S,
    )


#: The class by its name, as uvicorn looks it up.
CONNECTION = f"{__name__}:{LimitedConnection.__name__}"
