"""Connections that wait too long for a request, or are too many, are closed: uvicorn has no such limits."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from profet_http.limits import HEAD_LIMIT_S, MAX_WAITING


class TimedConnection(H11Protocol):
    """uvicorn's own, with a time limit while it waits for a head."""

    _late: asyncio.TimerHandle | None = None
    #: Of this process, the longest waiting first.
    _waiting: ClassVar[dict[TimedConnection, None]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait."""
        super().connection_made(transport)
        self._wait_or_stop()

    def data_received(self, data: bytes) -> None:
        """Go on waiting, or stop: the request has begun."""
        super().data_received(data)
        self._wait_or_stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to wait for."""
        super().connection_lost(exc)
        self._stop()

    def _wait_or_stop(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._late is None:
            if len(self._waiting) >= MAX_WAITING:
                next(iter(self._waiting))._close_if_waiting()
            self._waiting[self] = None
            self._late = self.loop.call_later(HEAD_LIMIT_S, self._close_if_waiting)

    def _stop(self) -> None:
        self._waiting.pop(self, None)
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close_if_waiting(self) -> None:
        self._stop()
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
