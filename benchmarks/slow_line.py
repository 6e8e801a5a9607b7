"""A slow line between a browser and a server: so many bits a second for all connections, and a round trip."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_CHUNK_BYTES = 8192
_LATE_S = 0.02


class SlowLine:
    """Forwards connections to a server; counts what comes from it.

    Attributes
    ----------
    received_bytes : from the server so far, headers too.
    """

    def __init__(self, url: str, mbit_per_s: float, round_trip_ms: float) -> None:
        parts = urlsplit(url)
        self._server = parts.hostname, parts.port
        self._seconds_per_byte = 8e-6 / mbit_per_s
        self._one_way_s = round_trip_ms / 2000
        self._free_at = 0.0
        self.received_bytes = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the browser's."""
        # At the end of the line, what is under way is lost.
        with suppress(asyncio.CancelledError, OSError):
            from_server, to_server = await asyncio.open_connection(*self._server)
            # A connection is made before anything is sent on it.
            await asyncio.sleep(2 * self._one_way_s)
            await asyncio.gather(
                self._carry(reader, to_server, counted=False), self._carry(from_server, writer, counted=True)
            )

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool) -> None:
        """Everything that comes, each part when the line has room for it and half a round trip later."""
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        arriving = asyncio.create_task(_arrive(under_way, writer))
        clock = asyncio.get_running_loop().time
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK_BYTES):
                sent_at = clock()
                if counted:
                    self.received_bytes += len(chunk)
                    # A processor that is busy elsewhere makes up for it.
                    free_at = max(self._free_at, sent_at - _LATE_S)
                    sent_at = self._free_at = free_at + len(chunk) * self._seconds_per_byte
                    await asyncio.sleep(max(sent_at - clock(), 0))
                under_way.put_nowait((sent_at + self._one_way_s, chunk))
        under_way.put_nowait((clock(), b""))
        await arriving


async def _arrive(under_way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
    clock = asyncio.get_running_loop().time
    with suppress(OSError):
        while True:
            due, chunk = await under_way.get()
            await asyncio.sleep(max(due - clock(), 0))
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
    writer.close()


@contextmanager
def slow_line(url: str, mbit_per_s: float, round_trip_ms: float) -> Iterator[tuple[str, SlowLine]]:
    """The address at which the server is reached over the line, and the line."""
    line = SlowLine(url, mbit_per_s, round_trip_ms)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()

    async def carry() -> None:
        done = asyncio.Event()
        server = await asyncio.start_server(line.connected, "127.0.0.1", 0)
        started.set_result((asyncio.get_running_loop(), done, server.sockets[0].getsockname()[1]))
        await done.wait()

    thread = threading.Thread(target=asyncio.run, args=(carry(),), daemon=True)
    thread.start()
    loop, done, port = started.result()
    try:
        yield f"http://127.0.0.1:{port}", line
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
