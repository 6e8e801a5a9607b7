"""Serve over HTTP: time limits on heads and idle connections, and worker processes that get connections in turn."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from itertools import cycle
from typing import Any

import uvicorn
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

#: A request's head must be there by then, the first one of a connection and each that follows.
HEAD_LIMIT_S = 10.0
#: Connections of one process; requests on further ones are answered with "busy".
MAX_CONNECTIONS = 1000
#: Requests under way when the server is stopped get this long.
STOP_WITHIN_S = 10
#: A worker that ended is started again by then.
_CHECK_S = 1.0
_BUSY = JSONResponse(
    {"error": "The server is busy: try again in a moment.", "code": "busy"},
    503,
    {"Retry-After": "2", "Cache-Control": "no-store", "Connection": "close"},
)


class LimitedConnection(H11Protocol):
    """uvicorn's connection, which by itself waits for a head, and for the rest of one, without end."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head; beyond the limit of connections, answer that the server is busy."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self.app = _BUSY
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; once a request has begun there is nothing to wait for here."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Hand the connection over."""
        self._stop_waiting()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Wait for the next head, if the client did not send it already."""
        before = self.cycle
        super().on_response_complete()
        if self.cycle is before:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_LIMIT_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


#: The class by its name, as uvicorn looks it up.
CONNECTION = "profet_http.serving:LimitedConnection"
_SETTINGS: dict[str, Any] = {
    "app": "profet_http.app:create",
    "factory": True,
    "access_log": False,
    "server_header": False,
    "http": CONNECTION,
    "ws": "none",
    "loop": "asyncio",
    "timeout_graceful_shutdown": STOP_WITHIN_S,
}


def serve(host: str, port: int, workers: int) -> None:
    """Serve the endpoint until stopped."""
    if workers == 1 or not hasattr(socket, "send_fds"):
        # Windows: the workers wait on one socket, and who is first has the connection.
        uvicorn.run(**_SETTINGS, host=host, port=port, workers=workers)
        return
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    with socket.create_server((host, port), family=family, backlog=2048) as listener:
        _Dispatcher(listener, workers).run()


class _WorkerSocket(socket.socket):
    """What a worker listens on: each connection comes from the dispatcher, which accepted it."""

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; BlockingIOError: there is none."""
        data, descriptors, _, _ = socket.recv_fds(self, 1, 1)
        if not data:
            # The dispatcher is gone.
            os.kill(os.getpid(), signal.SIGTERM)
            raise BlockingIOError
        connection = socket.socket(fileno=descriptors[0])
        return connection, connection.getpeername()

    def listen(self, backlog: int = 0, /) -> None:
        """It is connected."""


class _Dispatcher:
    """Accepts connections, and hands them to the workers in turn: workers that accept by themselves share badly."""

    def __init__(self, listener: socket.socket, workers: int) -> None:
        self._listener = listener
        self._workers = [self._started() for _ in range(workers)]
        self._turns = cycle(range(workers))

    def run(self) -> None:
        """Serve until a signal ends it; what a worker is doing then is finished."""
        self._listener.settimeout(_CHECK_S)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        try:
            while True:
                try:
                    connection, _ = self._listener.accept()
                except OSError:
                    # Nobody came, or left at once.
                    for place, (process, _) in enumerate(self._workers):
                        if process.poll() is not None:
                            self._workers[place] = self._started()
                else:
                    with connection:
                        self._hand_over(connection)
        finally:
            for process, _ in self._workers:
                process.terminate()
            for process, _ in self._workers:
                try:
                    process.wait(STOP_WITHIN_S + _CHECK_S)
                except subprocess.TimeoutExpired:
                    process.kill()

    def _started(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        # A busy worker must not hold up the others.
        ours.setblocking(False)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-m", __spec__.name, str(number)]
            return subprocess.Popen(command, pass_fds=[number]), ours

    def _hand_over(self, connection: socket.socket) -> None:
        for _ in self._workers:
            place = next(self._turns)
            try:
                socket.send_fds(self._workers[place][1], [b"."], [connection.fileno()])
                return
            except BlockingIOError:
                continue
            except OSError:
                # It ended.
                self._workers[place] = self._started()


if __name__ == "__main__":
    uvicorn.Server(uvicorn.Config(**_SETTINGS)).run([_WorkerSocket(fileno=int(sys.argv[1]))])
