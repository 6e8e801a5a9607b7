"""Worker threads with a short queue; further requests are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from profet_http.failures import BUSY, NO_PLACE, TOO_LONG, RequestError
from profet_http.limits import ANSWER_LIMIT_S

Answer = TypeVar("Answer")


class Workers:
    """A pool of threads with a number of places; who holds one waits or is worked for.

    Parameters
    ----------
    threads : at work at once. places : requests at once.
    """

    def __init__(self, name: str, threads: int, places: int, *, limit_s: float = ANSWER_LIMIT_S) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = places
        self._limit_s = limit_s

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place. For the thread of the event loop alone.

        Raises
        ------
        RequestError : there is none.
        """
        if self._free <= 0:
            raise RequestError(BUSY, NO_PLACE)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Do `work` in a thread; what still runs at the limit keeps a place until it is done.

        Raises
        ------
        RequestError : it takes too long. Whatever `work` raises.
        """
        future = self._pool.submit(work)
        waiting = asyncio.wrap_future(future)
        done, _ = await asyncio.wait([waiting], timeout=self._limit_s)
        if not done:
            self._hold_until_done(future)
            raise RequestError(BUSY, TOO_LONG)
        return waiting.result()

    def _hold_until_done(self, future: Future[Answer]) -> None:
        if future.cancel():
            return
        loop = asyncio.get_running_loop()
        self._free -= 1
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._release))

    def _release(self) -> None:
        self._free += 1

    def close(self) -> None:
        """Let nothing more begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)
